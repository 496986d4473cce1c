//! A part of a load has other arrivals than its plan.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {
    off: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "arrivals";
    const LOOKS_AT: &'static str = "arrivals of complete parts against their plans";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "any difference";
    const SOURCE: &'static str =
        "The plan decides each arrival; a part that ended by its plan has exactly its own.";
    const CAUSE: &'static str =
        "A record lacks intervals, or a bug in knee. The figures then are not those of the planned load.";
    const REMEDY: &'static str =
        "Look for warnings of the parts. Without any, keep the records and report the bug.";
    const HINT: &'static str = "measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { off: diagnostics.run.parts?.arrivals_off })
    }

    fn validity(&self) -> Option<Validity> {
        (self.off > 0).then_some(Validity::Invalid)
    }

    fn message(&self) -> String {
        format!("complete parts have {} arrivals more or less than planned", count(self.off))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{INVALID, changed};

    #[test]
    fn one_arrival_too_many_is_too_many() {
        let off = |arrivals_off| PartsFigures { arrivals_off, ..PartsFigures::default() };
        assert_eq!(changed("arrivals", |d| d.run.parts = Some(off(0))), None);
        assert_eq!(changed("arrivals", |d| d.run.parts = Some(off(1))), INVALID);
    }
}
