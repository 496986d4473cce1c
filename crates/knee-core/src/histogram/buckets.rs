//! The counts of a histogram by bucket, in the smallest form that holds them.
//!
//! A list while few buckets are used, then pages with counts of 16 bits, and pages with counts of 64 bits once one count
//! is larger than that. Does not know what a bucket stands for.

use super::list::{self, List};
use super::pages::Pages;

/// Counts by bucket number.
#[derive(Clone, Debug)]
pub(super) enum Buckets {
    /// Few buckets.
    List(List),
    /// Many buckets with counts up to 65,535.
    Narrow(Box<Pages<u16>>),
    /// Many buckets with any counts.
    Wide(Box<Pages<u64>>),
}

impl Buckets {
    /// No counts; takes no heap memory.
    pub(super) const fn new() -> Self {
        Self::List(List::new())
    }

    /// Adds one to a bucket.
    #[inline]
    pub(super) fn add_one(&mut self, bucket: usize) {
        let is_added = match self {
            Self::Narrow(pages) => pages.add_one(bucket),
            Self::Wide(pages) => pages.add_one(bucket),
            Self::List(_) => false,
        };
        if !is_added {
            self.add(bucket, 1);
        }
    }

    /// Adds `count` to a bucket that might not exist yet; saturates.
    #[cold]
    pub(super) fn add(&mut self, bucket: usize, count: u64) {
        let is_added = match self {
            Self::List(list) => list.add(bucket, count),
            Self::Narrow(pages) => pages.add(bucket, count),
            Self::Wide(pages) => pages.add(bucket, count),
        };
        if !is_added {
            self.enlarge();
            self.add(bucket, count);
        }
    }

    /// Takes on the next larger form. Wide pages hold every count, so they are never asked for more.
    fn enlarge(&mut self) {
        if let Self::List(list) = self {
            let mut pages = Pages::default();
            // Counts of a list have 16 bits, too.
            list.iter().for_each(|(bucket, count)| _ = pages.add(bucket, count));
            *self = Self::Narrow(Box::new(pages));
        } else {
            let mut pages = Pages::default();
            self.iter().for_each(|(bucket, count)| _ = pages.add(bucket, count));
            *self = Self::Wide(Box::new(pages));
        }
    }

    /// Adds all counts of `other`; saturates.
    pub(super) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Wide(mine), Self::Wide(theirs)) => mine.merge(theirs),
            (Self::Wide(mine), Self::Narrow(theirs)) => mine.merge(theirs),
            (Self::Narrow(mine), Self::Narrow(theirs)) if mine.has_room_for(theirs) => mine.merge(theirs),
            (mine, _) => other.iter().for_each(|(bucket, count)| mine.add(bucket, count)),
        }
    }

    /// Forgets all counts and keeps the memory that as many would need again.
    pub(super) fn clear(&mut self) {
        // Far fewer than a list can hold, so that the histogram of a steady load does not change back and forth.
        if !matches!(self, Self::List(_)) && self.iter().nth(list::LONGEST / 8).is_none() {
            *self = Self::new();
        }
        match self {
            Self::List(list) => list.clear(),
            Self::Narrow(pages) => pages.clear(),
            Self::Wide(pages) => pages.clear(),
        }
    }

    /// Numbers and counts of the buckets that hold something, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (list, narrow, wide) = match self {
            Self::List(list) => (Some(list), None, None),
            Self::Narrow(pages) => (None, Some(pages), None),
            Self::Wide(pages) => (None, None, Some(pages)),
        };
        let in_list = list.into_iter().flat_map(List::iter);
        let in_narrow = narrow.into_iter().flat_map(|pages| pages.iter());
        in_list.chain(in_narrow).chain(wide.into_iter().flat_map(|pages| pages.iter()))
    }

    /// Bytes of heap memory.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::List(list) => list.heap_bytes(),
            Self::Narrow(pages) => size_of::<Pages<u16>>() + pages.heap_bytes(),
            Self::Wide(pages) => size_of::<Pages<u64>>() + pages.heap_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether two forms hold the same counts.
    fn same(one: &Buckets, other: &Buckets) -> bool {
        one.iter().eq(other.iter())
    }

    #[test]
    fn the_form_grows_with_what_it_holds_and_keeps_every_count() {
        let mut buckets = Buckets::new();
        for bucket in (0..list::LONGEST).rev() {
            buckets.add_one(bucket * 7);
        }
        assert!(matches!(buckets, Buckets::List(_)));
        buckets.add_one(3);
        assert!(matches!(buckets, Buckets::Narrow(_)));
        buckets.add(3, 65_534);
        assert!(matches!(buckets, Buckets::Narrow(_)));
        buckets.add_one(3);
        assert!(matches!(buckets, Buckets::Wide(_)));
        let expected = (0..list::LONGEST).map(|bucket| (bucket * 7, 1)).chain([(3, 65_536)]);
        let mut expected = expected.collect::<Vec<_>>();
        expected.sort_unstable();
        assert_eq!(buckets.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_large_count_in_a_short_list_is_kept() {
        let mut buckets = Buckets::new();
        buckets.add(5, 65_535);
        buckets.add_one(5);
        buckets.add(6, u64::MAX);
        buckets.add(6, 9);
        assert_eq!(buckets.iter().collect::<Vec<_>>(), [(5, 65_536), (6, u64::MAX)]);
    }

    #[test]
    fn any_form_can_be_merged_into_any_other() {
        let of = |count: usize, each: u64| {
            let mut buckets = Buckets::new();
            (0..count).for_each(|bucket| buckets.add(bucket * 5 + 40, each));
            buckets
        };
        let kinds = || [of(0, 1), of(20, 3), of(500, 3), of(500, 40_000), of(500, 70_000), of(3, 70_000)];
        for one in kinds() {
            for other in kinds() {
                let mut merged = one.clone();
                merged.merge(&other);
                let mut added = one.clone();
                other.iter().for_each(|(bucket, count)| added.add(bucket, count));
                assert!(same(&merged, &added));
                let mut turned = other;
                turned.merge(&one);
                assert!(same(&merged, &turned));
            }
        }
    }

    #[test]
    fn cleared_counts_take_the_memory_that_as_many_need() {
        let fill =
            |buckets: &mut Buckets, count: usize| (0..count).for_each(|k| buckets.add_one(k * 20 + 10_000));
        let mut buckets = Buckets::new();
        fill(&mut buckets, 1_000);
        let before = buckets.heap_bytes();
        buckets.clear();
        assert_eq!(buckets.iter().count(), 0);
        assert!(buckets.heap_bytes() <= before && buckets.heap_bytes() > before / 2, "{before}");
        fill(&mut buckets, 1_000);
        assert_eq!(buckets.iter().count(), 1_000);
        assert_eq!(buckets.heap_bytes(), before, "the next interval takes no other memory");
        buckets.clear();
        fill(&mut buckets, 5);
        buckets.clear();
        assert_eq!(buckets.heap_bytes(), 0);
    }
}
