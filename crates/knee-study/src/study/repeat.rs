//! Which trials are repeated, and which variants are lost.
//!
//! A trial is repeated only for what neighbours on the host did to it, never for its result: the choice of the trials
//! that count must not depend on what they measured. The limits are those of the validity rules. Does not run anything.

use super::{Entry, Trial, TrialResult};

/// Most repeats of a trial. Fixed before any run; a judgement: neighbours that stay longer spoil a study anyway.
pub const REPEATS_MAX: u32 = 2;

/// Codes of the warnings about neighbours: the hypervisor gave CPU time to others, set the clock, or suspended the
/// machine. None of them depends on the service or on the generator.
pub const NEIGHBOURS: [&str; 3] = ["clock", "steal", "suspended"];

/// Whether the trial is to be repeated.
pub(super) fn is_due(trial: &Trial, result: &TrialResult) -> bool {
    let TrialResult::Measured(measured) = result else { return false };
    let disturbed = measured.warnings.iter().any(|warning| NEIGHBOURS.contains(&warning.code.as_str()));
    disturbed && trial.attempt <= REPEATS_MAX
}

/// Why the variant of a trial is lost, if it is: its service did not come up, or died in two of its trials in a row.
/// `before` are the results before this one.
pub(super) fn loses<'a>(before: &[Entry], trial: &Trial, result: &'a TrialResult) -> Option<&'a str> {
    match result {
        TrialResult::Measured(_) => None,
        TrialResult::NeverReady { reason } => Some(reason),
        TrialResult::Died { reason } => {
            let last = before.iter().rev().find(|entry| entry.trial.variant == trial.variant)?;
            matches!(last.result, TrialResult::Died { .. }).then_some(reason)
        }
    }
}
