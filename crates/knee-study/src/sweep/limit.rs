//! Which step of a sweep shows the limit, and which one well below it shows what is there without a full load.
//!
//! Does not say what limits the service; rules over the run of the step do.

use knee_core::validity::Validity;

use super::conclusion::{LevelEstimate, Report};
use super::course::same;
use super::rule::Outcome;
use super::saturating::SMALL;
use super::{FinishedStep, LoadKind};

/// Requests of a step that rules can judge. A judgement: most of them need 200 responses or fewer.
const ENOUGH: u64 = 200;

impl Report {
    /// The step that shows the limit: of the steps before the overload whose measurements are valid, the one at the
    /// lowest level beyond the capacity. If the capacity is unknown, or no level failed, the knee stands for it.
    /// Without either, and where no level beyond has valid measurements, the highest level. Of several steps at that
    /// level, one that failed and measured long.
    pub fn at_limit(&self) -> Option<&FinishedStep> {
        let usable = self.usable();
        let levels = || usable.iter().map(|step| level(step));
        let first = levels().filter(|level| self.is_beyond(*level)).reduce(f64::min);
        let at = first.or_else(|| levels().reduce(f64::max))?;
        let failed = |step: &FinishedStep| step.judged.outcome == Outcome::Fail;
        usable.iter().copied().filter(|step| same(level(step), at)).max_by(|one, other| {
            failed(one).cmp(&failed(other)).then(one.step.seconds.total_cmp(&other.step.seconds))
        })
    }

    /// Whether a level lies beyond the capacity or, if that is unknown, beyond the knee.
    pub fn is_beyond(&self, level: f64) -> bool {
        self.limit_level().is_some_and(|limit| level >= limit || same(level, limit))
    }

    /// The lowest level beyond the capacity or, if that is unknown, beyond the knee; `None` if no limit was seen.
    pub fn limit_level(&self) -> Option<f64> {
        match &self.capacity {
            LevelEstimate::Between { interval, .. } => Some(interval.high),
            LevelEstimate::Below(high) => Some(*high),
            LevelEstimate::AtLeast(_) | LevelEstimate::Refused { .. } | LevelEstimate::Unknown => {
                self.knee.as_ref().filter(|knee| !knee.at_the_end).map(|knee| knee.interval.high)
            }
        }
    }

    /// The step with the lowest load well below that of `limit`, with enough requests for rules, or else with the most
    /// requests. `None` if every step that passed has nearly the same goodput.
    pub fn below(&self, limit: &FinishedStep) -> Option<&FinishedStep> {
        let is_small = |step: &&FinishedStep| {
            step.judged.outcome == Outcome::Pass
                && level(step) < level(limit)
                && step.result.goodput <= SMALL * limit.result.goodput
        };
        let lower: Vec<&FinishedStep> = self.usable().into_iter().filter(is_small).collect();
        let has_enough = |step: &&FinishedStep| step.result.books.planned >= ENOUGH;
        let enough = lower.iter().copied().filter(has_enough);
        enough
            .min_by(|one, other| level(one).total_cmp(&level(other)))
            .or_else(|| lower.iter().copied().max_by_key(|step| step.result.books.planned))
    }

    /// Whether the sweep's levels are numbers of connections.
    pub fn is_closed(&self) -> bool {
        self.config.kind == LoadKind::Connections
    }

    /// The steps before the overload whose runs are not invalid, or all of them if every run is.
    pub fn usable(&self) -> Vec<&FinishedStep> {
        let all: Vec<&FinishedStep> = self.before_overload().collect();
        let valid: Vec<&FinishedStep> =
            all.iter().copied().filter(|step| step.result.state != Validity::Invalid).collect();
        if valid.is_empty() { all } else { valid }
    }
}

fn level(step: &FinishedStep) -> f64 {
    step.step.load.level()
}
