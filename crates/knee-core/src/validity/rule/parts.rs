//! Parts of the load are missing, or ended before the others.

use super::super::figure::{count, percent};
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// What was found.
pub(super) struct Evidence {
    of: u64,
    missing: u64,
    ended_early: u64,
    lost_share: f64,
}

impl Rated for Evidence {
    const CODE: &'static str = "parts";
    const LOOKS_AT: &'static str =
        "the share of the load that missing parts and those that ended early did not send";
    const SUSPECT: &'static str = "any";
    const INVALID: &'static str = "2 %";
    const SOURCE: &'static str = "A percentile of requests of which 2 % are missing can be off by 2 points of rank: its p98 can be what is shown as p100.";
    const CAUSE: &'static str = "The record of a part was not given, or its load generator ended before its plan: killed, interrupted, or cut off from its disk. The service then had less load than planned, and the figures lack the times of that part.";
    const REMEDY: &'static str = "Give the records of all parts. If a machine failed, measure again.";
    const HINT: &'static str = "give the records of all parts, or measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let parts = diagnostics.run.parts?;
        let missing = parts.of.saturating_sub(parts.given);
        Some(Self { of: parts.of, missing, ended_early: parts.ended_early, lost_share: parts.lost_share })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.lost_share, 0.0, 0.02)
    }

    fn message(&self) -> String {
        let of = count(self.of);
        let what = match (self.missing, self.ended_early) {
            (missing, 0) => format!("{} of {of} parts missing", count(missing)),
            (0, early) => format!("{} of {of} parts ended early", count(early)),
            (missing, early) => {
                format!("{} of {of} parts missing, {} ended early", count(missing), count(early))
            }
        };
        format!("{what}; the result lacks {} of the load", percent(self.lost_share))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{INVALID, SUSPECT, changed, message};

    fn lost(share: f64) -> PartsFigures {
        PartsFigures { of: 4, given: 3, lost_share: share, ..PartsFigures::default() }
    }

    #[test]
    fn a_run_of_one_machine_has_no_parts() {
        assert_eq!(changed("parts", |d| d.run.parts = None), None);
    }

    #[test]
    fn what_was_not_sent_counts_by_its_share() {
        assert_eq!(changed("parts", |d| d.run.parts = Some(lost(0.0))), None);
        assert_eq!(changed("parts", |d| d.run.parts = Some(lost(0.02))), SUSPECT);
        assert_eq!(changed("parts", |d| d.run.parts = Some(lost(0.021))), INVALID);
    }

    #[test]
    fn the_message_says_how_many_parts_and_how_much() {
        let text = message("parts", |d| d.run.parts = Some(lost(0.25)));
        assert_eq!(text, "1 of 4 parts missing; the result lacks 25 % of the load");
        let both =
            PartsFigures { of: 4, given: 3, ended_early: 2, lost_share: 0.5, ..PartsFigures::default() };
        let text = message("parts", |d| d.run.parts = Some(both));
        assert_eq!(text, "1 of 4 parts missing, 2 ended early; the result lacks 50 % of the load");
    }
}
