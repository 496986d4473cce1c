//! Requests that were sent late because of the generator.

use super::super::{Diagnostics, Validity};
use super::bent::Bent;
use super::rated::Rated;

/// A generator whose busiest thread used less of its CPU at most was late because of others.
const OWN_WORK: f64 = 0.5;

/// What was found.
pub(super) struct Evidence {
    bent: Bent,
    /// Whether knee itself had time to spare.
    idle: bool,
}

/// Whether the rule warns of these figures.
pub(in super::super) fn warns(diagnostics: &Diagnostics) -> bool {
    Evidence::find(diagnostics).is_some()
}

impl Rated for Evidence {
    const CODE: &'static str = "lag";
    const LOOKS_AT: &'static str = "generator lag as a share of response time, compared at p50, p90 and p99";
    const SUSPECT: &'static str = "over 10 % at p50 or over 25 % at p99, and over 1 ms";
    const INVALID: &'static str = "over 25 % at p50 or at p90, and over 1 ms";
    const SOURCE: &'static str = "Response time contains the lag, so the limits are shares of the response time. A lag below 1 ms does not count, because even an idle machine can wake a thread up to 1 ms late.";
    const CAUSE: &'static str = "When requests were scheduled, the load generator had too little CPU, or it was paused. Response times contain the delay. Service times do not.";
    const REMEDY: &'static str = "If a thread of knee used most of a CPU, give knee more CPU, use more workers, or lower the arrival rate. If not, other programs or the host of a virtual machine kept knee from its CPU: stop them, or use another machine. Service times do not contain the lag.";
    const HINT: &'static str = "give knee more CPU, or lower the arrival rate";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let slack = diagnostics.generator.timer_slack;
        let bent = Bent::find(diagnostics.generator.lag?, diagnostics.requests.response?, slack)?;
        let idle = diagnostics.generator.worker_cpu_max.is_some_and(|cpu| cpu < OWN_WORK);
        Some(Self { bent, idle })
    }

    fn validity(&self) -> Option<Validity> {
        Some(self.bent.validity)
    }

    fn message(&self) -> String {
        format!("generator lag {}", self.bent)
    }

    fn hint(&self) -> &'static str {
        if self.idle { "stop other programs on this machine, or use another one" } else { Self::HINT }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed, message, micros};
    use crate::validity::Validity;

    /// The rating of a lag of so many us at 50, 90 and 99 %, at given response times.
    fn rated(lag: [u64; 3], response: [u64; 3]) -> Option<Validity> {
        let four = |[p50, p90, p99]: [u64; 3]| micros([p50, p90, p99, p99]);
        changed("lag", |d| (d.generator.lag, d.requests.response) = (Some(four(lag)), Some(four(response))))
    }

    #[test]
    fn a_lag_up_to_a_millisecond_is_allowed_on_the_fastest_server() {
        assert_eq!(rated([900, 1_000, 1_000], [50, 1_000, 1_100]), None);
        assert_eq!(rated([900, 1_000, 1_001], [50, 1_000, 1_100]), SUSPECT);
    }

    #[test]
    fn a_lag_counts_by_its_share_of_the_quantile_that_it_is_part_of() {
        let response = [20_000, 30_000, 40_000];
        assert_eq!(rated([0, 0, 10_000], response), None);
        assert_eq!(rated([0, 0, 10_001], response), SUSPECT);
        assert_eq!(rated([2_000, 2_000, 2_000], response), None);
        assert_eq!(rated([2_001, 2_001, 2_001], response), SUSPECT);
        assert_eq!(rated([0, 7_500, 10_000], response), None);
        assert_eq!(rated([0, 7_501, 10_000], response), INVALID);
        assert_eq!(rated([5_001, 5_001, 5_001], response), INVALID);
    }

    #[test]
    fn a_lag_that_is_a_small_part_of_slow_responses_is_nothing() {
        assert_eq!(rated([0, 0, 150_000], [5_000_000, 8_000_000, 9_000_000]), None);
    }

    #[test]
    fn a_timer_that_is_late_by_construction_is_no_fault_of_the_run() {
        let late = |slack| {
            changed("lag", move |d| {
                d.generator.lag = Some(micros([1_100, 1_500, 2_000, 3_000]));
                d.requests.response = Some(micros([1_300, 1_700, 2_300, 4_000]));
                d.generator.timer_slack = crate::unit::Nanos::from_millis(slack);
            })
        };
        assert_eq!(late(0), INVALID);
        assert_eq!(late(2), None);
    }

    #[test]
    fn a_generator_with_cpu_to_spare_is_not_asked_to_lower_its_rate() {
        let hint = |cpu| {
            let mut d = crate::validity::rule::testing::healthy();
            d.generator.lag = Some(micros([10, 30, 12_000, 90_000]));
            d.generator.worker_cpu_max = cpu;
            let rule = super::super::RULES.iter().find(|rule| rule.code == "lag").unwrap();
            rule.check(&d).unwrap().hint
        };
        assert!(hint(Some(0.9)).contains("lower the arrival rate"));
        assert!(hint(None).contains("lower the arrival rate"));
        assert!(!hint(Some(0.1)).contains("rate"));
    }

    #[test]
    fn the_message_says_which_quantile_is_bent_and_by_how_much() {
        let told = message("lag", |d| d.generator.lag = Some(micros([10, 30, 12_000, 90_000])));
        assert_eq!(told, "generator lag p99 12.0 ms of 40.0 ms, limit 25 %");
    }
}
