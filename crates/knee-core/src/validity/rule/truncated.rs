//! A record without an end.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {}

impl Rated for Evidence {
    const CODE: &'static str = "truncated";
    const LOOKS_AT: &'static str = "whether the record is complete";
    const SUSPECT: &'static str = "if its end is missing";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "knee writes each interval to the record as soon as the interval is over. All intervals in the record are therefore complete.";
    const CAUSE: &'static str =
        "knee was killed, or the disk was full. Requests that were in flight at that time count as open.";
    const REMEDY: &'static str =
        "The figures are correct up to the last complete interval. For a complete result, measure again.";
    const HINT: &'static str = "measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.run.truncated.then_some(Self {})
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Suspect)
    }

    fn message(&self) -> String {
        "the record is incomplete: knee was killed".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn a_record_without_an_end_is_suspect() {
        assert_eq!(changed("truncated", |d| d.run.truncated = true), SUSPECT);
    }
}
