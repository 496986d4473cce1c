//! Frames of one socket that wait for the ceiling of an agent, in the order in which the script sent them.
//!
//! Does not send and does not wait.

use std::collections::VecDeque;
use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_engine::http::websocket::frame::Opcode;

use crate::http::pace::Pace;

/// Frames that wait. Without a ceiling there are none.
#[derive(Debug, Default)]
pub(super) struct Held {
    ceiling: Option<Arc<Pace>>,
    frames: VecDeque<HeldFrame>,
    /// When the first frame can be sent. Only it has a slot: a socket that sends much at once, or that ends, takes none
    /// that others could have.
    first_at: Nanos,
    bytes: usize,
}

#[derive(Debug)]
struct HeldFrame {
    opcode: Opcode,
    payload: Vec<u8>,
}

impl HeldFrame {
    const fn bytes(&self) -> usize {
        size_of::<Self>() + self.payload.len()
    }
}

impl Held {
    /// Frames from now on count for this ceiling.
    pub(super) fn limit(&mut self, ceiling: Option<Arc<Pace>>) {
        self.ceiling = ceiling;
    }

    /// Whether a frame can be sent now. If not, it is kept until then. A close takes no slot, but its turn.
    pub(super) fn passes(&mut self, now: Nanos, opcode: Opcode, payload: &[u8]) -> bool {
        let Some(ceiling) = &self.ceiling else { return true };
        if self.frames.is_empty() {
            self.first_at = slot(ceiling, now, opcode);
            if self.first_at <= now {
                return true;
            }
        }
        let frame = HeldFrame { opcode, payload: payload.to_vec() };
        self.bytes += frame.bytes();
        self.frames.push_back(frame);
        false
    }

    /// The next frame, if its time has come.
    pub(super) fn due(&mut self, now: Nanos) -> Option<(Opcode, Vec<u8>)> {
        if self.first_at > now {
            return None;
        }
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.bytes();
        if let (Some(next), Some(ceiling)) = (self.frames.front(), &self.ceiling) {
            self.first_at = slot(ceiling, now, next.opcode);
        }
        Some((frame.opcode, frame.payload))
    }

    /// When the first frame can be sent; never if there is none.
    pub(super) fn next(&self) -> Nanos {
        if self.frames.is_empty() { Nanos::MAX } else { self.first_at }
    }

    /// Whether a close waits, after which nothing else can be sent.
    pub(super) fn is_closing(&self) -> bool {
        self.frames.back().is_some_and(|frame| frame.opcode == Opcode::Close)
    }

    /// Bytes of all frames.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Nothing of it is sent any more.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }
}

/// When a frame can be sent. A close takes no slot.
fn slot(ceiling: &Pace, now: Nanos, opcode: Opcode) -> Nanos {
    if opcode == Opcode::Close { now } else { ceiling.take(now, Nanos::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_beyond_the_ceiling_wait_and_a_close_waits_behind_them() {
        let (mut held, ms) = (Held::default(), Nanos::from_millis);
        held.limit(Some(Arc::new(Pace::ceiling(2.0))));
        let begin = ms(5_000);
        let passed = (0..5).filter(|_| held.passes(begin, Opcode::Text, b"four")).count();
        assert_eq!(passed, 3, "those of the last second, and one");
        assert_eq!(held.bytes(), 2 * (4 + size_of::<HeldFrame>()));
        assert!(!held.passes(begin, Opcode::Close, b""), "not before what was sent before");
        assert!(held.is_closing());
        assert_eq!(held.next(), ms(5_500));
        assert!(held.due(ms(5_499)).is_none());
        assert_eq!(held.due(ms(5_500)).unwrap().0, Opcode::Text);
        assert!(held.due(ms(5_500)).is_none());
        assert_eq!(held.due(ms(6_000)).unwrap().0, Opcode::Text);
        assert_eq!(held.due(ms(6_000)).unwrap().0, Opcode::Close);
        assert_eq!((held.is_empty(), held.bytes(), held.next()), (true, 0, Nanos::MAX));
    }

    #[test]
    fn messages_that_wait_or_are_given_up_take_no_slots_that_others_could_have() {
        let ceiling = Arc::new(Pace::ceiling(2.0));
        let (mut held, ms) = (Held::default(), Nanos::from_millis);
        held.limit(Some(ceiling.clone()));
        for _ in 0..100 {
            held.passes(ms(5_000), Opcode::Text, b"much at once");
        }
        assert_eq!(
            ceiling.take(ms(5_000), Nanos::MAX),
            ms(6_000),
            "behind the first that waits, not behind all"
        );
        held.clear();
        assert_eq!(held.next(), Nanos::MAX);
        assert_eq!(ceiling.take(ms(6_000), Nanos::MAX), ms(6_500));
    }

    #[test]
    fn without_a_ceiling_and_for_a_close_alone_nothing_waits() {
        let mut held = Held::default();
        assert!((0..1_000).all(|_| held.passes(Nanos::ZERO, Opcode::Binary, b"x")));
        held.limit(Some(Arc::new(Pace::ceiling(1.0))));
        assert!(held.passes(Nanos::from_secs(9), Opcode::Close, b""));
    }
}
