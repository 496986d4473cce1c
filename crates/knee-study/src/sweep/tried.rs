//! How often levels were tried before the overload, and what came of it: what a reader must know to believe an estimate.
//!
//! Does not estimate; [`super::conclusion`] does.

use super::conclusion::Report;
use super::course::same;
use super::rule::{Broken, Outcome};
use super::{FinishedStep, Purpose};

/// The usable steps at one level, before the overload.
#[derive(Clone, Debug)]
pub struct Tried<'r> {
    /// The level.
    pub level: f64,
    /// Steps that passed.
    pub passed: usize,
    /// Steps that failed.
    pub failed: Vec<&'r FinishedStep>,
}

impl Tried<'_> {
    /// All of them.
    pub fn steps(&self) -> usize {
        self.passed + self.failed.len()
    }
}

impl Report {
    /// The steps that say whether the service holds a level: those of the ladder and the repeats, without those that the
    /// generator made void. Steps during and after the overload say something else.
    pub(super) fn before_overload(&self) -> impl Iterator<Item = &FinishedStep> {
        let counts = |purpose| !matches!(purpose, Purpose::Surge | Purpose::Descend | Purpose::Recheck);
        self.ladder().filter(move |trial| counts(trial.step.purpose) && trial.judged.outcome != Outcome::Void)
    }

    /// What came of a level.
    pub fn tried(&self, level: f64) -> Tried<'_> {
        let here = self.before_overload().filter(|trial| same(trial.step.load.level(), level));
        let (passed, failed): (Vec<_>, Vec<_>) =
            here.partition(|trial| trial.judged.outcome == Outcome::Pass);
        Tried { level, passed: passed.len(), failed }
    }

    /// The levels below the lower end of the capacity at which a step failed, ascending. They show that the service does
    /// not always hold what it held there.
    pub fn failed_below(&self) -> Vec<Tried<'_>> {
        let Some(low) = self.capacity.low() else { return Vec::new() };
        let mut levels: Vec<f64> = self
            .before_overload()
            .filter(|trial| trial.judged.outcome == Outcome::Fail)
            .map(|trial| trial.step.load.level())
            .filter(|level| *level < low && !same(*level, low))
            .collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels.into_iter().map(|level| self.tried(level)).collect()
    }

    /// The steps before the overload in which the service did not keep up, or turned requests away.
    pub fn overloaded(&self) -> Vec<&FinishedStep> {
        let fell_behind = |trial: &&FinishedStep| {
            matches!(trial.judged.broken, Some(Broken::Backlog | Broken::Collapse | Broken::Rejects))
        };
        self.before_overload().filter(fell_behind).collect()
    }
}
