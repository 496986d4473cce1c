//! The distribution of a trend's samples: exact while they are few, in bounded memory when they are many.
//!
//! A trend can hold any number that a script adds: milliseconds, bytes, negative numbers, zero. So it does not use the
//! record's histogram, which holds times only.

use serde::{Deserialize, Serialize};

/// Up to this many samples are kept unchanged, so that percentiles are exact.
pub const EXACT_MAX: usize = 10_000;

/// Slots of a page. A page covers one power of two, so a slot is at most 1/512 of its values wide and its
/// middle at most 0.1 % from any of them.
const SLOTS: usize = 512;
/// Bits of the fraction of a double that select the slot.
const SLOT_BITS: u32 = 9;
/// Exponents of two that have a page; smaller magnitudes count as zero, larger ones as the largest.
const EXPONENTS: std::ops::Range<i32> = -40..88;
/// Up to this many samples are stored unchanged.
pub(super) const STORED_EXACT_MAX: usize = 256;

/// Samples with their exact count, sum and extremes, and a distribution of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Trend {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    shape: Shape,
}

/// Storage of the distribution.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Every sample, in the order they came.
    Exact(Vec<f64>),
    /// Log-linear counts.
    Counted(Box<Pages>),
}

impl Default for Trend {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            shape: Shape::Exact(Vec::new()),
        }
    }
}

impl Trend {
    /// Takes one sample.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.shape {
            Shape::Exact(samples) if samples.len() < EXACT_MAX => samples.push(value),
            Shape::Exact(_) => self.counted().add(value, 1),
            Shape::Counted(pages) => pages.add(value, 1),
        }
    }

    /// Takes one sample `count` times.
    pub fn add_many(&mut self, value: f64, count: u64) {
        if count == 0 {
            return;
        }
        self.count += count;
        self.sum += value * count as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.shape {
            Shape::Exact(samples) if samples.len() as u64 + count <= EXACT_MAX as u64 => {
                samples.resize(samples.len() + count as usize, value);
            }
            Shape::Exact(_) => self.counted().add(value, count),
            Shape::Counted(pages) => pages.add(value, count),
        }
    }

    /// Takes over the samples of another trend. The order of merging does not change any percentile.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        match (&mut self.shape, &other.shape) {
            (Shape::Exact(samples), Shape::Exact(more)) if samples.len() + more.len() <= EXACT_MAX => {
                samples.extend_from_slice(more);
            }
            (_, Shape::Exact(more)) => {
                let pages = self.counted();
                pages.add_all(more);
            }
            (_, Shape::Counted(more)) => self.counted().merge(more),
        }
    }

    /// The pages, after putting the exact samples into them if that has not happened yet.
    fn counted(&mut self) -> &mut Pages {
        if let Shape::Exact(samples) = &self.shape {
            let mut pages = Box::new(Pages::default());
            pages.add_all(samples);
            self.shape = Shape::Counted(pages);
        }
        match &mut self.shape {
            Shape::Counted(pages) => pages,
            Shape::Exact(_) => unreachable!("the shape was changed above"),
        }
    }

    /// Number of samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the samples.
    pub const fn sum(&self) -> f64 {
        self.sum
    }

    /// Mean; zero without samples.
    pub fn avg(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// Smallest sample; zero without samples.
    pub fn min(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.min }
    }

    /// Largest sample; zero without samples.
    pub fn max(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.max }
    }

    /// Counts samples instead of keeping them, if they are more than a record has unchanged.
    pub(super) fn shorten(&mut self) {
        if matches!(&self.shape, Shape::Exact(samples) if samples.len() > STORED_EXACT_MAX) {
            self.counted();
        }
    }

    /// Counts samples instead of keeping them, however few they are.
    pub(super) fn count_samples(&mut self) {
        if self.count > 0 {
            self.counted();
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let pages =
            |magnitudes: &Magnitudes| magnitudes.0.iter().flatten().count() * SLOTS * size_of::<u64>();
        size_of::<Self>()
            + match &self.shape {
                Shape::Exact(samples) => samples.len() * size_of::<f64>(),
                Shape::Counted(counted) => pages(&counted.negative) + pages(&counted.positive),
            }
    }

    /// About how many values it has in a record.
    pub(super) fn values(&self) -> usize {
        match &self.shape {
            Shape::Exact(samples) => samples.len(),
            Shape::Counted(pages) => {
                let used =
                    |magnitudes: &Magnitudes| magnitudes.slots().filter(|(_, count)| *count > 0).count();
                2 * (used(&pages.negative) + used(&pages.positive))
            }
        }
    }

    /// Whether percentiles are computed from every single sample.
    pub const fn is_exact(&self) -> bool {
        matches!(self.shape, Shape::Exact(_))
    }

    /// The value at rank `percent / 100 * (count - 1)`, between two samples by linear interpolation; zero
    /// without samples. `percent` outside of 0 to 100 means the ends.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.percentiles(&[percent])[0]
    }

    /// Several percentiles at once, with a single sort.
    pub fn percentiles(&self, percents: &[f64]) -> Vec<f64> {
        match &self.shape {
            _ if self.count == 0 => vec![0.0; percents.len()],
            Shape::Exact(samples) => {
                let mut sorted = samples.clone();
                sorted.sort_by(f64::total_cmp);
                percents.iter().map(|&percent| self.at_rank(percent, |rank| sorted[rank as usize])).collect()
            }
            Shape::Counted(pages) => {
                let value = |rank| pages.value_at(rank).clamp(self.min, self.max);
                percents.iter().map(|&percent| self.at_rank(percent, value)).collect()
            }
        }
    }

    fn at_rank(&self, percent: f64, value: impl Fn(u64) -> f64) -> f64 {
        let last = self.count - 1;
        let rank = (percent.clamp(0.0, 100.0) / 100.0) * last as f64;
        let below = (rank.floor() as u64).min(last);
        let (low, high) = (value(below), value((below + 1).min(last)));
        low + (high - low) * (rank - below as f64)
    }
}

/// Counts by magnitude, a page a power of two, made when first needed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pages {
    negative: Magnitudes,
    zeros: u64,
    positive: Magnitudes,
}

/// Pages by exponent, from the smallest.
#[derive(Clone, Debug, Default, PartialEq)]
struct Magnitudes(Vec<Option<Box<[u64; SLOTS]>>>);

impl Pages {
    fn add(&mut self, value: f64, count: u64) {
        match place(value) {
            None => self.zeros += count,
            Some((page, slot)) if value < 0.0 => self.negative.page(page)[slot] += count,
            Some((page, slot)) => self.positive.page(page)[slot] += count,
        }
    }

    fn add_all(&mut self, values: &[f64]) {
        for &value in values {
            self.add(value, 1);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.negative.merge(&other.negative);
        self.positive.merge(&other.positive);
    }

    /// How many samples there are; `None` if they cannot be counted.
    fn count(&self) -> Option<u64> {
        let both = self.negative.count()?.checked_add(self.positive.count()?)?;
        both.checked_add(self.zeros)
    }

    /// The middle of the slot in which the sample of this rank lies; ranks count from 0.
    fn value_at(&self, rank: u64) -> f64 {
        let mut left = rank;
        let mut reached = |count: u64| {
            let is_here = left < count;
            left = left.saturating_sub(count);
            is_here
        };
        if let Some((place, _)) = self.negative.slots().rev().find(|&(_, count)| reached(count)) {
            return -middle(place);
        }
        if reached(self.zeros) {
            return 0.0;
        }
        self.positive
            .slots()
            .find(|&(_, count)| reached(count))
            .map_or(f64::INFINITY, |(place, _)| middle(place))
    }
}

impl Magnitudes {
    fn page(&mut self, page: usize) -> &mut [u64; SLOTS] {
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        self.0[page].get_or_insert_with(|| Box::new([0; SLOTS]))
    }

    /// Gaps between used slots and their counts, alternating.
    fn gaps(&self) -> Vec<u64> {
        let mut next = 0;
        let mut gaps = Vec::new();
        for ((page, slot), count) in self.slots().filter(|(_, count)| *count > 0) {
            let index = page * SLOTS + slot;
            gaps.extend([(index - next) as u64, count]);
            next = index + 1;
        }
        gaps
    }

    /// The slots of [`Self::gaps`]; `None` for others.
    fn of(gaps: &[u64]) -> Option<Self> {
        let (mut magnitudes, mut next) = (Self::default(), 0_usize);
        for pair in gaps.chunks(2) {
            let [gap, count] = pair else { return None };
            let index = next.checked_add(usize::try_from(*gap).ok()?)?;
            if index >= EXPONENTS.len() * SLOTS || *count == 0 {
                return None;
            }
            magnitudes.page(index / SLOTS)[index % SLOTS] = *count;
            next = index + 1;
        }
        Some(magnitudes)
    }

    /// How many samples there are; `None` if they cannot be counted.
    fn count(&self) -> Option<u64> {
        self.slots().try_fold(0_u64, |sum, (_, count)| sum.checked_add(count))
    }

    fn merge(&mut self, other: &Self) {
        for (index, page) in other.0.iter().enumerate() {
            let Some(page) = page else { continue };
            let own = self.page(index);
            own.iter_mut().zip(page.iter()).for_each(|(own, count)| *own = own.saturating_add(*count));
        }
    }

    /// Place and count of every slot, from the smallest magnitude.
    fn slots(&self) -> impl DoubleEndedIterator<Item = ((usize, usize), u64)> {
        let pages = self.0.iter().enumerate().filter_map(|(index, page)| Some((index, page.as_ref()?)));
        pages.flat_map(|(index, page)| {
            page.iter().enumerate().map(move |(slot, &count)| ((index, slot), count))
        })
    }
}

/// Page and slot of a magnitude; `None` for zero and what is too small to tell from it.
fn place(value: f64) -> Option<(usize, usize)> {
    let bits = value.abs().to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    if exponent < EXPONENTS.start {
        return None;
    }
    if exponent >= EXPONENTS.end {
        return Some(((EXPONENTS.end - 1 - EXPONENTS.start) as usize, SLOTS - 1));
    }
    let slot = (bits >> (52 - SLOT_BITS)) as usize & (SLOTS - 1);
    Some(((exponent - EXPONENTS.start) as usize, slot))
}

/// The magnitude in the middle of a slot.
fn middle((page, slot): (usize, usize)) -> f64 {
    (page as f64 + f64::from(EXPONENTS.start)).exp2() * (1.0 + (slot as f64 + 0.5) / SLOTS as f64)
}

/// The form of a trend in records.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    /// Every sample, if they are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples: Vec<f64>,
    /// Otherwise samples that count as zero, and slots below and above it: gaps between used slots, and their counts.
    #[serde(default)]
    zeros: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    below: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    above: Vec<u64>,
}

impl From<Trend> for Stored {
    fn from(mut trend: Trend) -> Self {
        let (count, sum, min, max) = (trend.count, trend.sum, trend.min, trend.max);
        let empty = Self {
            count,
            sum,
            min,
            max,
            samples: Vec::new(),
            zeros: 0,
            below: Vec::new(),
            above: Vec::new(),
        };
        match &trend.shape {
            Shape::Exact(samples) if samples.len() <= STORED_EXACT_MAX => {
                Self { samples: samples.clone(), ..empty }
            }
            _ => {
                let pages = trend.counted();
                Self {
                    zeros: pages.zeros,
                    below: pages.negative.gaps(),
                    above: pages.positive.gaps(),
                    ..empty
                }
            }
        }
    }
}

impl TryFrom<Stored> for Trend {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { count, sum, min, max, samples, zeros, below, above } = stored;
        let wrong = "a trend contradicts itself";
        let is_counted = zeros > 0 || !below.is_empty() || !above.is_empty();
        let shape = if is_counted {
            let (negative, positive) =
                (Magnitudes::of(&below).ok_or(wrong)?, Magnitudes::of(&above).ok_or(wrong)?);
            Shape::Counted(Box::new(Pages { negative, zeros, positive }))
        } else {
            Shape::Exact(samples)
        };
        let found = match &shape {
            Shape::Exact(samples) if samples.iter().any(|sample| sample.is_nan()) => None,
            Shape::Exact(samples) => Some(samples.len() as u64),
            Shape::Counted(pages) => pages.count(),
        };
        // The sum of both infinities is no number, which a script can bring about.
        let is_sound = found == Some(count) && (count == 0 || min <= max);
        if is_sound { Ok(Self { count, sum, min, max, shape }) } else { Err(wrong) }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "sums and ranks of these numbers are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trend_of(values: &[f64]) -> Trend {
        let mut trend = Trend::default();
        for &value in values {
            trend.add(value);
        }
        trend
    }

    /// The same samples as pages, however few they are.
    fn counted(values: &[f64]) -> Trend {
        let mut trend = trend_of(values);
        trend.counted();
        trend
    }

    #[test]
    fn percentiles_of_few_samples_are_those_of_k6() {
        // Recorded from k6 v1.8.1: samples i * 1.5 - 3 for i in 0..11.
        let trend = trend_of(&(0..11).map(|i| f64::from(i) * 1.5 - 3.0).collect::<Vec<_>>());
        let expected =
            [(0.0, -3.0), (50.0, 4.5), (90.0, 10.5), (95.0, 11.25), (99.99, 11.9985), (100.0, 12.0)];
        for (percent, value) in expected {
            assert!(
                (trend.percentile(percent) - value).abs() < 1e-9,
                "p({percent}) = {}",
                trend.percentile(percent)
            );
        }
        assert!((trend.avg() - 4.5).abs() < 1e-9);
    }

    #[test]
    fn a_trend_without_samples_is_zero_everywhere() {
        let trend = Trend::default();
        assert_eq!([trend.avg(), trend.min(), trend.max(), trend.percentile(95.0)], [0.0; 4]);
    }

    #[test]
    fn memory_stops_growing_when_samples_are_many() {
        let mut trend = Trend::default();
        (0..1_000_000u32).for_each(|i| trend.add(f64::from(i % 1_000) + 0.5));
        assert!(!trend.is_exact());
        assert_eq!(trend.count(), 1_000_000);
        let median = trend.percentile(50.0);
        assert!((median - 500.0).abs() < 1.0, "{median}");
    }

    #[test]
    fn the_extremes_of_doubles_stay_in_order() {
        let trend = counted(&[f64::MIN, -1.0, -1e-300, 0.0, 1e-300, 1.0, f64::MAX]);
        let values = trend.percentiles(&[0.0, 50.0, 100.0]);
        assert!(values[0] < -1e20 && values[1] == 0.0 && values[2] > 1e20, "{values:?}");
    }

    #[test]
    fn infinite_samples_are_read_back() {
        let trend = trend_of(&[f64::INFINITY, f64::NEG_INFINITY, 1.0]);
        let read: Trend = rmp_serde::from_slice(&rmp_serde::to_vec_named(&trend).unwrap()).unwrap();
        assert_eq!((read.count(), read.max(), read.min()), (3, f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn a_stored_trend_that_contradicts_itself_is_refused() {
        let stored = || Stored::from(counted(&[-1.0, 0.0, 2.0]));
        assert!(Trend::try_from(stored()).is_ok());
        for wrong in [
            Stored { count: 4, ..stored() },
            Stored { above: vec![u64::MAX, 1], ..stored() },
            Stored { above: vec![3], ..stored() },
            Stored { above: vec![0, u64::MAX, 0, u64::MAX], ..stored() },
            Stored { below: vec![1, 0], ..stored() },
        ] {
            assert!(Trend::try_from(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn a_trend_is_read_back_as_it_was_written(values in prop::collection::vec(-1e6f64..1e6, 0..400)) {
            let trend = trend_of(&values);
            let bytes = rmp_serde::to_vec_named(&trend).unwrap();
            let read: Trend = rmp_serde::from_slice(&bytes).unwrap();
            let same = if values.len() > STORED_EXACT_MAX { counted(&values) } else { trend };
            prop_assert_eq!(read, same);
        }

        #[test]
        fn counted_percentiles_are_within_a_thousandth_of_exact_ones(
            values in prop::collection::vec(-1e6f64..1e6, 1..300),
            percent in 0.0f64..=100.0,
        ) {
            let (exact, counted) = (trend_of(&values), counted(&values));
            let (expected, found) = (exact.percentile(percent), counted.percentile(percent));
            // Interpolation between two samples carries the error of the larger one.
            let scale = values.iter().fold(0.0f64, |scale, value| scale.max(value.abs()));
            prop_assert!((expected - found).abs() <= scale / 1_000.0 + 1e-9, "{expected} {found}");
        }

        #[test]
        fn merging_in_any_order_gives_the_same_percentiles(
            first in prop::collection::vec(-1e3f64..1e3, 0..50),
            second in prop::collection::vec(-1e3f64..1e3, 0..50),
        ) {
            let (mut forth, mut back) = (trend_of(&first), trend_of(&second));
            forth.merge(&trend_of(&second));
            back.merge(&trend_of(&first));
            for percent in [0.0, 50.0, 90.0, 100.0] {
                prop_assert_eq!(forth.percentile(percent), back.percentile(percent));
            }
            prop_assert_eq!(forth.count(), back.count());
            let mut mixed = counted(&first);
            mixed.merge(&trend_of(&second));
            prop_assert_eq!(mixed.count(), forth.count());
        }
    }
}
