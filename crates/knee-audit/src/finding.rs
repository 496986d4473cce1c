//! What a check found: the figures, the arithmetic, and what it probably is.
//!
//! Does not check anything and does not lay anything out.

use serde::Serialize;

use crate::measurement::{Measurement, Statement, Tool};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Figures exclude one another: not all of them can be true.
    Impossible,
    /// Figures can be true, but do not mean what they seem to mean.
    Misleading,
    /// A limit of what the output can show.
    Note,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check, as a short name.
    pub check: &'static str,
    /// How bad it is.
    pub grade: Grade,
    /// Line of the output, from 1.
    pub line: usize,
    /// What it is about: tool and label.
    pub subject: String,
    /// What is wrong, as one sentence without a full stop.
    pub says: String,
    /// The calculation, one step per line. Readers can redo it.
    pub arithmetic: Vec<String>,
    /// What it probably is, without a full stop; empty if unknown.
    pub cause: String,
}

impl Finding {
    /// A finding about a measurement.
    pub fn new(check: &'static str, grade: Grade, about: &Measurement, says: impl Into<String>) -> Self {
        let subject = match (about.tool, about.label.as_str()) {
            (Tool::Unknown, label) => label.to_owned(),
            (tool, "") => tool.name().to_owned(),
            (tool, label) => format!("{}, {label}", tool.name()),
        };
        Self {
            check,
            grade,
            line: about.line,
            subject,
            says: says.into(),
            arithmetic: Vec::new(),
            cause: String::new(),
        }
    }

    /// A finding about a statement.
    pub fn about(check: &'static str, grade: Grade, statement: &Statement, says: impl Into<String>) -> Self {
        Self {
            check,
            grade,
            line: statement.line,
            subject: format!("\"{}\"", statement.text),
            says: says.into(),
            arithmetic: Vec::new(),
            cause: String::new(),
        }
    }

    /// Adds a step of the calculation.
    #[must_use]
    pub fn step(mut self, line: impl Into<String>) -> Self {
        self.arithmetic.push(line.into());
        self
    }

    /// Says what it probably is.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = cause.into();
        self
    }
}
