//! Services that turn away what they cannot serve.
//!
//! A service sheds load if it rejects requests above a level, and its goodput stays about the same however far above.
//! A service that fails a share of its requests at every load does not: its goodput grows with the load. Does not judge
//! steps.

use super::course::{is_up, same};
use super::rule::{BROKEN_ERRORS, COLLAPSE, Outcome};
use super::{FinishedStep, Purpose};

/// Load shedding, as the overloaded steps show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shedding {
    /// The highest level at which it was seen.
    pub at: f64,
    /// Arrivals answered ok per second there: what it keeps serving.
    pub keeps: f64,
    /// Share of the requests, 0 to 1, that it turned away there.
    pub rejected: f64,
}

/// Two levels must differ by this factor before anything is said about what grows between them.
const APART: f64 = 1.2;

/// Growth of the goodput, as a share of the growth of the load (in logarithms), below which it counts as constant. A
/// judgement: it is 0 if all that comes on top is turned away, and 1 if a fixed share fails.
const GROWTH_MAX: f64 = 0.25;

/// The steps at one level: what was answered ok there, and which share failed.
#[derive(Clone, Copy, Debug)]
struct Rung {
    level: f64,
    goodput: f64,
    failed: f64,
    by_rejection: bool,
}

/// Finds it in the steps of a sweep; `None` if the service does not shed load, or if too few levels show it.
pub fn find(steps: &[FinishedStep]) -> Option<Shedding> {
    let levels = levels(steps);
    let top = *levels.last()?;
    let sheds = |one: &&Rung| one.failed > BROKEN_ERRORS && one.by_rejection;
    let most = levels.iter().map(|one| one.goodput).fold(0.0, f64::max);
    if !sheds(&&top) || top.goodput < COLLAPSE * most {
        return None;
    }
    // From the lowest level that sheds; where there is one only, from the highest below it.
    let lowest = levels.iter().find(sheds)?;
    let below = levels.iter().rev().find(|one| one.level < lowest.level);
    let from = if top.level >= APART * lowest.level { Some(lowest) } else { below };
    let from = from.filter(|from| top.level >= APART * from.level && from.goodput > 0.0)?;
    let growth = (top.goodput / from.goodput).ln() / (top.level / from.level).ln();
    (growth <= GROWTH_MAX).then_some(Shedding { at: top.level, keeps: top.goodput, rejected: top.failed })
}

/// The usable steps, one entry per level, ascending; repeats as their means.
fn levels(steps: &[FinishedStep]) -> Vec<Rung> {
    let usable = |step: &&FinishedStep| {
        let counts = is_up(step) || step.step.purpose == Purpose::Surge;
        counts && step.judged.outcome != Outcome::Void
    };
    let mut usable: Vec<&FinishedStep> = steps.iter().filter(usable).collect();
    usable.sort_by(|a, b| a.step.load.level().total_cmp(&b.step.load.level()));
    let mean = |group: &[&FinishedStep], figure: fn(&FinishedStep) -> f64| {
        group.iter().map(|step| figure(step)).sum::<f64>() / group.len() as f64
    };
    usable
        .chunk_by(|a, b| same(a.step.load.level(), b.step.load.level()))
        .map(|group| Rung {
            level: group[0].step.load.level(),
            goodput: mean(group, |step| step.result.goodput),
            failed: mean(group, |step| step.result.failed()),
            by_rejection: group.iter().all(|step| step.result.failed_by_rejection()),
        })
        .collect()
}
