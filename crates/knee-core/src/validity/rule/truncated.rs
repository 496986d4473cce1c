//! A record without an end.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {
    /// Why the writer gave up, if it could say so.
    reason: Option<String>,
}

/// Most characters of a reason: records can contain any text.
const REASON_CHARS_MAX: usize = 60;

impl Rated for Evidence {
    const CODE: &'static str = "truncated";
    const LOOKS_AT: &'static str = "whether the record is complete";
    const SUSPECT: &'static str = "if its end is missing";
    const INVALID: &'static str = "";
    const SOURCE: &'static str =
        "knee writes a record interval by interval, so all intervals before the missing end are complete.";
    const CAUSE: &'static str = "knee was killed, the machine stopped, the disk was full, or the file was copied only in part. Requests that were in flight at that moment count as open.";
    const REMEDY: &'static str =
        "The figures are correct up to the last complete interval. For a complete result, measure again.";
    const HINT: &'static str = "measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let run = &diagnostics.run;
        // What is damaged might have had an end.
        let plainly = run.truncated && run.damaged.is_none();
        plainly.then(|| Self { reason: run.gave_up.clone() })
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Suspect)
    }

    fn message(&self) -> String {
        let Some(reason) = &self.reason else { return "the record has no end".to_owned() };
        let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
        format!("the record ends before the run did: {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::Damage;
    use super::super::testing::{SUSPECT, changed, message};

    #[test]
    fn a_record_without_an_end_is_suspect() {
        assert_eq!(changed("truncated", |d| d.run.truncated = true), SUSPECT);
        assert_eq!(message("truncated", |d| d.run.truncated = true), "the record has no end");
    }

    #[test]
    fn a_record_that_could_not_be_written_to_its_end_says_why() {
        let message = message("truncated", |d| {
            (d.run.truncated, d.run.gave_up) = (true, Some("no space left on device".to_owned()));
        });
        assert_eq!(message, "the record ends before the run did: no space left on device");
    }

    #[test]
    fn a_damaged_record_is_not_called_one_without_an_end() {
        let found = changed("truncated", |d| {
            (d.run.truncated, d.run.damaged) = (true, Some(Damage { first: 12, places: 1 }));
        });
        assert_eq!(found, None);
    }
}
