//! What an agent and the process that makes its part say to each other, one line each.
//!
//! The process reads orders on its standard input, and ends when that is closed: it never outlives its agent. Does not
//! start processes.

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::wire::{Part, Said, StopLevel};

/// The first line to the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// File of the job.
    pub job: String,
    /// File for the record; it does not exist yet.
    pub record: String,
    /// The part.
    pub part: Part,
    /// The run and the agent, for the record.
    pub run: String,
    /// Name of the agent.
    pub agent: String,
    /// Where a script can send requests, as the agent's settings say it.
    pub targets: Vec<String>,
    /// Most requests per second of a script.
    pub rate_max: f64,
}

/// Further lines to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ToChild {
    /// Start at this time of the machine's monotonic clock.
    Go {
        /// The time.
        at: Nanos,
    },
    /// End the load.
    Stop {
        /// How.
        level: StopLevel,
    },
    /// How late the start was on the controller's clock, for the record.
    Late {
        /// At least and at most, in nanoseconds.
        late: (i64, i64),
    },
}

/// Lines from the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FromChild {
    /// All users are made.
    Ready,
    /// The load began at this time of the machine's monotonic clock.
    Started {
        /// The time.
        at: Nanos,
    },
    /// The record is complete.
    Ended {
        /// What the user should know.
        warning: Option<String>,
        /// What a script said of the test.
        #[serde(default)]
        said: Said,
    },
    /// There is no load, or it failed.
    Failed {
        /// Why.
        why: String,
    },
}
