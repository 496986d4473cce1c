//! One of several constant levels of load, by the run that was made with it.
//!
//! Does not compare levels.

use crate::bound;
use crate::evidence::Evidence;

/// One level of load, by the run that was made with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The load: arrivals per second, or connections.
    pub load: f64,
    /// Complete responses per second.
    pub throughput: f64,
    /// Mean response time in seconds.
    pub response: f64,
    /// Share of the CPUs, 0 to 1, that was busy; `None` if it is unknown.
    pub busy: Option<f64>,
}

impl Level {
    /// The figures of a run at the level `load`; `None` if nothing was answered.
    pub fn of(load: f64, evidence: &Evidence<'_>) -> Option<Self> {
        let (throughput, response) = (evidence.throughput()?, evidence.response_mean()?);
        let busy = bound::cpus_busy(evidence);
        (load > 0.0 && throughput > 0.0 && response > 0.0).then_some(Self {
            load,
            throughput,
            response,
            busy,
        })
    }
}
