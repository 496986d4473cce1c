//! Whether the trials of a side are valid often enough for a verdict: one rule for claims and for comparisons.
//!
//! Does not judge a trial; its validity check did. Has no words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Entry, Study};
use crate::definition::{Cell, Load};

/// Why a variant has no valid trial of a workload, or too few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Absence {
    /// It was lost.
    Lost {
        /// Why.
        reason: String,
    },
    /// The options of the study leave it out.
    NotTakingPart,
    /// No trial was run yet.
    NotRun,
    /// No trial is usable.
    NoneUsable {
        /// How many there are.
        trials: usize,
        /// Why the last one is not.
        why: String,
    },
    /// The usable ones are all suspect.
    AllSuspect {
        /// How many there are.
        trials: usize,
    },
    /// Fewer of them are valid than suspect or not usable.
    FewValid {
        /// The valid ones.
        valid: usize,
        /// One for each block that was tried.
        trials: usize,
    },
    /// None of the valid ones stored the figures of its endpoints.
    NoEndpoints {
        /// How many there are.
        trials: usize,
    },
    /// None of the valid ones has the endpoint.
    UnknownEndpoint {
        /// Those that they have.
        known: Vec<String>,
    },
    /// None of the valid ones counted the statement.
    NotCounted {
        /// How many there are.
        trials: usize,
    },
    /// None of the valid ones executed the statement.
    NotExecuted {
        /// How many there are.
        trials: usize,
    },
}

/// Why a comparison says nothing about one of its sides, although it has an estimate; `None` if enough of its trials are
/// valid, or if none is usable. The sides of `knee compare` are exempt: its load is that of its caller, often at the
/// limit of the generator on both sides alike, and its report has the number of valid trials right below the verdict.
pub(super) fn absence(study: &Study, cell: &Cell) -> Option<Absence> {
    if study.definition.workload(&cell.workload).is_some_and(|workload| workload.load == Load::OfCaller) {
        return None;
    }
    let tried: Vec<&Entry> = study.entries.iter().filter(|entry| entry.trial.is_of(cell)).collect();
    if tried.iter().any(|entry| entry.is_valid()) {
        return few_valid(&tried, &Entry::is_valid);
    }
    let suspect = tried.iter().filter(|entry| entry.usable().is_some()).count();
    (suspect > 0).then_some(Absence::AllSuspect { trials: suspect })
}

/// Whether fewer blocks have a trial that `vouches` than have none: one that is valid does not vouch for seven that are
/// not, and what spoils most trials of a variant can be what the variant does. Of a trial that was repeated, the last
/// usable attempt counts.
pub(super) fn few_valid(tried: &[&Entry], vouches: &dyn Fn(&Entry) -> bool) -> Option<Absence> {
    let mut blocks: BTreeMap<usize, bool> = tried.iter().map(|entry| (entry.trial.block, false)).collect();
    let usable = tried.iter().filter(|entry| entry.usable().is_some());
    blocks.extend(usable.map(|entry| (entry.trial.block, vouches(entry))));
    let (valid, trials) = (blocks.values().filter(|valid| **valid).count(), blocks.len());
    (2 * valid < trials).then_some(Absence::FewValid { valid, trials })
}
