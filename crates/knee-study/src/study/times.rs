//! The response times of a trial as it is stored, and of several trials merged.
//!
//! Keeps the times of the successful requests in buckets, and the number of the others. In every percentile here, an
//! unsuccessful request ranks slower than each successful one: a fast failure never improves it, and none is left out.
//! Does not test anything.

use knee_core::histogram::Histogram;
use serde::{Deserialize, Serialize};

use super::figure::Figure;
use crate::statistics::{location, student};

/// The upper end of a bucket over its lower end: a percentile is good to a thousandth either way.
const RATIO: f64 = 1.002;

/// How sure it must be that a quantile is that of a successful request: as sure as three standard errors make it.
const EDGE: f64 = 0.998_65;

/// The response times of one trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Buckets that hold something, ascending, as two numbers each: the distance of its index from the one before
    /// (from 0 for the first), and how many successful requests it holds. Bucket `i` begins at `1.002^i` nanoseconds.
    /// Stored as one text, so that a trial stays one short line.
    #[serde(with = "numbers")]
    ok: Vec<u64>,
    /// Requests that did not succeed, with any outcome.
    unsuccessful: u64,
}

/// Whole numbers as one text, with spaces between them.
mod numbers {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
        serializer.serialize_str(&texts.join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.split_whitespace().map(|number| number.parse().map_err(de::Error::custom)).collect()
    }
}

impl ResponseTimes {
    /// Those of a histogram of successful requests, and a number of unsuccessful ones.
    pub fn of(ok: &Histogram, unsuccessful: u64) -> Self {
        let middle = |low: u64, high: u64| low as f64 + (high - low) as f64 / 2.0;
        Self::collect(ok.iter().map(|(low, high, count)| (middle(low.0, high.0), count)), unsuccessful)
    }

    /// Those of single times in nanoseconds, and a number of unsuccessful requests.
    pub fn of_values(ok: &[f64], unsuccessful: u64) -> Self {
        let mut sorted = ok.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self::collect(sorted.into_iter().map(|value| (value, 1)), unsuccessful)
    }

    /// Counts times that come in ascending order.
    fn collect(times: impl Iterator<Item = (f64, u64)>, unsuccessful: u64) -> Self {
        let (mut ok, mut before, mut open) = (Vec::new(), 0, false);
        for (nanos, count) in times {
            let index = index_of(nanos);
            match ok.last_mut() {
                Some(last) if open && index == before => *last += count,
                _ => ok.extend([index - before, count]),
            }
            (before, open) = (index, true);
        }
        Self { ok, unsuccessful }
    }

    /// How many requests there are, successful or not.
    pub fn requests(&self) -> u64 {
        self.buckets().map(|(_, count)| count).fold(self.unsuccessful, u64::saturating_add)
    }

    /// Requests that did not succeed.
    pub const fn unsuccessful(&self) -> u64 {
        self.unsuccessful
    }

    /// Mean time of the successful requests in nanoseconds, good to a thousandth; `None` without one.
    pub(super) fn mean_of_successes(&self) -> Option<f64> {
        let (ok, sum) = self.buckets().fold((0_u64, 0.0), |(ok, sum), (index, count)| {
            (ok.saturating_add(count), sum + middle_of(index) * count as f64)
        });
        (ok > 0).then(|| sum / ok as f64)
    }

    /// The longest time of a successful request in nanoseconds, good to a thousandth; `None` without one.
    pub(super) fn slowest_success(&self) -> Option<f64> {
        self.buckets().last().map(|(index, _)| middle_of(index))
    }

    /// How many requests were slower than `nanos`, where unsuccessful ones count as slower; good to the width of a
    /// bucket.
    pub fn slower_than(&self, nanos: f64) -> u64 {
        let limit = index_of(nanos);
        let slower = self.buckets().filter(|(index, _)| *index > limit).map(|(_, count)| count);
        slower.fold(self.unsuccessful, u64::saturating_add)
    }

    /// How many requests are at most as slow as `nanos`, on a line within its bucket.
    fn at_or_below(&self, nanos: f64) -> f64 {
        let place = nanos.max(1.0).ln() / RATIO.ln();
        let part = |index: u64| (place - index as f64).clamp(0.0, 1.0);
        self.buckets().map(|(index, count)| part(index) * count as f64).sum()
    }

    fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pairs = self.ok.chunks_exact(2);
        pairs.scan(0_u64, |index, pair| {
            *index = index.saturating_add(pair[0]);
            Some((*index, pair[1]))
        })
    }
}

fn index_of(nanos: f64) -> u64 {
    // 1.002^13,000 is over an hour; what lies beyond counts there.
    (nanos.max(1.0).ln() / RATIO.ln()).floor().min(INDEX_MAX as f64) as u64
}

/// The middle of a bucket, in nanoseconds.
fn middle_of(index: u64) -> f64 {
    RATIO.powf(index.min(INDEX_MAX) as f64 + 0.5)
}

/// The last bucket: it begins at 5 hours.
const INDEX_MAX: u64 = 15_300;

/// The response times of several trials together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedTimes {
    /// Index of the first bucket.
    first: u64,
    /// Counts of successful requests, from the first bucket on.
    counts: Vec<u64>,
    ok: u64,
    unsuccessful: u64,
}

impl MergedTimes {
    /// Those of `trials`.
    pub fn of<'a>(trials: impl IntoIterator<Item = &'a ResponseTimes> + Clone) -> Self {
        let known = || trials.clone().into_iter().flat_map(ResponseTimes::buckets);
        let first = known().map(|(index, _)| index.min(INDEX_MAX)).min().unwrap_or(0);
        let last = known().map(|(index, _)| index.min(INDEX_MAX)).max().unwrap_or(0);
        let mut counts = vec![0_u64; (last - first + 1) as usize];
        let mut ok = 0_u64;
        for (index, count) in known() {
            let known = &mut counts[(index.min(INDEX_MAX) - first) as usize];
            *known = known.saturating_add(count);
            ok = ok.saturating_add(count);
        }
        let unsuccessful = trials.into_iter().map(ResponseTimes::unsuccessful).fold(0, u64::saturating_add);
        Self { first, counts, ok, unsuccessful }
    }

    /// The same without the unsuccessful requests.
    #[must_use]
    pub fn successes(mut self) -> Self {
        self.unsuccessful = 0;
        self
    }

    /// How many requests there are.
    pub const fn requests(&self) -> u64 {
        self.ok.saturating_add(self.unsuccessful)
    }

    /// Requests that did not succeed.
    pub const fn unsuccessful(&self) -> u64 {
        self.unsuccessful
    }

    /// Whether chance decides if quantile `q` of the merged `trials` is that of a successful request: its rank is within
    /// [`EDGE`] from where the unsuccessful ones begin. It is then among the very slowest successes, and no more than a
    /// lower bound. The error is that between trials, by Student's t, and at least that of a binomial share.
    pub fn is_at_edge(&self, trials: &[&ResponseTimes], q: f64) -> bool {
        let all = self.requests() as f64;
        let share = |trial: &&ResponseTimes| trial.unsuccessful as f64 / trial.requests().max(1) as f64;
        let shares: Vec<f64> = trials.iter().map(share).collect();
        let binomial = student::normal_quantile(EDGE) * (q * (1.0 - q) / all).sqrt();
        let error = match trials.len() {
            0 | 1 => binomial,
            many => {
                let between = location::deviation(&shares) / (many as f64).sqrt();
                binomial.max(student::quantile(EDGE, many - 1) * between)
            }
        };
        self.unsuccessful > 0 && (q + error) * all > self.ok as f64
    }

    /// The quantile `q` (above 0, below 1) in nanoseconds, on a line within its bucket. Among unsuccessful requests it is
    /// at least the time of the slowest successful one. `None` without a successful request.
    pub fn quantile(&self, q: f64) -> Option<Figure> {
        let rank = q * self.requests() as f64;
        let mut below = 0_u64;
        let mut last = None;
        for (index, count) in (self.first..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            let within = (rank - below as f64) / *count as f64;
            if within <= 1.0 {
                return Some(Figure::from(RATIO.powf(index as f64 + within.max(0.0))));
            }
            below = below.saturating_add(*count);
            last = Some(index);
        }
        last.map(|index| Figure { value: RATIO.powf(index as f64), at_least: true })
    }

    /// By how much quantile `q` of all requests moves with each of the trials that were merged, on a logarithmic scale:
    /// the share of a trial's requests beyond the quantile, weighted by their number, over the density there. Their mean
    /// is 0, and their spread is the error of the quantile (Francisco and Fuller, Annals of Statistics 19, 1991).
    ///
    /// The density is that between the quantiles two standard errors below and above, so that the interval of the error
    /// reaches as far as Woodruff's (Journal of the American Statistical Association 47, 1952). `None` without a
    /// successful request.
    pub fn influences(&self, trials: &[&ResponseTimes], q: f64) -> Option<Vec<f64>> {
        let value = self.quantile(q)?.value;
        let (all, blocks) = (self.requests() as f64, trials.len() as f64);
        let beyond = |trial: &&ResponseTimes| {
            let requests = trial.requests() as f64;
            requests * blocks / all * q - trial.at_or_below(value) * blocks / all
        };
        let shares: Vec<f64> = trials.iter().map(beyond).collect();
        let error = (location::deviation(&shares) / blocks.sqrt()).max((q * (1.0 - q) / all).sqrt());
        let (low, high) = ((q - 2.0 * error).max(1.0 / all), (q + 2.0 * error).min(1.0 - 1.0 / all));
        let logarithm = |q: f64| self.quantile(q).map(|figure| figure.value.ln());
        let slope = (logarithm(high)? - logarithm(low)?) / (high - low).max(f64::MIN_POSITIVE);
        Some(shares.into_iter().map(|share| share * slope).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(range: std::ops::RangeInclusive<u32>) -> Vec<f64> {
        range.map(|time| f64::from(time) * 1e6).collect()
    }

    #[test]
    fn a_quantile_of_merged_trials_is_that_of_all_their_requests() {
        let (one, other) = (millis(1..=400), millis(401..=1_000));
        let trials = [ResponseTimes::of_values(&one, 0), ResponseTimes::of_values(&other, 0)];
        let merged = MergedTimes::of(&trials);
        assert_eq!(merged.requests(), 1_000);
        for q in [0.5, 0.9, 0.99] {
            let found = merged.quantile(q).unwrap();
            assert!((found.value / (q * 1e9) - 1.0).abs() < 0.003 && !found.at_least, "{q}: {found:?}");
        }
    }

    #[test]
    fn a_trial_with_more_slow_requests_than_the_others_moves_the_quantile_up() {
        let trials = [
            ResponseTimes::of_values(&millis(1..=1_000), 0),
            ResponseTimes::of_values(&millis(1..=1_000), 0),
            ResponseTimes::of_values(&millis(101..=1_100), 0),
        ];
        let trials: Vec<&ResponseTimes> = trials.iter().collect();
        let influences = MergedTimes::of(trials.clone()).influences(&trials, 0.5).unwrap();
        assert!(influences[0] < 0.0 && influences[2] > 0.0, "{influences:?}");
        assert!(influences.iter().sum::<f64>().abs() < 1e-9, "they add up to nothing: {influences:?}");
        // The median of all is 533 ms; the third has 100 of 1,000 fewer below it, which 100 ms would make up.
        let apart = influences[2] - influences[0];
        assert!((apart - 100.0 / 533.0).abs() < 0.02, "{apart}");
    }

    #[test]
    fn a_failure_ranks_slower_than_every_success_however_fast_it_was() {
        // 900 successes of 1 to 900 ms, and 100 failures: the 950th of 1,000 is one of those.
        let trial = ResponseTimes::of_values(&millis(1..=900), 100);
        let merged = MergedTimes::of([&trial]);
        let p50 = merged.quantile(0.5).unwrap();
        assert!((p50.value / 500e6 - 1.0).abs() < 0.003 && !p50.at_least, "{p50:?}");
        let p95 = merged.quantile(0.95).unwrap();
        assert!(p95.at_least && p95.value <= 900e6 && p95.value > 897e6, "{p95:?}");
        let alone = merged.clone().successes().quantile(0.95).unwrap();
        assert!((alone.value / 855e6 - 1.0).abs() < 0.003 && !alone.at_least, "{alone:?}");
        assert_eq!(MergedTimes::of(&[ResponseTimes::of_values(&[], 7)]).quantile(0.5), None);
        // 3 * sqrt(1,000 * 0.09) = 28 ranks.
        let edge = |q: f64| merged.is_at_edge(&[&trial], q);
        assert!(edge(0.9) && edge(0.89) && !edge(0.85));
    }

    #[test]
    fn of_few_trials_that_fail_differently_often_a_quantile_is_surer_to_be_a_success_the_more_trials_there_are()
     {
        let trial = |failed: u64| ResponseTimes::of_values(&millis(1..=(1_000 - failed as u32)), failed);
        let at_edge = |times: usize| {
            let trials: Vec<ResponseTimes> =
                [350, 380, 420, 450].into_iter().cycle().take(4 * times).map(trial).collect();
            let whole = MergedTimes::of(&trials);
            whole.is_at_edge(&trials.iter().collect::<Vec<_>>(), 0.5)
        };
        // Four shares that scatter by 4.4 points have a mean that is known to 20 points (t of 3), sixteen to 4 (t of 15).
        assert!(at_edge(1) && !at_edge(4));
    }

    #[test]
    fn requests_above_a_limit_are_counted_with_those_that_failed() {
        let trial = ResponseTimes::of_values(&millis(1..=1_000), 3);
        assert_eq!(trial.slower_than(500e6), 500 + 3);
        assert_eq!(trial.slower_than(2e9), 3);
        assert_eq!(trial.requests(), 1_003);
    }

    #[test]
    fn a_stored_trial_is_short_and_reads_back() {
        let trial = ResponseTimes::of_values(&[1e6, 1e6, 1e6, 2e6], 1);
        let text = serde_json::to_string(&trial).unwrap();
        assert_eq!(text, r#"{"ok":"6914 3 347 1","unsuccessful":1}"#);
        assert_eq!(serde_json::from_str::<ResponseTimes>(&text).unwrap(), trial);
    }

    proptest! {
        #[test]
        fn made_up_buckets_do_not_panic(ok in prop::collection::vec(any::<u64>(), 0..9), unsuccessful in any::<u64>()) {
            let trial = ResponseTimes { ok, unsuccessful };
            let merged = MergedTimes::of([&trial, &trial]);
            prop_assert!(merged.requests() >= trial.requests());
            let _ = (merged.quantile(0.5), merged.influences(&[&trial, &trial], 0.99), trial.slower_than(1e9));
        }
    }
}
