//! The load generator stood still: stopped, swapped out, or starved.

use super::super::figure::percent;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};
use crate::unit::Nanos;

/// Shares of the measured time. The highest reported percentile, p99.9, shows a thousandth.
const SUSPECT: f64 = 0.001;
const INVALID: f64 = 0.05;

/// Shorter pauses are 5 % only of a run of a few seconds, and leave a quarter of its requests untouched.
const INVALID_MIN: Nanos = Nanos::from_millis(500);

/// An interval that ends this late shows a pause by itself.
const LATE_INTERVAL: Nanos = Nanos::from_millis(100);

/// What was found.
pub(super) struct Evidence {
    paused: Nanos,
    measured: Nanos,
}

impl Rated for Evidence {
    const CODE: &'static str = "stall";
    const LOOKS_AT: &'static str =
        "pauses of all workers for 100 ms or longer, as a share of the measured time";
    const SUSPECT: &'static str = "0.1 %";
    const INVALID: &'static str = "5 %, and 500 ms in total";
    const SOURCE: &'static str =
        "Pauses in 0.1 % of the time can already change p99.9, the highest percentile in reports.";
    const CAUSE: &'static str = "The process was stopped (Ctrl-Z, a debugger), swapped out or throttled, or the whole machine was paused. During the pause, knee sent no request and read no response. Requests that were open then seem slower than they were, and rates are too low.";
    const REMEDY: &'static str = "Measure again. If pauses happen often, look for too little memory, a CPU limit, or snapshots that pause the virtual machine.";
    const HINT: &'static str = "measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let generator = &diagnostics.generator;
        let late = if generator.stall > LATE_INTERVAL { generator.stall } else { Nanos::ZERO };
        let paused = generator.paused.max(late);
        Some(Self { paused, measured: generator.measured.max(paused) })
    }

    fn validity(&self) -> Option<Validity> {
        let share = self.share();
        let invalid = if self.paused > INVALID_MIN { INVALID } else { f64::INFINITY };
        above(share, SUSPECT, invalid)
    }

    fn message(&self) -> String {
        format!("knee was paused for {}, {} of the measured time", self.paused, percent(self.share()))
    }
}

impl Evidence {
    fn share(&self) -> f64 {
        self.paused.0 as f64 / self.measured.0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed, message};
    use crate::unit::Nanos;

    #[test]
    fn a_pause_counts_by_its_share_of_the_measured_time() {
        let paused = |millis: u64| changed("stall", move |d| d.generator.paused = Nanos::from_millis(millis));
        assert_eq!(paused(60), None);
        assert_eq!(paused(300), SUSPECT);
        assert_eq!(paused(3_000), SUSPECT);
        assert_eq!(paused(3_001), INVALID);
    }

    #[test]
    fn one_pause_of_a_tenth_of_a_second_is_nothing_in_eight_hours_and_much_in_a_second() {
        let in_run = |seconds: u64, millis: u64| {
            changed("stall", move |d| {
                d.generator.measured = Nanos::from_secs(seconds);
                d.generator.paused = Nanos::from_millis(millis);
            })
        };
        assert_eq!(in_run(28_800, 100), None);
        assert_eq!(in_run(1, 100), SUSPECT);
        assert_eq!(in_run(1, 900), INVALID);
    }

    #[test]
    fn an_interval_that_ends_late_shows_a_pause_in_records_without_loop_lag() {
        assert_eq!(changed("stall", |d| d.generator.stall = Nanos::from_millis(100)), None);
        assert_eq!(changed("stall", |d| d.generator.stall = Nanos::from_millis(101)), SUSPECT);
    }

    #[test]
    fn the_message_has_the_pause_and_its_share() {
        let told = message("stall", |d| d.generator.paused = Nanos::from_millis(600));
        assert_eq!(told, "knee was paused for 600 ms, 1.0 % of the measured time");
    }
}
