//! Waits for a CPU that make times longer.

use super::super::{Diagnostics, Validity};
use super::bent::Bent;
use super::rated::Rated;

/// Shorter waits do not explain a loop lag.
const MIN: f64 = 0.01;

/// What was found.
pub(super) struct Evidence {
    bent: Bent,
}

impl Rated for Evidence {
    const CODE: &'static str = "run_delay";
    const LOOKS_AT: &'static str = "loop lag as a share of service time, compared at p50, p90 and p99. The rule applies if workers waited for a CPU during over 1 % of the run";
    const SUSPECT: &'static str = "over 10 % at p50 or over 25 % at p99, and over 1 ms";
    const INVALID: &'static str = "over 25 % at p50 or at p90, and over 1 ms. Exception: with a closed load on a target on this machine, the result is suspect above these limits, and valid below them";
    const SOURCE: &'static str = "Service times contain the wait for a CPU, so the limits are shares of the service time. The total duration of these waits would not show how much longer requests took.";
    const CAUSE: &'static str = "Other programs use the CPUs that the load generator needs. The generator then sends requests late and reads responses late, and the server seems slow. A target on the same machine shares the CPUs with the generator, so the result describes both together.";
    const REMEDY: &'static str = "Stop other programs on this machine, or load the target from another machine. You can also use fewer workers than there are cores, or assign CPUs to each program (`taskset`, `generator.cpus` in a study). As root, `chrt -f 2 knee ...` gives knee priority. The service then waits for a CPU instead.";
    const HINT: &'static str = "stop other programs, or use another machine";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let generator = &diagnostics.generator;
        generator.run_delay.filter(|share| *share > MIN)?;
        Bent::by_loop_lag(diagnostics).map(|bent| Self { bent })
    }

    fn validity(&self) -> Option<Validity> {
        Some(self.bent.validity)
    }

    fn message(&self) -> String {
        format!("CPU waits delayed reading of responses: {}", self.bent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed, message, micros};
    use crate::validity::Diagnostics;

    /// A run in which a worker waited for a CPU for `share` of the time, and noticed what was ready so late (us at 50,
    /// 90, 99 %), with service times in us.
    fn waits(share: f64, late: [u64; 3], service: [u64; 3]) -> impl Fn(&mut Diagnostics) {
        let four = |[p50, p90, p99]: [u64; 3]| micros([p50, p90, p99, p99]);
        move |d| {
            d.generator.run_delay = Some(share);
            (d.generator.loop_lag, d.requests.service) = (Some(four(late)), Some(four(service)));
        }
    }

    #[test]
    fn waiting_that_bends_no_time_is_nothing_however_long_it_is() {
        assert_eq!(changed("run_delay", waits(0.29, [30, 200, 900], [150, 300, 1_000])), None);
        assert_eq!(changed("run_delay", waits(0.5, [100, 900, 3_000], [20_000, 30_000, 40_000])), None);
    }

    #[test]
    fn waiting_counts_by_its_share_of_service_time() {
        let service = [5_000, 8_000, 10_000];
        assert_eq!(changed("run_delay", waits(0.02, [100, 400, 2_500], service)), None);
        assert_eq!(changed("run_delay", waits(0.02, [100, 400, 2_501], service)), SUSPECT);
        assert_eq!(changed("run_delay", waits(0.3, [1_000, 2_001, 4_000], service)), INVALID);
    }

    #[test]
    fn closed_load_on_a_target_on_the_same_machine_is_suspect_at_most() {
        let starved = waits(0.5, [3_000, 6_000, 9_000], [5_000, 8_000, 10_000]);
        let shared = |closed, co_located| {
            changed("run_delay", |d| {
                starved(d);
                (d.load.closed, d.run.co_located) = (closed, co_located);
            })
        };
        assert_eq!(shared(true, Some(true)), SUSPECT);
        let in_the_tail = changed("run_delay", |d| {
            waits(0.5, [100, 400, 4_000], [5_000, 8_000, 10_000])(d);
            (d.load.closed, d.run.co_located) = (true, Some(true));
        });
        assert_eq!(in_the_tail, None);
        for (closed, co_located) in [(false, Some(true)), (true, Some(false)), (true, None)] {
            assert_eq!(shared(closed, co_located), INVALID, "closed {closed}, co-located {co_located:?}");
        }
    }

    #[test]
    fn the_message_says_how_much_of_which_quantile_it_is() {
        let told = message("run_delay", waits(0.02, [100, 400, 4_000], [5_000, 8_000, 10_000]));
        assert_eq!(told, "CPU waits delayed reading of responses: p99 4.00 ms of 10.0 ms, limit 25 %");
    }
}
