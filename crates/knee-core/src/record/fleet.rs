//! What a merged record says of the machines that made its load together.
//!
//! Does not merge anything; see [`mod@super::merge`].

use serde::{Deserialize, Serialize};

use super::{Build, Ending, Machine};
use crate::tally::Accounting;
use crate::unit::Nanos;
use crate::validity::diagnostics::Quantiles;
use crate::validity::{Validity, Warning};

/// The machines that made a load together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// The ends of all parts of the load, such as `0,1/4,1`.
    pub sequence: String,
    /// Those whose records were merged, in the order of their parts.
    pub members: Vec<Member>,
}

/// One machine of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its part of the load, such as `0:1/4`.
    pub segment: String,
    /// When it began, by its own clock, since the Unix epoch.
    pub started: Nanos,
    /// The program that measured.
    pub build: Build,
    /// The machine.
    pub machine: Machine,
}

/// What one machine of several contributed to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// Its part of the load, such as `0:1/4`.
    pub segment: String,
    /// Its measured requests.
    pub requests: Accounting,
    /// Response times of its measured requests; `None` without any.
    pub response: Option<Quantiles>,
    /// Its generator lag.
    pub generator_lag: Option<Quantiles>,
    /// Highest share of a CPU that any of its workers used, 0 to 1; `None` if it is unknown.
    pub worker_cpu_max: Option<f64>,
    /// End of its last interval, on its clock.
    pub ended: Nanos,
    /// How it ended.
    pub ending: Ending,
    /// Requests of its plan that it did not send because it ended early; `None` if the plan does not number them.
    pub lost: Option<u64>,
    /// Whether its own figures can be trusted.
    pub validity: Validity,
    /// Why not, worst first.
    pub warnings: Vec<Warning>,
}
