//! The steps of a sweep: why one is made, with how much load, and what came of it.
//!
//! Does not choose a step; [`super::course`] does.

use super::measured::StepResult;
use super::rule::Judged;

/// Why a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A short closed load, to know where the ladder begins.
    Probe,
    /// The next rung of the ladder.
    Climb,
    /// Between the highest level that passed and the lowest that failed.
    Bisect,
    /// Once more, because one trial is luck.
    Confirm,
    /// Between the highest level that held and the lowest at which the service broke.
    Break,
    /// Far above the capacity, to see whether the service comes back.
    Surge,
    /// Below the capacity again.
    Descend,
}

impl Purpose {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Climb => "climb",
            Self::Bisect => "bisect",
            Self::Confirm => "confirm",
            Self::Break => "break",
            Self::Surge => "surge",
            Self::Descend => "descend",
        }
    }
}

/// The load of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepLoad {
    /// Poisson arrivals per second.
    ArrivalRate(f64),
    /// So many connections, each waiting for its answer.
    Connections(u32),
}

impl StepLoad {
    /// The number alone.
    pub fn level(self) -> f64 {
        match self {
            Self::ArrivalRate(rate) => rate,
            Self::Connections(count) => f64::from(count),
        }
    }
}

/// A step that is to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// 1 for the first.
    pub number: usize,
    /// How much.
    pub load: StepLoad,
    /// Seconds that are sent and not measured, before.
    pub warm_up: f64,
    /// Seconds that are measured.
    pub seconds: f64,
    /// Seed of its arrivals.
    pub seed: u64,
    /// Why.
    pub purpose: Purpose,
}

/// A step that was made.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// What was to be done.
    pub step: Step,
    /// What was measured.
    pub result: StepResult,
    /// What the rules say.
    pub judged: Judged,
}
