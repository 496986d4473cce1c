//! A mergeable histogram of times: the layout of an HDR histogram, kept sparse.
//!
//! Values are whole nanoseconds from 0 to one hour. Below 1,024 ns every value has a bucket of its own; above, each
//! doubling is cut into 1,024 equal buckets, so that a bucket is never wider than 1/1,024 of the values in it: three
//! significant digits over the whole range, and exactly the log-linear layout of Gil Tene's `HdrHistogram`. How the
//! counts are stored depends on how many there are (see `histogram/buckets.rs`), because a run with a thousand
//! endpoints keeps tens of thousands of histograms, most of them with few values.
//!
//! A reader of records whose memory is limited can make a histogram coarser: 2, 4, … neighbouring buckets become one.
//! Count, sum, least and greatest value stay exact.
//!
//! Does not interpolate, does not correct for coordinated omission (response time is measured
//! from when a request was due, so there is nothing to correct), and does not clamp: a value
//! over one hour is counted in [`Histogram::overflow`] and keeps its place in `max` and `sum`.

mod buckets;
mod layout;
mod list;
mod pages;
mod stored;

use buckets::Buckets;
pub use layout::HIGHEST;
pub(crate) use layout::LAST_INDEX;
use layout::{highest_of, index_of, lowest_of};

use crate::unit::Nanos;

/// The coarsest that a histogram can become: 64 buckets in one, a sixteenth of a doubling.
pub const COARSENESS_MAX: u8 = 6;

/// More heap memory than any histogram takes, in bytes: one with many values in each bucket.
pub const HEAP_BYTES_MAX: usize = pages::HEAP_BYTES_MAX;

/// Exactly how many values a histogram counted, and their extent. Beside its buckets, these are all that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) count: u64,
    pub(crate) overflow: u64,
    pub(crate) sum: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Extent {
    /// Whether it can belong to buckets with these numbers at the ends (`None` for no bucket), whose counts add up to
    /// `in_buckets`; `None` if that is more than fits.
    pub(crate) fn fits(&self, buckets: Option<(usize, usize)>, in_buckets: Option<u64>) -> bool {
        let counted = in_buckets.and_then(|count| count.checked_add(self.overflow)) == Some(self.count);
        let within = buckets.is_none_or(|(first, last)| {
            first >= index_of(self.min.min(HIGHEST.0)) && last <= index_of(self.max.min(HIGHEST.0))
        });
        counted && within && self.min <= self.max
    }
}

/// Counts of times by bucket, with the exact count, sum, least and greatest beside them.
///
/// Merging is associative and commutative and loses nothing, so the quantiles of any window, endpoint or set of
/// machines can be computed from the parts.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Counts by bucket, those over [`HIGHEST`] left out.
    buckets: Buckets,
    /// log2 of the number of buckets that are counted as one.
    coarseness: u8,
    count: u64,
    overflow: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram; takes no heap memory until the first value.
    pub const fn new() -> Self {
        Self { buckets: Buckets::new(), coarseness: 0, count: 0, overflow: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let value = value.0;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if value > HIGHEST.0 {
            self.overflow += 1;
            return;
        }
        self.buckets.add_one(index_of(value) >> self.coarseness);
    }

    /// Counts one value `times` over. Saturates, as [`Histogram::merge`] does.
    pub fn record_many(&mut self, value: Nanos, times: u64) {
        if times == 0 {
            return;
        }
        self.count = self.count.saturating_add(times);
        self.sum = self.sum.saturating_add(u128::from(value.0) * u128::from(times));
        self.min = self.min.min(value.0);
        self.max = self.max.max(value.0);
        if value > HIGHEST {
            self.overflow = self.overflow.saturating_add(times);
        } else {
            self.add_to_bucket(index_of(value.0), times);
        }
    }

    /// Adds `count` to the bucket with this number, which must not exceed [`LAST_INDEX`]. [`Histogram::add_extent`] adds
    /// what belongs to it.
    pub(crate) fn add_to_bucket(&mut self, bucket: usize, count: u64) {
        self.buckets.add(bucket >> self.coarseness, count);
    }

    /// Adds everything but the buckets.
    pub(crate) fn add_extent(&mut self, extent: &Extent) {
        self.count = self.count.saturating_add(extent.count);
        self.overflow = self.overflow.saturating_add(extent.overflow);
        self.sum = self.sum.saturating_add(extent.sum);
        self.min = self.min.min(extent.min);
        self.max = self.max.max(extent.max);
    }

    /// Adds everything `other` counted. Saturates instead of wrapping, because a file with made-up
    /// counts can be merged too; no run reaches 2^64 requests. The result is as coarse as the coarser of the two.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.add_extent(&other.extent());
        if self.coarseness == other.coarseness {
            self.buckets.merge(&other.buckets);
        } else {
            self.coarsen(other.coarseness);
            let shift = self.coarseness - other.coarseness;
            other.buckets().for_each(|(index, count)| self.buckets.add(index >> shift, count));
        }
    }

    /// Counts 2^`coarseness` neighbouring buckets as one from now on, at most 2^[`COARSENESS_MAX`]; frees memory. Does
    /// nothing if the histogram is as coarse already.
    pub fn coarsen(&mut self, coarseness: u8) {
        let coarseness = coarseness.min(COARSENESS_MAX);
        if coarseness <= self.coarseness {
            return;
        }
        let mut coarser = Self { coarseness, ..Self::new() };
        let shift = coarseness - self.coarseness;
        self.buckets().for_each(|(index, count)| coarser.buckets.add(index >> shift, count));
        coarser.add_extent(&self.extent());
        *self = coarser;
    }

    /// Bytes of heap memory that it takes, to a few per cent.
    pub fn heap_bytes(&self) -> usize {
        self.buckets.heap_bytes()
    }

    fn extent(&self) -> Extent {
        Extent { count: self.count, overflow: self.overflow, sum: self.sum, min: self.min, max: self.max }
    }

    /// Clears every value and frees the pages that held none. The pages that the next interval will most likely need
    /// stay, and an unusual interval does not hold memory for the rest of the run.
    pub fn clear(&mut self) {
        if self.coarseness > 0 {
            *self = Self::new();
        }
        if self.count == 0 {
            return;
        }
        self.buckets.clear();
        (self.count, self.overflow, self.sum, self.min, self.max) = (0, 0, 0, u64::MAX, 0);
    }

    /// How many values were recorded, those over [`HIGHEST`] included.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many values were over [`HIGHEST`].
    pub const fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The exact sum of all values, in nanoseconds.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact least value; `None` when empty.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.min))
    }

    /// The exact greatest value; `None` when empty.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.max))
    }

    /// The exact mean in nanoseconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value at quantile `q` in 0 to 1 by nearest rank: the least bucket such that at least
    /// `ceil(q * count)` values are in it or below. Reported as the greatest value of that
    /// bucket, but never outside of the exact least and greatest. `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        if self.count == 0 {
            return None;
        }
        let rank = rank(q, self.count);
        let mut seen = 0;
        for (_, highest, count) in self.iter() {
            seen = count.saturating_add(seen);
            if seen >= rank {
                return Some(Nanos(highest.0.clamp(self.min, self.max)));
            }
        }
        // Only values over one hour are left; their exact places are not kept.
        Some(Nanos(self.max))
    }

    /// How many values lie in buckets at or below the bucket of `value`.
    pub fn count_at_or_below(&self, value: Nanos) -> u64 {
        if value > HIGHEST {
            return self.count;
        }
        let last = index_of(value.0) >> self.coarseness;
        self.buckets()
            .take_while(|(index, _)| *index <= last)
            .fold(0, |sum, (_, count)| count.saturating_add(sum))
    }

    /// The buckets that hold something, ascending: least value, greatest value, count.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        self.buckets().map(|(index, count)| {
            let (first, next) = (index << self.coarseness, (index + 1) << self.coarseness);
            (Nanos(lowest_of(first)), Nanos(highest_of(next - 1)), count)
        })
    }

    /// Ascending indices and counts of the buckets that hold something; indices count buckets of its coarseness.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter()
    }
}

/// The 1-based rank of quantile `q` among `count` values: `ceil(q * count)`, at least 1.
///
/// The product is lowered by one part in 10^12 before rounding up, so that 0.99 x 10,000, which
/// is a little over 9,900 in binary, is rank 9,900 and not 9,901.
pub(crate) fn rank(q: f64, count: u64) -> u64 {
    let exact = q.clamp(0.0, 1.0) * count as f64;
    ((exact * (1.0 - 1e-12)).ceil() as u64).clamp(1, count)
}

/// Two histograms are equal when they counted the same; unused pages do not matter.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.overflow, self.sum, self.min, self.max)
            == (other.count, other.overflow, other.sum, other.min, other.max)
            && self.coarseness == other.coarseness
            && self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

#[cfg(test)]
mod tests {
    use super::layout::{SUB, SUB_BITS};
    use super::*;

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        for index in 0..LAST_INDEX {
            assert_eq!(index_of(lowest_of(index)), index);
            assert_eq!(index_of(highest_of(index)), index);
            assert_eq!(highest_of(index) + 1, lowest_of(index + 1));
        }
    }

    #[test]
    fn a_bucket_is_never_wider_than_a_thousandth_of_its_values() {
        for index in SUB as usize..LAST_INDEX {
            let width = highest_of(index) - lowest_of(index) + 1;
            assert!(width * 1_000 <= lowest_of(index), "bucket {index}");
        }
    }

    #[test]
    fn an_exact_product_is_not_rounded_up_to_the_next_rank() {
        assert_eq!(rank(0.99, 10_000), 9_900);
        assert_eq!(rank(0.999, 100_000), 99_900);
        assert_eq!(rank(0.5, 3), 2);
        assert_eq!(rank(0.0, 3), 1);
        assert_eq!(rank(1.0, 3), 3);
    }

    #[test]
    fn more_than_an_hour_is_counted_apart_and_still_the_maximum() {
        let mut histogram = Histogram::new();
        histogram.record(Nanos::from_secs(1));
        histogram.record(Nanos::from_secs(4_000));
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.overflow(), 1);
        assert_eq!(histogram.quantile(1.0), Some(Nanos::from_secs(4_000)));
        assert_eq!(histogram.quantile(0.5), Some(Nanos(1_000_341_503)));
    }

    #[test]
    fn a_coarser_histogram_is_exact_in_all_but_the_places_of_its_values() {
        let mut fine = Histogram::new();
        (0..50_000_u64).for_each(|k| fine.record(Nanos(1_000_000 + k * k)));
        for coarseness in 1..=COARSENESS_MAX {
            let mut coarse = fine.clone();
            coarse.coarsen(coarseness);
            assert_eq!(coarse.extent(), fine.extent());
            for q in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let (exact, found) = (fine.quantile(q).unwrap().0, coarse.quantile(q).unwrap().0);
                assert!(
                    found >= exact && found - exact <= exact >> (SUB_BITS - u32::from(coarseness)),
                    "{q}"
                );
            }
            assert!(coarse.heap_bytes() <= (fine.heap_bytes() >> coarseness) + 4_096, "{coarseness}");
        }
    }

    #[test]
    fn histograms_of_different_coarseness_merge_into_one_of_the_coarser() {
        let of = |values: std::ops::Range<u64>, coarseness| {
            let mut histogram = Histogram::new();
            values.for_each(|value| histogram.record(Nanos(value * 1_000)));
            histogram.coarsen(coarseness);
            histogram
        };
        let both = of(0..2_000, 3);
        for (one, other) in [(0, 3), (3, 0), (1, 3), (3, 3)] {
            let mut merged = of(0..900, one);
            merged.merge(&of(900..2_000, other));
            assert_eq!(merged, both, "{one} and {other}");
        }
        let mut recorded = of(0..900, 3);
        (900..2_000).for_each(|value| recorded.record(Nanos(value * 1_000)));
        assert_eq!(recorded, both);
    }

    #[test]
    fn no_histogram_takes_more_memory_than_a_full_one() {
        let mut full = Histogram::new();
        (0..=LAST_INDEX).for_each(|index| full.record(Nanos(lowest_of(index))));
        assert!(full.heap_bytes() <= HEAP_BYTES_MAX, "{} of {HEAP_BYTES_MAX}", full.heap_bytes());
    }

    #[test]
    fn clearing_keeps_nothing_but_the_memory() {
        let mut histogram = Histogram::new();
        histogram.record(Nanos(77));
        histogram.clear();
        assert_eq!(histogram, Histogram::new());
        histogram.record(Nanos(5));
        assert_eq!(
            (histogram.min(), histogram.max(), histogram.count()),
            (Some(Nanos(5)), Some(Nanos(5)), 1)
        );
    }
}
