//! A copy of an agent's journal, from pieces that come in any order and more than once.
//!
//! Does not write files: it says which bytes come next.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Most bytes that wait for those before them. More are dropped; they are asked for again at the end.
const WAITING_MAX: usize = 64 << 20;

/// A copy so far.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    length: u64,
    waiting: BTreeMap<u64, Bytes>,
    waiting_bytes: usize,
}

impl Copy {
    /// Takes a piece that begins at byte `from`. Returns what the copy grows by, in order.
    pub fn take(&mut self, from: u64, bytes: Bytes) -> Vec<Bytes> {
        if bytes.is_empty() {
            return Vec::new();
        }
        if from > self.length {
            // Of two that begin at the same byte, the longer one has both.
            if self.waiting.get(&from).is_some_and(|known| known.len() >= bytes.len()) {
                return Vec::new();
            }
            if self.waiting_bytes + bytes.len() <= WAITING_MAX {
                self.waiting_bytes += bytes.len();
                if let Some(earlier) = self.waiting.insert(from, bytes) {
                    self.waiting_bytes -= earlier.len();
                }
            }
            return Vec::new();
        }
        let mut grown = Vec::new();
        self.append(from, &bytes, &mut grown);
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() <= self.length) {
            let (from, bytes) = entry.remove_entry();
            self.waiting_bytes -= bytes.len();
            self.append(from, &bytes, &mut grown);
        }
        grown
    }

    fn append(&mut self, from: u64, bytes: &Bytes, grown: &mut Vec<Bytes>) {
        let known = (self.length - from) as usize;
        if known < bytes.len() {
            grown.push(bytes.slice(known..));
            self.length += (bytes.len() - known) as u64;
        }
    }

    /// How many bytes it has without a gap.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_in_any_order_and_more_than_once_give_the_journal(
            cuts in proptest::collection::vec(1_usize..40, 1..30),
            order in proptest::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let whole: Vec<u8> = (0..cuts.iter().sum::<usize>()).map(|place| place as u8).collect();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in &cuts {
                pieces.push((from as u64, Bytes::copy_from_slice(&whole[from..from + cut])));
                from += cut;
            }
            let (mut copy, mut made) = (Copy::default(), Vec::new());
            let chosen = order.iter().map(|index| index.index(pieces.len()));
            for index in chosen.chain((0..pieces.len()).rev()) {
                let (from, bytes) = pieces[index].clone();
                copy.take(from, bytes).iter().for_each(|bytes| made.extend_from_slice(bytes));
                prop_assert_eq!(copy.length() as usize, made.len());
                prop_assert!(whole.starts_with(&made));
            }
            prop_assert_eq!(made, whole);
        }
    }

    #[test]
    fn pieces_that_overlap_are_cut() {
        let mut copy = Copy::default();
        copy.take(0, Bytes::from_static(b"abcd"));
        assert_eq!(copy.take(2, Bytes::from_static(b"cdef")), [Bytes::from_static(b"ef")]);
        assert_eq!(copy.length(), 6);
    }
}
