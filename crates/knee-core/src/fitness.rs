//! Whether a machine is fit to measure: facts about it, one check per property, and the answer in one sentence.
//!
//! Judges only. `knee doctor` reads the files and measures, so that tests can hand in the facts of other machines. The
//! rules of [`crate::validity`] judge a run; where a check foresees what one of them would find, it uses the same
//! limits.

use serde::Serialize;

use crate::unit::Nanos;
use crate::validity::figure::count;

mod check;
mod facts;

pub use facts::{Facts, Program, Texts};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Name of the check: one word.
    pub name: &'static str,
    /// Whether it limits what can be measured.
    pub grade: Grade,
    /// What was found, in a few words.
    pub found: String,
    /// What it means for results; empty if nothing follows from it.
    pub effect: String,
    /// What to do about it; empty if there is nothing to do.
    pub remedy: String,
}

/// What a check means for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// No limit.
    Ok,
    /// Some results are less exact, or some loads cannot be sent.
    Limits,
    /// Results would be invalid.
    Unfit,
    /// A feature of knee is not available; other measurements are not affected.
    Off,
    /// This platform does not report it.
    Unknown,
}

impl Grade {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limits => "limits",
            Self::Unfit => "unfit",
            Self::Off => "off",
            Self::Unknown => "unknown",
        }
    }
}

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

/// Pauses of one thread that wanted to run all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// The CPU that it was placed on, if that was possible.
    pub cpu: Option<usize>,
    /// Duration of the measurement.
    pub measured: Nanos,
    /// Sum of its pauses.
    pub paused: Nanos,
    /// Longest pause.
    pub longest: Nanos,
}

/// From this lateness on, a late wake-up counts: the rule `lag` ignores less.
pub const LATE: Nanos = Nanos::from_millis(1);

/// Wake-ups of threads that slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// Number of wake-ups.
    pub count: u64,
    /// Wake-ups that were later than [`LATE`].
    pub late: u64,
    /// Largest lateness.
    pub latest: Nanos,
}

impl Wakes {
    /// Records a wake-up that was `late`.
    pub fn note(&mut self, late: Nanos) {
        self.count += 1;
        self.late += u64::from(late > LATE);
        self.latest = self.latest.max(late);
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            late: self.late + other.late,
            latest: self.latest.max(other.latest),
        }
    }
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

#[cfg(test)]
mod tests;
