//! How a study was made: the sessions in which its trials ran, and the command that repeats it.
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

/// How a study and its document were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Sessions, the first one first; none if they were not kept.
    pub sessions: Vec<Session>,
    /// The command that repeats the study and its document.
    pub command: Option<String>,
    /// The folder of the pictures as a link from the document writes it; `None` leaves pictures out.
    pub plots: Option<String>,
}
