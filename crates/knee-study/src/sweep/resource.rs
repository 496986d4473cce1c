//! An observed resource during a step of a sweep: how full it was.
//!
//! Does not observe and does not calculate demands; its caller does, by the utilisation law.

use serde::Serialize;

/// From this share of its bound on, a resource counts as full: the same as for the bounds of a single run.
pub const FULL: f64 = 0.85;

/// One observed resource during a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceUse {
    /// Its name: "CPUs of host", "main thread of redis://...".
    pub resource: String,
    /// Its servers: CPUs, threads; above zero.
    pub servers: f64,
    /// Seconds that it is busy per complete response.
    pub demand_s: f64,
    /// Complete responses per second that it allows: servers / demand.
    pub limit_per_s: f64,
    /// Its utilisation: the throughput as a share of the limit.
    pub reached: f64,
}
