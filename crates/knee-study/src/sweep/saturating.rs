//! Which observed resource is full where the service serves most.
//!
//! Does not observe and does not calculate demands.

use serde::Serialize;

use super::FinishedStep;
use super::resource::{FULL, ResourceUse};
use super::rule::Outcome;

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
