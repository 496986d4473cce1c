//! What a sample supports: quantiles with their precision, and the summary that a report shows.
//!
//! Does not interpolate, guess a distribution or print; a report shows these figures and calculates nothing.

use crate::histogram::{HIGHEST, Histogram, rank};
use crate::outcome::Outcome;
use crate::tally::{EndpointTally, OutcomeTally, Phase};
use crate::unit::Nanos;

/// Samples that must lie above a quantile before it is published.
///
/// With `n (1 - q)` samples above, the 95 % interval of the quantile's true rank is about `1 - q` times `1 ± 2 /
/// sqrt(n (1 - q))` from the top (the normal approximation of the binomial distribution of ranks; David and Nagaraja,
/// Order Statistics, 7.1): with 100 of them a p99 is somewhere between the 98.8th and the 99.2nd percentile. The rule
/// is the same for every quantile, so a median needs 200 samples. For fewer samples, minimum, maximum and mean say
/// more.
pub const SAMPLES_ABOVE: u64 = 100;

/// A quantile, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The value, good to a thousandth (the width of a histogram's bucket).
    Value(Nanos),
    /// A lower bound: requests that did not end in time are needed to reach its rank.
    AtLeast(Nanos),
    /// The sample is too small for it.
    TooFew {
        /// How many there are.
        n: u64,
        /// How many it takes.
        needed: u64,
    },
}

/// Fewest samples from which quantile `q` (0 to below 1) is published.
pub fn samples_needed(q: f64) -> u64 {
    // Lowered by one part in 10^9, because 100 / (1 - 0.9) is a little over 1,000 in binary.
    (SAMPLES_ABOVE as f64 / (1.0 - q) * (1.0 - 1e-9)).ceil() as u64
}

/// Times of requests: exact times and lower bounds, kept separately.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    all: Histogram,
    bounds: Histogram,
}

impl Distribution {
    /// Response times (done - due) of every outcome.
    pub fn response(tally: &EndpointTally) -> Self {
        Self::of_all(tally, |outcome| &outcome.response)
    }

    /// Service times (done - sent) of every outcome; requests never sent have none.
    pub fn service(tally: &EndpointTally) -> Self {
        Self::of_all(tally, |outcome| &outcome.service)
    }

    /// Response times of the requests that ended in `Ok`.
    pub fn response_ok(tally: &EndpointTally) -> Self {
        Self::exact(&tally.outcomes[Outcome::Ok as usize].response)
    }

    /// Service times of the requests that ended in `Ok`.
    pub fn service_ok(tally: &EndpointTally) -> Self {
        Self::exact(&tally.outcomes[Outcome::Ok as usize].service)
    }

    /// Lags (sent - due) of every request that was sent.
    pub fn lag(tally: &EndpointTally) -> Self {
        Self::exact(&tally.send_delay)
    }

    /// Times until the first event; lower bounds of those that waited for it in vain.
    pub fn first_event(tally: &EndpointTally) -> Self {
        let [first, without] = [Phase::FirstEvent, Phase::NoEvent].map(|phase| &tally.phases[phase as usize]);
        let (mut all, mut bounds) = (first.clone(), without.clone());
        if all.count() + bounds.count() > 0 {
            // Those that were never sent waited for it too.
            bounds.merge(&tally.outcomes[Outcome::Unsent as usize].response);
        }
        all.merge(&bounds);
        Self { all, bounds }
    }

    /// Times that are all known exactly, such as those of a phase.
    pub fn exact(histogram: &Histogram) -> Self {
        Self { all: histogram.clone(), bounds: Histogram::new() }
    }

    fn of_all(tally: &EndpointTally, time: impl Fn(&OutcomeTally) -> &Histogram) -> Self {
        let mut distribution = Self::default();
        for (is_lower_bound, outcome) in tally.outcomes() {
            distribution.all.merge(time(outcome));
            if is_lower_bound {
                distribution.bounds.merge(time(outcome));
            }
        }
        distribution
    }

    /// All times, including lower bounds.
    pub const fn all(&self) -> &Histogram {
        &self.all
    }

    /// The lower bounds.
    pub const fn bounds(&self) -> &Histogram {
        &self.bounds
    }

    /// How many times there are, of either kind.
    pub const fn n(&self) -> u64 {
        self.all.count()
    }

    /// The quantile `q` (0 to below 1) by nearest rank.
    ///
    /// A request that was given up after `t` would have taken `t` or more, so the missing times can only move the
    /// quantile up: the value found is a lower bound. It is exact if the number of exact times at or below it reaches
    /// its rank: the true values of the missing times then do not matter.
    pub fn quantile(&self, q: f64) -> Quantile {
        let (n, needed) = (self.n(), samples_needed(q));
        let Some(value) = self.all.quantile(q).filter(|_| n >= needed) else {
            return Quantile::TooFew { n, needed };
        };
        let bounds = self.bounds.count_at_or_below(value);
        let exact = self.all.count_at_or_below(value).saturating_sub(bounds);
        if bounds > 0 && value > HIGHEST {
            // Of times over an hour only their number is kept.
            return Quantile::AtLeast(HIGHEST);
        }
        if exact >= rank(q, n) {
            return Quantile::Value(value);
        }
        // The value stands for its bucket; only the bucket's lower end is certain.
        let bucket = self.all.iter().find(|(_, highest, _)| *highest >= value);
        let least = bucket.map_or(value, |(lowest, _, _)| lowest);
        Quantile::AtLeast(least.max(self.all.min().unwrap_or_default()).min(value))
    }

    /// All figures that a report shows.
    pub fn summary(&self) -> Summary {
        Summary {
            n: self.n(),
            bounds: self.bounds.count(),
            mean: self.all.mean().map(|nanos| Nanos(nanos.round() as u64)),
            min: self.all.min(),
            max: self.all.max(),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p99_9: self.quantile(0.999),
        }
    }
}

/// A distribution in the figures that a report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many times there are.
    pub n: u64,
    /// How many of them are lower bounds. If any, `mean` and `max` are lower bounds too.
    pub bounds: u64,
    /// Exact mean, rounded to a nanosecond; `None` without any.
    pub mean: Option<Nanos>,
    /// Exact least.
    pub min: Option<Nanos>,
    /// Exact greatest.
    pub max: Option<Nanos>,
    /// The median.
    pub p50: Quantile,
    /// The 90th percentile.
    pub p90: Quantile,
    /// The 95th percentile.
    pub p95: Quantile,
    /// The 99th percentile.
    pub p99: Quantile,
    /// The 99.9th percentile.
    pub p99_9: Quantile,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` requests answered in 1, 2, 3, … us.
    fn answered(n: u64) -> EndpointTally {
        let mut tally = EndpointTally { planned: n, ..EndpointTally::default() };
        let ok = &mut tally.outcomes[Outcome::Ok as usize];
        (1..=n).for_each(|micros| ok.response.record(Nanos::from_micros(micros)));
        tally
    }

    fn bound(tally: &mut EndpointTally, outcome: Outcome, at: Nanos, times: u64) {
        tally.outcomes[outcome as usize].response.record_many(at, times);
    }

    #[test]
    fn a_quantile_needs_a_hundred_samples_above_it() {
        let table = [(0.5, 200), (0.9, 1_000), (0.95, 2_000), (0.99, 10_000), (0.999, 100_000)];
        for (q, needed) in table {
            assert_eq!(samples_needed(q), needed);
            let few = Distribution::response(&answered(needed - 1)).quantile(q);
            assert_eq!(few, Quantile::TooFew { n: needed - 1, needed });
            let enough = Distribution::response(&answered(needed)).quantile(q);
            assert!(matches!(enough, Quantile::Value(_)), "{q}: {enough:?}");
        }
    }

    #[test]
    fn requests_given_up_above_a_quantile_leave_it_exact() {
        let mut tally = answered(9_800);
        bound(&mut tally, Outcome::Timeout, Nanos::from_millis(100), 200);
        let response = Distribution::response(&tally);
        // 5,000th and 9,500th of 10,000; buckets are 4 and 8 us wide there.
        let Quantile::Value(p50) = response.quantile(0.5) else { panic!() };
        let Quantile::Value(p95) = response.quantile(0.95) else { panic!() };
        assert!(p50 >= Nanos::from_micros(5_000) && p50 < Nanos::from_micros(5_005));
        assert!(p95 >= Nanos::from_micros(9_500) && p95 < Nanos::from_micros(9_510));
    }

    #[test]
    fn a_quantile_among_requests_given_up_is_at_least_their_time() {
        let mut tally = answered(9_800);
        bound(&mut tally, Outcome::Timeout, Nanos::from_millis(100), 200);
        // The lower end of the bucket of 100 ms.
        assert_eq!(Distribution::response(&tally).quantile(0.99), Quantile::AtLeast(Nanos(99_942_400)));
    }

    #[test]
    fn a_request_of_unknown_age_leaves_a_quantile_exact_that_is_reached_without_it() {
        // All the same, and one given up at once: the 101st of 201 is 1 ms wherever that one lies.
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record_many(Nanos::from_millis(1), 200);
        bound(&mut tally, Outcome::Censored, Nanos::ZERO, 1);
        assert_eq!(Distribution::response(&tally).quantile(0.5), Quantile::Value(Nanos::from_millis(1)));
    }

    #[test]
    fn a_request_of_unknown_age_makes_a_quantile_a_bound_that_is_not_reached_without_it() {
        // 100, 101, … ns have buckets of their own: the 101st of 201 is 199 ns if the one given up
        // at once was fast, and 200 ns if not.
        let mut tally = EndpointTally::default();
        (100..300).for_each(|nanos| tally.outcomes[Outcome::Ok as usize].response.record(Nanos(nanos)));
        bound(&mut tally, Outcome::Censored, Nanos::ZERO, 1);
        assert_eq!(Distribution::response(&tally).quantile(0.5), Quantile::AtLeast(Nanos(199)));
        assert!(matches!(Distribution::response_ok(&tally).quantile(0.5), Quantile::Value(_)));
    }

    #[test]
    fn a_quantile_among_requests_given_up_after_an_hour_is_at_least_an_hour() {
        let mut tally = EndpointTally::default();
        bound(&mut tally, Outcome::Censored, Nanos::from_secs(9_000), 200);
        assert_eq!(Distribution::response(&tally).quantile(0.5), Quantile::AtLeast(HIGHEST));
    }

    #[test]
    fn a_bound_never_claims_more_than_the_least_possible_value() {
        // All given up at 1,000,000 ns, whose bucket reaches to 1,000,447 ns.
        let mut tally = EndpointTally::default();
        bound(&mut tally, Outcome::Timeout, Nanos(1_000_000), 200);
        bound(&mut tally, Outcome::Timeout, Nanos(1_000_400), 200);
        let Quantile::AtLeast(least) = Distribution::response(&tally).quantile(0.5) else { panic!() };
        assert_eq!(least, Nanos(1_000_000));
    }

    #[test]
    fn a_fast_failure_is_in_the_distribution_and_not_in_that_of_the_ok_ones() {
        let mut tally = answered(9_000);
        tally.outcomes[Outcome::HttpError as usize].response.record_many(Nanos(1), 1_000);
        assert_eq!(Distribution::response(&tally).summary().min, Some(Nanos(1)));
        assert_eq!(Distribution::response_ok(&tally).summary().min, Some(Nanos(1_000)));
        assert_eq!(Distribution::response_ok(&tally).n(), 9_000);
    }

    #[test]
    fn a_summary_has_exact_ends_and_mean_and_counts_its_bounds() {
        let mut tally = answered(999);
        bound(&mut tally, Outcome::Unsent, Nanos::from_millis(5), 1);
        let summary = Distribution::response(&tally).summary();
        assert_eq!((summary.n, summary.bounds), (1_000, 1));
        assert_eq!((summary.min, summary.max), (Some(Nanos::from_micros(1)), Some(Nanos::from_millis(5))));
        // (1 + … + 999 + 5,000) / 1,000 us.
        assert_eq!(summary.mean, Some(Nanos(504_500)));
        assert_eq!(summary.p99, Quantile::TooFew { n: 1_000, needed: 10_000 });
    }

    #[test]
    fn nothing_has_no_figures() {
        let summary = Distribution::lag(&EndpointTally::default()).summary();
        assert_eq!((summary.n, summary.mean, summary.min, summary.max), (0, None, None, None));
        assert_eq!(summary.p50, Quantile::TooFew { n: 0, needed: 200 });
    }
}
