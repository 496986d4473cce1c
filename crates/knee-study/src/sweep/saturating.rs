//! Which observed resource is full where the service serves most.
//!
//! Does not observe and does not calculate demands.

use serde::Serialize;

use super::FinishedStep;
use super::resource::{FULL, ResourceUse};
use super::rule::Outcome;

/// A step with a smaller level and at most this share of the highest goodput has a small load. The level alone says little:
/// two connections can fill a service as much as twenty.
pub(super) const SMALL: f64 = 0.6;
/// A resource that is as full as this share at a small load is filled by something else.
const AS_FULL: f64 = 0.85;

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
    /// Whether it is fuller than at small loads. If not, something else fills it.
    pub grows: bool,
}

/// The fullest resource of the step with the highest goodput, among the steps that count and were observed.
pub fn saturating<'a>(steps: impl Iterator<Item = &'a FinishedStep>) -> Option<Saturating> {
    let steps: Vec<&FinishedStep> = steps.collect();
    let observed = || {
        let counts = |step: &&&FinishedStep| step.judged.outcome != Outcome::Void;
        steps.iter().filter(counts).filter(|step| !step.result.resources.is_empty()).copied()
    };
    let most = observed().max_by(|one, other| one.result.goodput.total_cmp(&other.result.goodput))?;
    let level = most.step.load.level();
    let is_small = |step: &&FinishedStep| {
        step.step.load.level() < level && step.result.goodput <= SMALL * most.result.goodput
    };
    let small: Vec<&FinishedStep> = observed().filter(is_small).collect();
    let grows = |of: &ResourceUse| {
        let uses = small.iter().flat_map(|step| &step.result.resources);
        let least = uses.filter(|one| one.resource == of.resource).map(|one| one.reached).reduce(f64::min);
        least.is_none_or(|least| least < AS_FULL * of.reached)
    };
    let uses = || most.result.resources.iter();
    let fuller = |one: &&ResourceUse, other: &&ResourceUse| one.reached.total_cmp(&other.reached);
    let of = uses().filter(|one| grows(one)).max_by(fuller).or_else(|| uses().max_by(fuller))?.clone();
    let grows = grows(&of);
    let is_full = grows && of.reached >= FULL;
    Some(Saturating { level, goodput: most.result.goodput, of, is_full, grows })
}
