//! Which bytes of a journal were published, and which are acknowledged.
//!
//! Nothing is published twice at a time, nothing is forgotten: a piece without an acknowledgement within a few seconds is
//! published again. Does not read the file and does not publish.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;

/// Most bytes of a piece. A NATS server accepts messages of up to 1 MiB by default.
pub const PIECE_MAX: u64 = 512 << 10;

/// Most pieces that wait for their acknowledgement.
const IN_FLIGHT_MAX: usize = 64;

/// A piece without an acknowledgement is published again after this time.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// A piece of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which attempt to publish the journal it belongs to.
    pub copy: u32,
    /// Its first byte.
    pub from: u64,
    /// The byte after its last one.
    pub to: u64,
}

/// The state of publishing one journal.
#[derive(Clone, Debug, Default)]
pub struct Uplink {
    copy: u32,
    length: u64,
    /// The first byte that was never published.
    next: u64,
    /// Pieces without an acknowledgement: their end, and when they were published.
    open: BTreeMap<u64, (u64, Nanos)>,
}

impl Uplink {
    /// The journal has this many bytes now.
    pub fn grow(&mut self, length: u64) {
        self.length = self.length.max(length);
    }

    /// The journal is complete with this many bytes. It can have become shorter: a writer without space takes its last
    /// frame back.
    pub fn seal(&mut self, length: u64) {
        self.length = length;
        self.next = self.next.min(length);
        self.open.retain(|_, (to, _)| *to <= length);
    }

    /// The next piece to publish, if there is one and not too many are open.
    pub fn next(&mut self, now: Nanos) -> Option<Piece> {
        let late = self.open.iter_mut().find(|(_, (_, at))| now.since(*at) >= PATIENCE);
        if let Some((from, (to, at))) = late {
            *at = now;
            return Some(Piece { copy: self.copy, from: *from, to: *to });
        }
        if self.next >= self.length || self.open.len() >= IN_FLIGHT_MAX {
            return None;
        }
        let piece = Piece { copy: self.copy, from: self.next, to: self.length.min(self.next + PIECE_MAX) };
        self.open.insert(piece.from, (piece.to, now));
        self.next = piece.to;
        Some(piece)
    }

    /// A piece is safe.
    pub fn acknowledged(&mut self, piece: Piece) {
        if piece.copy == self.copy && self.open.get(&piece.from).is_some_and(|(to, _)| *to == piece.to) {
            self.open.remove(&piece.from);
        }
    }

    /// Begins again at a byte that the controller lacks.
    pub fn again(&mut self, from: u64) {
        self.copy += 1;
        self.next = from.min(self.length);
        self.open.clear();
    }

    /// Whether everything so far is safe.
    pub fn is_done(&self) -> bool {
        self.next >= self.length && self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn a_journal_is_published_in_pieces_as_it_grows() {
        let mut uplink = Uplink::default();
        assert_eq!(uplink.next(at(0)), None);
        uplink.grow(PIECE_MAX + 10);
        let first = uplink.next(at(0)).unwrap();
        assert_eq!((first.from, first.to), (0, PIECE_MAX));
        let second = uplink.next(at(0)).unwrap();
        assert_eq!((second.from, second.to), (PIECE_MAX, PIECE_MAX + 10));
        assert_eq!(uplink.next(at(0)), None);
        uplink.acknowledged(first);
        assert!(!uplink.is_done());
        uplink.acknowledged(second);
        assert!(uplink.is_done());
    }

    #[test]
    fn a_piece_without_an_acknowledgement_is_published_again_and_a_late_one_counts() {
        let mut uplink = Uplink::default();
        uplink.grow(10);
        let piece = uplink.next(at(0)).unwrap();
        assert_eq!(uplink.next(at(4)), None);
        assert_eq!(uplink.next(at(5)), Some(piece));
        assert_eq!(uplink.next(at(9)), None);
        uplink.acknowledged(piece);
        assert!(uplink.is_done());
    }

    #[test]
    fn a_dead_network_stops_new_pieces_after_a_while() {
        let mut uplink = Uplink::default();
        for length in 1..=100 {
            uplink.grow(length);
            uplink.next(at(0));
        }
        assert_eq!(uplink.open.len(), IN_FLIGHT_MAX);
        assert_eq!(uplink.next, 64);
    }

    #[test]
    fn of_a_journal_that_became_shorter_nothing_is_published_that_is_not_there() {
        let mut uplink = Uplink::default();
        uplink.grow(100);
        uplink.next(at(0));
        uplink.seal(80);
        assert!(uplink.is_done());
        uplink.again(0);
        assert_eq!(uplink.next(at(1)).map(|piece| piece.to), Some(80));
    }

    #[test]
    fn what_the_controller_lacks_is_published_again_and_answers_to_the_first_attempt_do_not_count() {
        let mut uplink = Uplink::default();
        uplink.grow(10);
        let old = uplink.next(at(0)).unwrap();
        uplink.again(4);
        let new = uplink.next(at(0)).unwrap();
        assert_eq!((new.copy, new.from, new.to), (1, 4, 10));
        uplink.acknowledged(old);
        assert!(!uplink.is_done());
        uplink.acknowledged(new);
        assert!(uplink.is_done());
    }
}
