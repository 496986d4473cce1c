//! Observed resources in the steps of a sweep: how full each was, and which one is full where the service serves most.
//!
//! Does not observe and does not calculate demands; its caller does, by the utilisation law.

use serde::Serialize;

use super::FinishedStep;
use super::rule::Outcome;

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

/// The fullest resource where the service serves most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saturating {
    /// The level of that step, in the unit of the sweep.
    pub level: f64,
    /// Arrivals per second that were answered ok there.
    pub goodput: f64,
    /// The resource.
    #[serde(flatten)]
    pub of: ResourceUse,
    /// Whether it is so full that it limits the service.
    pub is_full: bool,
}

/// The fullest resource of the step with the highest goodput, among the steps that count and were observed.
pub fn saturating<'a>(steps: impl Iterator<Item = &'a FinishedStep>) -> Option<Saturating> {
    let observed =
        steps.filter(|step| step.judged.outcome != Outcome::Void && !step.result.resources.is_empty());
    let most = observed.max_by(|one, other| one.result.goodput.total_cmp(&other.result.goodput))?;
    let of = most.result.resources.iter().max_by(|one, other| one.reached.total_cmp(&other.reached))?.clone();
    let is_full = of.reached >= FULL;
    Some(Saturating { level: most.step.load.level(), goodput: most.result.goodput, of, is_full })
}
