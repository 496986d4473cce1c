//! Checks the printed results of load testing tools: what in them cannot be true, with the arithmetic.
//!
//! A reader turns an output into [`Measurement`]s, whose figures are intervals: a printed figure stands for every value
//! that rounds to it. A check reports figures only if no values in their intervals agree. [`audit`] does both. The crate
//! opens no files, sends no load and prints nothing; it takes a reader of bytes and returns a [`Report`].

pub mod number;

pub mod measurement;

pub mod finding;

pub mod problem;

pub mod read;

pub mod check;

pub mod report;

pub mod run;

pub mod pair;

use std::io::Read;

pub use measurement::{Document, Measurement};
pub use problem::ReadError;
pub use read::Known;
pub use report::Report;
pub use run::Run;

/// One output: what was read, and what the checks found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// What was read.
    pub document: Document,
    /// What the checks found.
    pub report: Report,
}

/// Reads one output and checks it. `name` is what reports call it.
///
/// # Errors
///
/// If no reader knows the format, or the input cannot be read.
pub fn audit(name: &str, input: impl Read, known: &Known) -> Result<Report, ReadError> {
    examine(name, input, known).map(|examined| examined.report)
}

/// The same, and what was read.
///
/// # Errors
///
/// As [`audit`].
pub fn examine(name: &str, input: impl Read, known: &Known) -> Result<Examined, ReadError> {
    let document = read::read(input, known)?;
    let findings = check::all(&document);
    let report = Report::new(name, &document, findings);
    Ok(Examined { document, report })
}
