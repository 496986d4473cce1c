//! The steps of a sweep: purpose, load and result.
//!
//! Does not choose a step; [`super::course`] does.

use super::measured::StepResult;
use super::rule::Judged;

/// Purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A short closed load that shows where the ladder should begin.
    Probe,
    /// The next rung of the ladder.
    Climb,
    /// Between the highest level that passed and the lowest that failed.
    Bisect,
    /// A repetition, because a single trial can be luck.
    Confirm,
    /// Between the highest level that the service withstood and the lowest at which it broke.
    Break,
    /// Far above the capacity, to see whether the service recovers.
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
    /// This many connections, each of which waits for its response.
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

/// A step to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// 1 for the first.
    pub number: usize,
    /// How much.
    pub load: StepLoad,
    /// Seconds of warm-up.
    pub warm_up: f64,
    /// Seconds that are measured.
    pub seconds: f64,
    /// Seed of its arrivals.
    pub seed: u64,
    /// Why.
    pub purpose: Purpose,
}

/// A step that was run.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// The step.
    pub step: Step,
    /// What was measured.
    pub result: StepResult,
    /// The rules' result.
    pub judged: Judged,
}
