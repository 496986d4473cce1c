//! A record must have all the intervals that were written.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {
    lost: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "intervals";
    const LOOKS_AT: &'static str = "intervals that are missing from the record";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "any";
    const SOURCE: &'static str = "The end of a record contains the number of its intervals.";
    const CAUSE: &'static str = "The file was changed or damaged after it was written. The totals do not include the requests of the missing intervals.";
    const REMEDY: &'static str = "Restore the file from a copy, or measure again.";
    const HINT: &'static str = "restore the file, or measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let lost = diagnostics.run.intervals_lost;
        (lost > 0).then_some(Self { lost })
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Invalid)
    }

    fn message(&self) -> String {
        match self.lost {
            1 => "an interval of the record is missing".to_owned(),
            lost => format!("{} intervals of the record are missing", count(lost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed};

    #[test]
    fn a_missing_interval_makes_the_run_invalid() {
        assert_eq!(changed("intervals", |d| d.run.intervals_lost = 0), None);
        assert_eq!(changed("intervals", |d| d.run.intervals_lost = 1), INVALID);
    }
}
