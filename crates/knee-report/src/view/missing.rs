//! The percentiles for which a run is too short, and the duration that they need.
//!
//! [`knee_core::estimate`] decides what a sample supports.

use knee_core::unit::Nanos;

use super::reading::Reading;
use super::time_summary::{PERCENTILES, TimeSummary};

/// A percentile of the response time for which a run has too few requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingPercentile {
    /// Its name: `p99`.
    pub name: &'static str,
    /// How many requests it needs.
    pub requests: u64,
    /// How long they take at the rate of this run, in whole seconds rounded up where it is a second or more; `None`
    /// if the run has no rate.
    pub duration: Option<Nanos>,
}

impl MissingPercentile {
    /// Those of `times`, measured within `window`; none if nothing was measured.
    pub fn all(times: &TimeSummary, window: Nanos) -> Vec<Self> {
        let rate = times.count as f64 / window.as_secs_f64();
        let duration = |requests: u64| rate.is_finite().then(|| whole(requests as f64 / rate));
        let missing = PERCENTILES.iter().zip(times.percentiles).filter_map(|(name, reading)| match reading {
            Reading::TooFew { needed } => Some(Self { name, requests: needed, duration: duration(needed) }),
            _ => None,
        });
        missing.collect()
    }
}

fn whole(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(if seconds < 1.0 { seconds } else { seconds.ceil() })
}

#[cfg(test)]
mod tests {
    use knee_core::estimate::Distribution;
    use knee_core::outcome::Outcome;
    use knee_core::tally::EndpointTally;

    use super::*;

    fn times(count: u64) -> TimeSummary {
        let mut tally = EndpointTally::default();
        tally.outcomes[Outcome::Ok as usize].response.record_many(Nanos::from_millis(5), count);
        TimeSummary::exact(&Distribution::response(&tally))
    }

    #[test]
    fn each_missing_percentile_has_its_requests_and_its_time_at_the_rate_of_the_run() {
        let missing = MissingPercentile::all(&times(240), Nanos::from_secs(8));
        let expected =
            [("p90", 1_000, 34), ("p95", 2_000, 67), ("p99", 10_000, 334), ("p99.9", 100_000, 3_334)];
        let expected = expected.map(|(name, requests, seconds)| MissingPercentile {
            name,
            requests,
            duration: Some(Nanos::from_secs(seconds)),
        });
        assert_eq!(missing, expected);
    }

    #[test]
    fn a_run_without_a_rate_has_numbers_alone_and_a_run_without_requests_has_none() {
        let missing = MissingPercentile::all(&times(240), Nanos::ZERO);
        assert!(missing.iter().all(|one| one.duration.is_none()) && missing.len() == 4);
        assert_eq!(MissingPercentile::all(&times(0), Nanos::from_secs(8)), []);
        assert_eq!(MissingPercentile::all(&times(100_000), Nanos::from_secs(8)), []);
    }
}
