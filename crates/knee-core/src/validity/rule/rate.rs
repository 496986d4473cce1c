//! Whether an open load was applied as planned, and the cause if not.

use super::super::diagnostics::Quantiles;
use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// Share of the planned requests that must have been sent in time.
const SUSPECT: f64 = 0.995;

/// Below this share, the load that the generator could send is not the planned load.
const INVALID: f64 = 0.98;

/// Arrivals of this time, in seconds, can wait when the steady part ends: that is a moment, not an overload.
const MOMENT: f64 = 0.05;

/// Share of the intervals with a saturated worker above which the generator is the bottleneck.
const SATURATED: f64 = 0.5;

/// Share of the generator's delay in the median service time above which the generator is the bottleneck.
const SLOWED: f64 = 0.25;

/// Shorter delays do not count.
const FLOOR: Nanos = Nanos::from_millis(1);

/// What was found.
pub(super) struct Evidence {
    sent_share: f64,
    due_per_s: f64,
    taken_per_s: f64,
    /// Unsent requests, in seconds of arrivals.
    behind_s: f64,
    vus: u64,
    exhausted: bool,
}

impl Rated for Evidence {
    const CODE: &'static str = "rate";
    const LOOKS_AT: &'static str = "open load: share of the scheduled requests that were sent in time";
    const SUSPECT: &'static str = "under 99.5 %, and more requests are unsent than are scheduled in 50 ms";
    const INVALID: &'static str = "under 98 %, if the generator was the bottleneck";
    const SOURCE: &'static str = "At the start and at the end of the measurement, a few requests can count as unsent by chance. They are less than 0.5 % of all requests.";
    const CAUSE: &'static str = "The server is overloaded: requests are scheduled faster than the server answers them, and every connection or VU is busy. The throughput that the server reaches is a true result. Response times contain a growing queue, so they depend on the length of the run.";
    const REMEDY: &'static str = "Lower the arrival rate, or use the throughput that the server reached as its limit. If service times did not grow, the number of connections is the limit: use more connections. If the message says that knee was the cause, give knee more CPU.";
    const HINT: &'static str = "lower the arrival rate, or use more connections";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let load = &diagnostics.load;
        let (sent_share, due_per_s) = (load.sent_share?, load.due_per_s?);
        let seconds = diagnostics.generator.measured.as_secs_f64();
        Some(Self {
            sent_share,
            due_per_s,
            taken_per_s: load.taken_per_s.filter(|taken| *taken > 0.0)?,
            behind_s: (1.0 - sent_share) * seconds,
            vus: load.vus_max,
            exhausted: is_exhausted(diagnostics),
        })
    }

    fn validity(&self) -> Option<Validity> {
        if self.sent_share >= SUSPECT || self.behind_s <= MOMENT {
            return None;
        }
        let invalid = self.exhausted && self.sent_share < INVALID;
        Some(if invalid { Validity::Invalid } else { Validity::Suspect })
    }

    fn message(&self) -> String {
        let (taken, due) = (count(self.taken_per_s.round() as u64), count(self.due_per_s.round() as u64));
        if self.exhausted {
            return format!("knee could send only {taken} of {due} requests/s");
        }
        let vus = count(self.vus);
        format!("overloaded: the server took {taken} of {due} requests/s on {vus} connections")
    }
}

/// Whether the load generator is the bottleneck: it has no CPU left, or reads so late that connections stay busy.
fn is_exhausted(diagnostics: &Diagnostics) -> bool {
    let generator = &diagnostics.generator;
    let slowed = |(lag, service): (Quantiles, Quantiles)| {
        lag.p50 > FLOOR.saturating_add(generator.timer_slack)
            && lag.p50.0 as f64 > SLOWED * service.p50.0 as f64
    };
    generator.worker_cpu_saturated.is_some_and(|share| share > SATURATED)
        || generator.loop_lag.zip(diagnostics.requests.service).is_some_and(slowed)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed, message, micros};
    use crate::unit::Nanos;
    use crate::validity::{Diagnostics, Validity};

    /// A server that takes a quarter of the rate for 3 s.
    fn overload(d: &mut Diagnostics) {
        d.generator.measured = Nanos::from_secs(3);
        (d.load.sent_share, d.load.due_per_s, d.load.taken_per_s) =
            (Some(0.2542), Some(20_000.0), Some(5_018.0));
        d.load.vus_max = 50;
        d.requests.response = Some(micros([2_570_000, 3_000_000, 3_100_000, 3_200_000]));
    }

    #[test]
    fn a_rate_that_the_server_does_not_take_is_called_overload_and_not_blamed_on_the_generator() {
        assert_eq!(changed("rate", overload), SUSPECT);
        let told = "overloaded: the server took 5,018 of 20,000 requests/s on 50 connections";
        assert_eq!(message("rate", overload), told);
        let waits = |d: &mut Diagnostics| {
            overload(d);
            (d.generator.run_delay, d.generator.loop_lag) = (Some(0.12), Some(micros([40, 80, 900, 2_000])));
        };
        assert_eq!(message("rate", waits), told, "waits below 1 ms explain no response of 2.57 s");
        assert_eq!(changed("run_delay", waits), None);
    }

    #[test]
    fn what_waits_at_the_end_of_a_second_is_a_moment_and_no_overload() {
        let second = |share: f64| {
            changed("rate", move |d| {
                (d.generator.measured, d.load.sent_share) = (Nanos::from_secs(1), Some(share));
            })
        };
        assert_eq!(second(0.96), None);
        assert_eq!(second(0.94), SUSPECT);
        let minute = |share: f64| changed("rate", move |d| d.load.sent_share = Some(share));
        assert_eq!((minute(0.995), minute(0.994), minute(0.5)), (None, SUSPECT, SUSPECT));
    }

    #[test]
    fn a_rate_that_knee_could_not_send_is_invalid_below_98_percent() {
        let exhausted = |share: f64| -> Option<Validity> {
            changed("rate", move |d| {
                (d.generator.worker_cpu_saturated, d.load.sent_share) = (Some(0.6), Some(share));
            })
        };
        assert_eq!(exhausted(0.995), None);
        assert_eq!(exhausted(0.98), SUSPECT);
        assert_eq!(exhausted(0.979), INVALID);
        let slow_reader = |d: &mut Diagnostics| {
            (d.load.sent_share, d.generator.loop_lag) =
                (Some(0.9), Some(micros([6_000, 8_000, 9_000, 9_000])));
        };
        assert_eq!(changed("rate", slow_reader), INVALID);
        assert!(message("rate", slow_reader).starts_with("knee could send only"));
    }

    #[test]
    fn a_script_that_sent_nothing_gets_no_advice_about_a_server() {
        assert_eq!(
            changed("rate", |d| (d.load.sent_share, d.load.taken_per_s) = (Some(0.0), Some(0.0))),
            None
        );
    }
}
