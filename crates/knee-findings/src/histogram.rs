//! Shares of a histogram in bands of time, and its modes.
//!
//! Works on the counts of buckets; does not smooth times below the width of a band and does not fit distributions.

use knee_core::histogram::Histogram;
use knee_core::unit::Nanos;

/// Bands per doubling in which modes are looked for: each is a factor of 1.19 wide.
const BANDS: f64 = 4.0;

/// Number of values from `from` to below `to`. Values in the buckets of the edges count by the least value of the
/// bucket.
pub(crate) fn count_within(histogram: &Histogram, from: Nanos, to: Nanos) -> u64 {
    let inside = histogram.iter().filter(|(lowest, _, _)| *lowest >= from && *lowest < to);
    inside.fold(0, |sum, (_, _, count)| count.saturating_add(sum))
}

/// The share of values from `from` to below `to`; `None` without values.
pub(crate) fn share_within(histogram: &Histogram, from: Nanos, to: Nanos) -> Option<f64> {
    let all = histogram.count();
    (all > 0).then(|| count_within(histogram, from, to) as f64 / all as f64)
}

/// How many times denser `from` to `to` is than the band of the same width below it; infinite if that is empty. Work that
/// is added to a fixed delay spreads times above it, never below.
pub(crate) fn prominence(histogram: &Histogram, from: Nanos, to: Nanos) -> f64 {
    let width = Nanos(to.since(from).0);
    let inside = count_within(histogram, from, to) as f64;
    let below = count_within(histogram, from.since(width), from) as f64;
    if inside == 0.0 { 0.0 } else { inside / below }
}

/// Two populations of times: a valley between two modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Modes {
    /// The time of the fast mode, in seconds.
    pub fast: f64,
    /// The time of the slow mode, in seconds.
    pub slow: f64,
    /// Share of the values above the valley.
    pub slow_share: f64,
    /// Density in the valley as a share of that in the lower mode.
    pub valley: f64,
}

/// The two modes with the deepest valley between them, each side of which has at least `least` of the values; `None` if
/// there are no two. Densities are per band of equal ratio, smoothed over three bands (the check of Hartigan's dip in
/// spirit, on a log histogram).
pub(crate) fn two_modes(histogram: &Histogram, least: f64) -> Option<Modes> {
    let raw = bands(histogram);
    let bands = smoothed(&raw);
    let total = sum(&raw);
    let mut best: Option<Modes> = None;
    for place in 1..bands.len().saturating_sub(1) {
        let (left, right) = bands.split_at(place);
        let right = &right[1..];
        let (below, above) = (sum(&raw[..place]), sum(&raw[place..]));
        let (Some(fast), Some(slow)) = (highest(left), highest(right)) else { continue };
        let lower = fast.1.min(slow.1);
        if below < least * total || above < least * total || lower <= 0.0 {
            continue;
        }
        let valley = bands[place].1 / lower;
        if best.is_none_or(|known| valley < known.valley) {
            best = Some(Modes { fast: time(fast.0), slow: time(slow.0), slow_share: above / total, valley });
        }
    }
    best
}

/// Counts by band, without gaps between the first and the last.
fn bands(histogram: &Histogram) -> Vec<(i32, f64)> {
    let band = |lowest: Nanos| ((lowest.0.max(1) as f64).log2() * BANDS).floor() as i32;
    let mut bands: Vec<(i32, f64)> = Vec::new();
    for (lowest, _, count) in histogram.iter() {
        let number = band(lowest);
        while bands.last().is_some_and(|(last, _)| *last < number) {
            let next = bands.last().map_or(number, |(last, _)| last + 1);
            bands.push((next, 0.0));
        }
        match bands.last_mut() {
            Some((_, known)) => *known += count as f64,
            None => bands.push((number, count as f64)),
        }
    }
    bands
}

/// Means of three neighbours, with weights 1, 2, 1.
fn smoothed(bands: &[(i32, f64)]) -> Vec<(i32, f64)> {
    let at = |place: Option<usize>| place.and_then(|place| bands.get(place)).map_or(0.0, |(_, count)| *count);
    let mean = |place: usize| (at(place.checked_sub(1)) + 2.0 * at(Some(place)) + at(Some(place + 1))) / 4.0;
    bands.iter().enumerate().map(|(place, (number, _))| (*number, mean(place))).collect()
}

fn sum(bands: &[(i32, f64)]) -> f64 {
    bands.iter().map(|(_, count)| count).sum()
}

fn highest(bands: &[(i32, f64)]) -> Option<(i32, f64)> {
    bands.iter().copied().max_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// The middle of a band, in seconds.
fn time(band: i32) -> f64 {
    ((f64::from(band) + 0.5) / BANDS).exp2() / 1e9
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Dice;

    fn around(histogram: &mut Histogram, dice: &mut Dice, seconds: f64, spread: f64, times: u64) {
        for _ in 0..times {
            histogram.record(Nanos::from_secs_f64(seconds * (1.0 + spread * (dice.share() - 0.5))));
        }
    }

    #[test]
    fn two_populations_are_found_with_their_times_and_shares() {
        let mut dice = Dice(5);
        let mut histogram = Histogram::new();
        around(&mut histogram, &mut dice, 0.002, 0.6, 8_000);
        around(&mut histogram, &mut dice, 0.030, 0.6, 2_000);
        let modes = two_modes(&histogram, 0.05).unwrap();
        assert!(modes.valley < 0.01 && (modes.slow_share - 0.2).abs() < 0.02, "{modes:?}");
        assert!((0.0014..0.0028).contains(&modes.fast) && (0.02..0.042).contains(&modes.slow), "{modes:?}");
    }

    #[test]
    fn one_population_has_no_valley_worth_the_name() {
        for seed in 1..=20 {
            let mut dice = Dice(seed);
            let mut histogram = Histogram::new();
            (0..5_000).for_each(|_| histogram.record(Nanos(300_000 + dice.exponential(900_000.0) as u64)));
            let valley = two_modes(&histogram, 0.05).map_or(1.0, |modes| modes.valley);
            assert!(valley > 0.5, "seed {seed}: {valley}");
        }
    }

    proptest! {
        #[test]
        fn no_histogram_breaks_the_search(values in prop::collection::vec(any::<u64>(), 0..200)) {
            let mut histogram = Histogram::new();
            for value in values {
                histogram.record(Nanos(value));
            }
            if let Some(modes) = two_modes(&histogram, 0.05) {
                prop_assert!(modes.fast < modes.slow && (0.0..=1.0).contains(&modes.slow_share));
            }
        }
    }
}
