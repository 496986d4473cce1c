//! Many percentiles of a run's times, for a picture of the whole distribution.
//!
//! The percentiles get closer to 100 % in equal ratios of the requests above them, and end where the sample supports
//! no more. Does not draw.

use knee_core::estimate::Distribution;
use knee_core::tally::EndpointTally;

use super::reading::Reading;

/// Percentiles by the kind of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Response time over all outcomes.
    pub response: Vec<Percentile>,
    /// Response time of OK responses; empty if all responses were ok.
    pub response_ok: Vec<Percentile>,
    /// Service time over all requests that were sent.
    pub service: Vec<Percentile>,
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// The share of requests at or below it, 0 to below 1.
    pub share: f64,
    /// The time; always one that the sample supports.
    pub reading: Reading,
}

/// How many percentiles halve the share of the requests above.
const STEPS: i32 = 4;
/// The last of them: 4 requests of a million are above it.
const LAST: i32 = 18 * STEPS;
/// Percentiles that people name, which the steps miss.
const NAMED: [f64; 6] = [0.9, 0.95, 0.99, 0.999, 0.999_9, 0.999_99];

impl Spectrum {
    /// The percentiles of a tally, whose response times are `response`.
    pub fn of(tally: &EndpointTally, response: &Distribution) -> Self {
        let ok = Distribution::response_ok(tally);
        let all_ok = ok.n() == response.n();
        Self {
            response: percentiles(response),
            response_ok: if all_ok { Vec::new() } else { percentiles(&ok) },
            service: percentiles(&Distribution::service(tally)),
        }
    }
}

/// All percentiles that the sample supports, ascending.
fn percentiles(times: &Distribution) -> Vec<Percentile> {
    let steps = (0..=LAST).map(|step| 1.0 - 0.5_f64.powf(f64::from(step) / f64::from(STEPS)));
    let mut shares: Vec<f64> = steps.chain(NAMED).collect();
    shares.sort_by(f64::total_cmp);
    let percentiles =
        shares.into_iter().map(|share| Percentile { share, reading: times.quantile(share).into() });
    percentiles.take_while(|percentile| percentile.reading.time().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use knee_core::outcome::Outcome;
    use knee_core::unit::Nanos;

    use super::*;

    /// Times of 1 to `count` microseconds.
    fn tally(count: u64) -> EndpointTally {
        let mut tally = EndpointTally::default();
        let ok = &mut tally.outcomes[Outcome::Ok as usize];
        (1..=count).for_each(|time| ok.response.record(Nanos::from_micros(time)));
        tally
    }

    #[test]
    fn a_spectrum_ends_where_fewer_than_a_hundred_requests_are_above() {
        let tally = tally(100_000);
        let found = percentiles(&Distribution::response(&tally));
        let last = found.last().unwrap().share;
        assert!((0.998..=0.999).contains(&last), "{last}");
        assert!(found.windows(2).all(|pair| pair[0].reading.nanos() <= pair[1].reading.nanos()));
        let p99 = found.iter().find(|one| (one.share - 0.99).abs() < 1e-12).unwrap();
        let millis = p99.reading.nanos().unwrap() / 1e6;
        assert!((98.9..99.1).contains(&millis), "{millis}");
    }

    #[test]
    fn a_run_that_is_too_small_for_a_median_has_a_short_spectrum_and_none_has_none() {
        let small = tally(150);
        assert!(percentiles(&Distribution::response(&small)).iter().all(|one| one.share < 0.5));
        assert_eq!(percentiles(&Distribution::default()), []);
    }

    #[test]
    fn ok_responses_have_percentiles_of_their_own_only_if_others_failed() {
        let mut tally = tally(1_000);
        let of = |tally: &EndpointTally| Spectrum::of(tally, &Distribution::response(tally));
        assert!(of(&tally).response_ok.is_empty());
        tally.outcomes[Outcome::Timeout as usize].response.record(Nanos::from_secs(2));
        let spectrum = of(&tally);
        assert!(!spectrum.response_ok.is_empty());
        assert!(spectrum.response_ok.iter().all(|one| !one.reading.is_lower_bound()));
    }
}
