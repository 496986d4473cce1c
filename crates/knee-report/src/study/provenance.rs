//! How a study was made: the sessions in which its trials were run, and what makes its document again.
//!
//! Does not know the trials; those are part of the conclusion.

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A stretch of a study without a stop: a study that was resumed has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Wall-clock time of its start, since the Unix epoch.
    pub started: Nanos,
    /// The first of the study's trials that it made, from 0.
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
    /// The command that makes study and document again.
    pub command: Option<String>,
    /// The folder of the pictures as a link from the document writes it; `None` leaves pictures out.
    pub plots: Option<String>,
}
