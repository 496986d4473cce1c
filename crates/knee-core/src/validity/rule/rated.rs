//! The interface of rules: their texts, and the rating of their evidence.
//!
//! Does not know which rules there are; see [`super::RULES`].

use super::super::{Diagnostics, Validity};

/// The evidence of a rule, with all texts of the rule.
pub(super) trait Rated: Sized {
    /// Short, stable name.
    const CODE: &'static str;
    /// What the rule looks at, for the table of rules.
    const LOOKS_AT: &'static str;
    /// When the result is suspect; empty if never.
    const SUSPECT: &'static str;
    /// When the result is invalid; empty if never.
    const INVALID: &'static str;
    /// Where the limits come from.
    const SOURCE: &'static str;
    /// What usually causes it, and what it does to the numbers.
    const CAUSE: &'static str;
    /// What to do, at length.
    const REMEDY: &'static str;
    /// What to do first, as an imperative.
    const HINT: &'static str;

    /// The evidence, if there is any. A figure that this platform cannot measure (`None`) is no evidence.
    fn find(diagnostics: &Diagnostics) -> Option<Self>;

    /// The validity that it leads to; `None` if it is within limits.
    fn validity(&self) -> Option<Validity>;

    /// The message, with its figure; at most 12 words, no full stop.
    fn message(&self) -> String;

    /// What to do first, by the evidence.
    fn hint(&self) -> &'static str {
        Self::HINT
    }
}

/// The validity by a figure with two limits; both limits are exclusive.
pub(super) fn above(value: f64, suspect: f64, invalid: f64) -> Option<Validity> {
    if value > invalid {
        Some(Validity::Invalid)
    } else if value > suspect {
        Some(Validity::Suspect)
    } else {
        None
    }
}

pub(super) const OUR_FAULT: &str =
    "This is a bug in knee, not in the target. Keep the record and report the bug.";
