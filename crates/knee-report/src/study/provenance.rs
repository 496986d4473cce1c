//! How a study was made: the sessions in which its trials ran, and the commands that repeat it.
//!
//! Does not know the trials; those are part of the conclusion.

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

/// An uninterrupted part of a study; a resumed study has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Wall-clock time of its start, since the Unix epoch.
    pub started: Nanos,
    /// Index of its first trial in the study, from 0.
    pub first_trial: usize,
    /// The program that measured.
    pub build: Build,
    /// The machine it ran on.
    pub machine: Machine,
}

/// The commands for a study. They do not depend on where they are typed, so that its documents are the same everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The folder in which they work, as "the root of the repository".
    pub folder: String,
    /// Repeats the study.
    pub repeat: String,
    /// Makes its documents again from the saved trials.
    pub report: String,
}

/// How a study and its document were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Sessions, the first one first; none if they were not kept.
    pub sessions: Vec<Session>,
    /// The commands that repeat the study and its documents.
    pub commands: Option<Commands>,
    /// The folder of the pictures as a link from the document writes it; `None` leaves pictures out.
    pub plots: Option<String>,
}
