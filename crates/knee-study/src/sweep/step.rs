//! The steps of a sweep: purpose, load and result.
//!
//! Does not choose a step; [`super::course`] does.

use serde::{Deserialize, Serialize};

use super::measured::StepResult;
use super::rule::Judged;

/// Purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A level near the knee, once more, in random order.
    Repeat,
    /// Far above the capacity, to see whether the service recovers.
    Surge,
    /// A level that passed on the way up, after the overload.
    Descend,
    /// The same level after the service was reset.
    Recheck,
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
            Self::Repeat => "repeat",
            Self::Surge => "surge",
            Self::Descend => "descend",
            Self::Recheck => "recheck",
        }
    }
}

/// The load of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Whether the service must be reset before it.
    pub reset: bool,
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
