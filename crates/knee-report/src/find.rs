//! Reports of a search: what was found in one load, what was tried, and the sentence in which both end.
//!
//! Lays out findings and the conclusion of the proof; does not find, try or judge anything.

mod json;

mod sentence;

mod text;

use knee_study::study::Conclusion;
use serde::Serialize;

use crate::View;

pub use json::render as json;
pub use sentence::sentence;
pub use text::render as text;

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Search {
    /// What was loaded: a URL, or a variant of a study and its workload.
    pub title: String,
    /// The load that was looked at, with its findings.
    pub look: View,
    /// What a reader should know about how it was done.
    pub notes: Vec<String>,
    /// What became of the remedy of each finding, in their order.
    pub remedies: Vec<Considered>,
    /// What was tried.
    pub proof: Proof,
}

impl Search {
    /// The changes that knee could make and did not, each with the reason, without a full stop.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let reason = |one: &Considered| {
            let finding = self.look.findings.findings.get(one.finding)?;
            let (change, why) = (one.change.as_ref()?, one.why_not.as_ref()?);
            Some(format!("not tried: {change} [{}], because {why}", finding.code))
        };
        self.remedies.iter().filter_map(reason).collect()
    }
}

/// What became of the remedy of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// The finding, as an index of those of the look.
    pub finding: usize,
    /// The change that knee can make by itself to what it started, as in [`Tried::change`]; `None` if it can make none.
    pub change: Option<String>,
    /// Why it was not made, as a clause without a full stop; `None` if it was.
    pub why_not: Option<String>,
}

/// What was tried against a finding.
#[derive(Clone, Debug)]
pub enum Proof {
    /// Nothing.
    NotTried {
        /// Why, as a clause without a full stop; empty if nothing was found.
        why: String,
        /// Lines that try it by hand: commands, or parts of a `study.toml`.
        by_hand: Vec<String>,
    },
    /// A remedy, in trials with and without it.
    Tried(Box<Tried>),
}

/// A remedy that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The finding, as an index of those of the look.
    pub finding: usize,
    /// What was changed, and where: "CREATE INDEX … in postgres.db".
    pub change: String,
    /// The study of both variants.
    pub conclusion: Conclusion,
    /// The load with the remedy, with its findings: what bounds the service now. `None` if it could not be looked at.
    pub after: Option<View>,
}
