//! A record without an end.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {}

impl Rated for Evidence {
    const CODE: &'static str = "truncated";
    const LOOKS_AT: &'static str = "whether the record has an end";
    const SUSPECT: &'static str = "if it has none";
    const INVALID: &'static str = "";
    const SOURCE: &'static str =
        "A record is written interval by interval, so all intervals before its end are whole.";
    const CAUSE: &'static str =
        "knee was killed, or the disk was full. Requests that were in flight at that moment count as open.";
    const REMEDY: &'static str =
        "The numbers hold up to the last whole interval. Measure again for a complete result.";
    const HINT: &'static str = "measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.run.truncated.then_some(Self {})
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Suspect)
    }

    fn message(&self) -> String {
        "the record has no end: knee was killed".to_owned()
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
