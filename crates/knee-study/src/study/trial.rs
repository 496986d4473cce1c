//! What passes between a study and whoever runs its trials.
//!
//! Does not decide anything.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

use crate::definition::Cell;
use crate::metric::Metric;

/// What the caller asks of a study beyond its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Fewer blocks, and only large changes are told.
    pub quick: bool,
    /// Only these arms (and what they are compared with as a base); all if empty.
    pub arms: Vec<String>,
    /// So many blocks instead of the design's.
    pub blocks: Option<usize>,
    /// Nothing but this arm against itself: for the noise floor.
    pub against_itself: Option<String>,
}

/// Why a study cannot be had like this.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The options name an arm that does not take part. Second: those that do.
    #[error("no arm `{0}` takes part; these do: {1}")]
    UnknownArm(String, String),
    /// The options leave one arm or none.
    #[error("with only {0} there is nothing to compare")]
    NothingToCompare(String),
    /// No blocks at all.
    #[error("a study of no blocks shows nothing")]
    NoBlocks,
    /// A margin below what noise alone does here. Shares: the margin asked for, and the least allowed.
    #[error("a margin of {:.1} % for {metric} is within the noise of this machine; {:.1} % can be told with {blocks} blocks", asked * 100.0, least * 100.0)]
    MarginWithinNoise {
        /// Of what.
        metric: Metric,
        /// What was asked for.
        asked: f64,
        /// What is allowed.
        least: f64,
        /// With so many blocks.
        blocks: usize,
    },
    /// A result for a trial that was not the next one.
    #[error("trial {0} is not the one that was asked for")]
    NotNext(usize),
    /// Stored results that are not of this study, from this trial on.
    #[error("the stored results are of another study, or of other options: they differ at trial {0}")]
    OtherStudy(usize),
}

/// One run that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place among all, from 0. A repeat keeps the place.
    pub number: usize,
    /// Its block, from 0.
    pub block: usize,
    /// Which attempt at it this is: 1 or 2.
    pub attempt: u32,
    /// The arm.
    pub arm: String,
    /// The workload.
    pub workload: String,
    /// The seed of its arrivals: the same for all arms of a block.
    pub arrival_seed: u64,
    /// Whether the service has to be a fresh process. If not, one of this arm that still runs may go on.
    pub restart: bool,
    /// Whether data has to be brought back to its seeded state before.
    pub reset: bool,
}

impl Trial {
    /// Whether it is one of this arm under this workload.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.arm == cell.arm && self.workload == cell.workload
    }
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// It ran to its end.
    Measured(Measured),
    /// The service died while it ran. It is tried once more; if it dies again the arm is lost.
    Died {
        /// In plain words, with the end of its log if there is one.
        reason: String,
    },
    /// The service did not come up in time. The arm is lost.
    NeverReady {
        /// In plain words.
        reason: String,
    },
}

/// What a trial measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Figures by metric. What could not be measured is absent.
    pub figures: BTreeMap<Metric, Figure>,
    /// Requests measured.
    pub requests: u64,
    /// Whether the measurement can be trusted.
    pub state: Validity,
    /// Why not, if it cannot.
    pub reasons: Vec<String>,
    /// Whether the service was steady while it was measured; `None` if the trial was too short to tell.
    pub steady: Option<bool>,
    /// Of a load that does not wait for answers: whether they came about as fast as requests came due. `None` of one that
    /// waits, and asks for as much as it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<bool>,
    /// Where the whole record is kept, if it is.
    pub record: Option<String>,
    /// On which CPUs it was made.
    #[serde(default, skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
}

/// On which CPUs a trial was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// CPUs that each part could use, as in `0-1,3`, by [`GENERATOR`], `service.NAME`, `postgres.NAME` and `redis.NAME`. A
    /// part of which the system does not tell is absent.
    pub cpus: BTreeMap<String, String>,
    /// What was declared and cannot be had on this machine: entry of the declaration, and why.
    #[serde(default)]
    pub not_here: BTreeMap<String, String>,
    /// How many times the CPU time of a service or store the generator got where both wanted the same CPU, if it was
    /// preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_weight: Option<u32>,
}

/// The part of a trial that sends the requests, in [`Place::cpus`].
pub const GENERATOR: &str = "generator";

impl Place {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.cpus.is_empty() && self.not_here.is_empty()
    }
}

/// A figure, or the least that it can be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// In the metric's unit: nanoseconds, a second, a share, a number, bytes.
    pub value: f64,
    /// Whether the truth is this or more: requests were given up before they ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self { value, at_least: false }
    }
}

/// A trial and what came of it: what a caller stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The trial.
    pub trial: Trial,
    /// What came of it.
    pub told: Told,
}

impl Entry {
    /// What it measured, if that can be used.
    pub fn usable(&self) -> Option<&Measured> {
        match &self.told {
            Told::Measured(measured) if measured.state != Validity::Invalid => Some(measured),
            _ => None,
        }
    }
}
