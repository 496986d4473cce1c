//! The load generator notices responses late, for any reason but a wait for a CPU.

use super::super::{Diagnostics, Validity};
use super::bent::Bent;
use super::rated::Rated;

/// Above this share of the run, a wait for a CPU is the cause, which has its own rule.
const WAITED: f64 = 0.01;

/// What was found.
pub(super) struct Evidence {
    bent: Bent,
}

impl Rated for Evidence {
    const CODE: &'static str = "loop_lag";
    const LOOKS_AT: &'static str = "loop lag as a share of service time, compared at p50, p90 and p99. The rule applies if workers waited for a CPU during at most 1 % of the run";
    const SUSPECT: &'static str = "over 10 % at p50 or over 25 % at p99, and over 1 ms";
    const INVALID: &'static str = "over 25 % at p50 or at p90, and over 1 ms. Exception: with a closed load on a target on this machine, the result is suspect above these limits, and valid below them";
    const SOURCE: &'static str = "Every 5 ms, each worker measures its loop lag: how late it notices a timer. The worker notices responses just as late.";
    const CAUSE: &'static str = "When responses came, a worker was busy with other work, such as long iterations of a script or large bodies. Or a hypervisor paused the machine. Service times contain the delay.";
    const REMEDY: &'static str =
        "Use more workers, do less work per iteration, or spread the load over more machines.";
    const HINT: &'static str = "use more workers, or do less work per iteration";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let generator = &diagnostics.generator;
        if generator.run_delay.is_some_and(|share| share > WAITED) {
            return None;
        }
        // A run of one second can end before its waits for a CPU are sampled: `run_delay` is then unknown and its
        // cause shows here.
        Bent::by_loop_lag(diagnostics).map(|bent| Self { bent })
    }

    fn validity(&self) -> Option<Validity> {
        Some(self.bent.validity)
    }

    fn message(&self) -> String {
        format!("knee read responses late: loop lag {}", self.bent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed, micros};
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
    fn reading_late_counts_by_its_share_of_service_time() {
        let service = [5_000, 8_000, 10_000];
        assert_eq!(changed("loop_lag", waits(0.0, [100, 400, 2_500], service)), None);
        assert_eq!(changed("loop_lag", waits(0.0, [100, 400, 2_501], service)), SUSPECT);
        assert_eq!(changed("loop_lag", waits(0.0, [1_000, 2_001, 4_000], service)), INVALID);
    }

    #[test]
    fn a_closed_load_on_a_target_on_the_same_machine_is_never_invalid_for_it() {
        let late = waits(0.0, [900, 1_360, 4_390], [464, 829, 2_818]);
        let shared = |closed: bool, co_located: bool| {
            let late = &late;
            move |d: &mut Diagnostics| {
                late(d);
                (d.load.closed, d.run.co_located) = (closed, Some(co_located));
            }
        };
        assert_eq!(changed("loop_lag", shared(true, true)), SUSPECT);
        assert_eq!(changed("loop_lag", shared(false, true)), INVALID);
        assert_eq!(changed("loop_lag", shared(true, false)), INVALID);
    }

    #[test]
    fn a_delay_has_one_warning_that_of_its_cause() {
        let starved = waits(0.5, [3_000, 6_000, 9_000], [5_000, 8_000, 10_000]);
        assert_eq!(changed("loop_lag", &starved), None);
        assert_eq!(changed("run_delay", &starved), INVALID);
    }
}
