//! The validity check: whether the numbers of a run can be trusted, and why not.
//!
//! [`collect`] sums up what was seen as [`Diagnostics`], the rules of [`rule`] look at them and at
//! nothing else, [`judge`] puts together what they say. Does not sample anything; `knee-engine` does.

use serde::{Deserialize, Serialize};

pub mod collect;
pub mod diagnostics;
pub(crate) mod figure;
pub mod judge;
pub mod note;
pub mod rule;

pub use diagnostics::Diagnostics;

/// Whether a result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// No warnings.
    Valid,
    /// Something bends the numbers; the warnings say what.
    Suspect,
    /// The numbers describe the load generator, or do not add up. Not to be used.
    Invalid,
}

impl Validity {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// One reason why a result is not plainly valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Short, stable name of the rule: `lag`, `worker_cpu`, `books`, … `knee explain CODE` has its cause and remedy.
    pub code: String,
    /// What this warning alone makes of the result: suspect or invalid.
    #[serde(rename = "state")]
    pub validity: Validity,
    /// What was seen, with its figure; 12 words at most.
    #[serde(rename = "text")]
    pub message: String,
    /// What to do first, as an imperative.
    #[serde(rename = "advice")]
    pub hint: String,
}

/// The result of the validity check: the worst of its warnings, or valid when there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidityReport {
    /// Whether the result can be trusted.
    #[serde(rename = "state")]
    pub validity: Validity,
    /// Why not, worst first.
    #[serde(rename = "reasons")]
    pub warnings: Vec<Warning>,
    /// Facts worth knowing that do not touch the validity (shared CPUs, resent requests, …).
    pub notes: Vec<String>,
    /// The figures that were judged.
    #[serde(rename = "figures")]
    pub diagnostics: Diagnostics,
}
