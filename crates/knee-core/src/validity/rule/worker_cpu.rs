//! The run measures its own saturated worker.

use super::super::figure::percent;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Shares of the measured intervals. A few busy seconds, such as a burst of TLS handshakes, stay below them.
const SUSPECT: f64 = 0.1;
const INVALID: f64 = 0.5;

/// What was found.
pub(super) struct Evidence {
    saturated: f64,
}

impl Rated for Evidence {
    const CODE: &'static str = "worker_cpu";
    const LOOKS_AT: &'static str = "share of the measured time in which the CPU limited the generator: one worker used over 90 % of a CPU, or workers and collector together used over 90 % of their CPUs";
    const SUSPECT: &'static str = "10 %";
    const INVALID: &'static str = "50 %";
    const SOURCE: &'static str = "If over 90 % of a CPU is used, a task waits about ten times as long as it runs, according to queueing theory. For comparison, k6 recommends at most 80 %, and Locust warns at 90 %.";
    const CAUSE: &'static str = "The load generator is the bottleneck. A busy worker reads responses late, and the server seems slow. In a closed load, the throughput is then the limit of the generator, not of the server.";
    const REMEDY: &'static str = "Use more workers if there are idle cores. Otherwise use a faster machine, or reduce the load. In a script, do less work per iteration.";
    const HINT: &'static str = "use more workers, or reduce the load";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.generator.worker_cpu_saturated.map(|saturated| Self { saturated })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.saturated, SUSPECT, INVALID)
    }

    fn message(&self) -> String {
        format!("a worker was over 90 % busy during {} of the time", percent(self.saturated))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed};

    #[test]
    fn a_worker_counts_as_saturated_by_how_long_it_was() {
        let saturated =
            |share: f64| changed("worker_cpu", move |d| d.generator.worker_cpu_saturated = Some(share));
        assert_eq!(saturated(0.1), None, "one second of ten");
        assert_eq!(saturated(0.11), SUSPECT);
        assert_eq!(saturated(0.51), INVALID);
    }

    #[test]
    fn a_busy_second_in_a_long_run_is_nothing() {
        assert_eq!(changed("worker_cpu", |d| d.generator.worker_cpu_max = Some(0.99)), None);
    }
}
