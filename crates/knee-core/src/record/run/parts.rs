//! What a merged record takes from the validity of its parts: how complete they are, and the worst that any load
//! generator saw of itself.
//!
//! The merged intervals have no samples of the generators, because the sum of two machines' CPU is that of none.

use crate::validity::collect::fuller;
use crate::validity::diagnostics::{Generator, PartsFigures, Quantiles};

/// What is known of the machines whose records were merged.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// What each load generator saw of itself.
    pub generators: Vec<Generator>,
    /// How complete the parts are.
    pub figures: PartsFigures,
}

/// The worst of what several load generators saw of themselves; of `merged`, what comes from the requests.
pub(super) fn worst(merged: Generator, parts: &[Generator]) -> Generator {
    parts.iter().fold(merged, |worst, one| Generator {
        lag: worst.lag,
        loop_lag: later(worst.loop_lag, one.loop_lag),
        timer_slack: worst.timer_slack.max(one.timer_slack),
        measured: worst.measured,
        paused: worst.paused.max(one.paused),
        stall: worst.stall.max(one.stall),
        worker_cpu_max: higher(worst.worker_cpu_max, one.worker_cpu_max),
        collector_cpu_max: higher(worst.collector_cpu_max, one.collector_cpu_max),
        worker_cpu_saturated: higher(worst.worker_cpu_saturated, one.worker_cpu_saturated),
        run_delay: higher(worst.run_delay, one.run_delay),
        throttled: fuller(worst.throttled, one.throttled),
        steal: higher(worst.steal, one.steal),
        descriptors: fuller(worst.descriptors, one.descriptors),
        ports: fuller(worst.ports, one.ports),
        wall_drift_ns: [worst.wall_drift_ns, one.wall_drift_ns]
            .into_iter()
            .max_by_key(|drift| drift.unsigned_abs())
            .unwrap_or_default(),
        suspended: worst.suspended.max(one.suspended),
    })
}

fn higher(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn later(one: Option<Quantiles>, other: Option<Quantiles>) -> Option<Quantiles> {
    one.into_iter().chain(other).max_by_key(|quantiles| quantiles.p99)
}
