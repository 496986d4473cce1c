//! One kind of time of one set of requests, summed up in the eight figures every table shows.
//!
//! Does not know which kind of time it is, and does not choose a unit.

use knee_core::estimate::{Distribution, Summary};
use knee_core::unit::Nanos;

use super::reading::Reading;

/// The percentiles of every table, by name.
pub const PERCENTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

/// Mean, least, greatest and percentiles of a set of times.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSummary {
    /// How many times were measured.
    pub count: u64,
    /// How many of them are lower bounds.
    pub bounds: u64,
    /// The exact mean.
    pub mean: Reading,
    /// The least.
    pub min: Reading,
    /// In the order of [`PERCENTILES`].
    pub percentiles: [Reading; 5],
    /// The greatest.
    pub max: Reading,
}

impl TimeSummary {
    /// Sums up a distribution. `least_bound` is the least of its lower bounds: if no time is less, the least time is
    /// itself a lower bound.
    pub fn of(distribution: &Distribution, least_bound: Option<Nanos>) -> Self {
        let Summary { n, bounds, mean, min, max, p50, p90, p95, p99, p99_9 } = distribution.summary();
        Self {
            count: n,
            bounds,
            mean: Reading::new(mean, bounds > 0),
            min: Reading::new(min, bounds > 0 && least_bound == min),
            percentiles: [p50, p90, p95, p99, p99_9].map(Reading::from),
            max: Reading::new(max, bounds > 0),
        }
    }

    /// Sums up times of which none is a lower bound.
    pub fn exact(distribution: &Distribution) -> Self {
        Self::of(distribution, None)
    }

    /// All figures with their names, in the order of a table.
    pub fn rows(&self) -> [(&'static str, Reading); 8] {
        let p = |position: usize| (PERCENTILES[position], self.percentiles[position]);
        [("mean", self.mean), ("min", self.min), p(0), p(1), p(2), p(3), p(4), ("max", self.max)]
    }

    /// The median, or the mean if the sample does not support a median: a typical time in nanoseconds for choosing a
    /// unit. Zero without any.
    pub fn typical(&self) -> f64 {
        self.percentiles[0].nanos().or(self.mean.nanos()).unwrap_or(0.0)
    }

    /// The percentile called `name`.
    pub fn percentile(&self, name: &str) -> Reading {
        let position = PERCENTILES.iter().position(|known| *known == name);
        position.map_or(Reading::Nothing, |position| self.percentiles[position])
    }
}

#[cfg(test)]
mod tests {
    use knee_core::outcome::Outcome;
    use knee_core::tally::EndpointTally;

    use super::*;

    #[test]
    fn a_request_that_was_given_up_makes_mean_and_maximum_lower_bounds() {
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record(Nanos(1_000));
        tally.outcomes[Outcome::Timeout as usize].response.record(Nanos(3_000));
        let times = TimeSummary::of(&Distribution::response(&tally), Some(Nanos(3_000)));
        assert_eq!(times.mean, Reading::AtLeast(Nanos(2_000)));
        assert_eq!(times.min, Reading::Exactly(Nanos(1_000)));
        assert_eq!(times.max, Reading::AtLeast(Nanos(3_000)));
        assert_eq!(times.percentile("p50"), Reading::TooFew { needed: 200 });
    }

    #[test]
    fn the_least_time_is_a_lower_bound_if_a_request_that_was_given_up_has_it() {
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record(Nanos(5_000));
        tally.outcomes[Outcome::Censored as usize].response.record(Nanos(3_000));
        let times = TimeSummary::of(&Distribution::response(&tally), Some(Nanos(3_000)));
        assert_eq!(times.min, Reading::AtLeast(Nanos(3_000)));
    }

    #[test]
    fn nothing_measured_is_nothing_shown() {
        let times = TimeSummary::exact(&Distribution::default());
        assert!(times.rows().iter().all(|(_, reading)| *reading == Reading::Nothing));
    }
}
