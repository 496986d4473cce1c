//! All checks of a machine, and the answer in one sentence.
//!
//! Does not decide about a single property; `check` does.

use serde::Serialize;

use super::check::{self, Check, Grade};
use super::facts::Facts;
use crate::validity::figure::count;

/// All checks and the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fitness {
    /// `doctor`.
    pub kind: &'static str,
    /// Version of the layout.
    pub version: u32,
    /// The answer as one sentence.
    pub answer: String,
    /// Whether no check is `unfit`.
    pub fit: bool,
    /// What was checked, in the order shown.
    pub checks: Vec<Check>,
}

/// Judges a machine.
pub fn judge(facts: &Facts) -> Fitness {
    let checks = check::all(facts);
    let fit = checks.iter().all(|check| check.grade != Grade::Unfit);
    Fitness { kind: "doctor", version: 1, answer: answer(facts, &checks), fit, checks }
}

/// The answer: first whether, then how far.
fn answer(facts: &Facts, checks: &[Check]) -> String {
    let with = |grade: Grade| checks.iter().filter(move |check| check.grade == grade);
    if let Some(first) = with(Grade::Unfit).next() {
        let more = match with(Grade::Unfit).count() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        return format!("Not fit to measure: {} [{}]{more}.", first.found, first.name);
    }
    let reach = match check::connections(facts) {
        Some(most) => format!("Fit to measure with up to {} connections to one address", count(most)),
        None => "Fit to measure".to_owned(),
    };
    let limits: Vec<&str> = with(Grade::Limits).map(|check| check.name).collect();
    if limits.is_empty() {
        return format!("{reach}; no check found another limit.");
    }
    format!("{reach}, within the limits of: {}.", limits.join(", "))
}
