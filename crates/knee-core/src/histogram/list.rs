//! The counts of a few buckets: a sorted list.
//!
//! In pages, each of these counts would take ten times the memory. Does not grow beyond [`LONGEST`], where adding to the
//! list would take longer than adding to a page.

use super::layout::LAST_INDEX;

/// Most buckets in a list.
pub(super) const LONGEST: usize = 256;

/// Bucket numbers and counts, ascending by number.
#[derive(Clone, Debug)]
pub(super) struct List(Vec<(u16, u16)>);

// Every bucket number fits.
const _: () = assert!(LAST_INDEX <= u16::MAX as usize);

impl List {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds to a bucket; returns false and does nothing if there is no room for the bucket or its count.
    pub(super) fn add(&mut self, bucket: usize, count: u64) -> bool {
        let bucket = bucket as u16;
        match self.0.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => {
                let sum = u64::from(self.0[place].1).checked_add(count);
                let sum = sum.and_then(|sum| u16::try_from(sum).ok());
                sum.map(|sum| self.0[place].1 = sum).is_some()
            }
            Err(place) => {
                let count = u16::try_from(count).ok().filter(|_| self.0.len() < LONGEST);
                count.map(|count| self.0.insert(place, (bucket, count))).is_some()
            }
        }
    }

    /// Forgets all counts. A list that was empty already gives its memory back.
    pub(super) fn clear(&mut self) {
        if self.0.is_empty() {
            *self = Self::new();
        }
        self.0.clear();
    }

    /// Numbers and counts, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (usize::from(*bucket), u64::from(*count)))
    }

    /// Bytes of heap memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u16, u16)>()
    }
}
