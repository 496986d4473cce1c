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
    /// Between which times the values lie that are above the valley: a quarter is faster, a quarter slower. In seconds.
    pub slow_quartiles: (f64, f64),
    /// Values in the lower mode, as far as their smoothing counts them.
    lower: f64,
}

/// Neighbours with the weights 1, 2, 1 have the variance of so many times the values of one band (16 / 6).
const SMOOTHED: f64 = 16.0 / 6.0;

/// The chance that makes a valley of this depth where there is none: it is looked for in some dozens of places.
const BY_CHANCE: f64 = 1e-4;

impl Modes {
    /// Whether so few values in the valley come by chance in 1 of 10,000 times at most, if its density were `limit` times
    /// that of the lower mode. This asks for as many values as the depth of the valley needs, and no fixed number.
    pub(crate) fn is_certain(&self, limit: f64) -> bool {
        let lower = (SMOOTHED * self.lower).floor();
        let valley = (SMOOTHED * self.lower * self.valley).ceil();
        self.valley <= limit && at_most_by_chance(valley, lower + valley, limit / (1.0 + limit)) <= BY_CHANCE
    }
}

/// The chance of `most` or fewer of `all` values, each of which is counted with this probability (binomial).
fn at_most_by_chance(most: f64, all: f64, probability: f64) -> f64 {
    // A sum of logarithms, because the first terms of many values are too small for a number.
    let mut term = all * (1.0 - probability).ln();
    let mut sum = term.exp();
    let mut count = 0.0;
    while count < most.min(all) {
        term += ((all - count) / (count + 1.0)).ln() + (probability / (1.0 - probability)).ln();
        count += 1.0;
        sum += term.exp();
    }
    sum
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
            let (fast, slow, slow_share) = (time(fast.0), time(slow.0), above / total);
            let slow_quartiles = quartiles(histogram, slow_share);
            best = Some(Modes { fast, slow, slow_share, valley, slow_quartiles, lower });
        }
    }
    best
}

/// The quartiles of the slowest values, of which there is this share.
fn quartiles(histogram: &Histogram, share: f64) -> (f64, f64) {
    let at = |part: f64| histogram.quantile(1.0 - share * (1.0 - part)).map_or(0.0, Nanos::as_secs_f64);
    (at(0.25), at(0.75))
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
    fn the_chance_of_few_values_is_the_binomial_one() {
        // 0.8^41; of 10 with one half, 1 + 10 + 45 of 1,024; all of them.
        for (most, all, probability, chance) in
            [(0.0, 41.0, 0.2, 1.064e-4), (2.0, 10.0, 0.5, 0.054_69), (10.0, 10.0, 0.3, 1.0)]
        {
            let found = at_most_by_chance(most, all, probability);
            assert!((found / chance - 1.0).abs() < 0.01, "{most} of {all}: {found}");
        }
    }

    #[test]
    fn how_many_values_a_valley_needs_follows_from_its_depth() {
        let of = |all: u64, between: u64| {
            let mut dice = Dice(5);
            let mut histogram = Histogram::new();
            around(&mut histogram, &mut dice, 0.005, 0.2, all * 3 / 4);
            (0..between)
                .for_each(|_| histogram.record(Nanos::from_secs_f64(0.005 * 25f64.powf(dice.share()))));
            around(&mut histogram, &mut dice, 0.125, 0.02, all / 4);
            two_modes(&histogram, 0.05).unwrap()
        };
        assert!(of(600, 0).is_certain(0.25) && !of(40, 0).is_certain(0.25));
        assert!(!of(200, 100).is_certain(0.25), "{:?}", of(200, 100));
        let (from, to) = of(600, 0).slow_quartiles;
        assert!(from > 0.122 && to < 0.128 && from < to, "{from} to {to}");
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
