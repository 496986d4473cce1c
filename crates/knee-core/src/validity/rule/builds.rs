//! The parts of a load were made by different programs.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {
    builds: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "builds";
    const LOOKS_AT: &'static str = "the builds of knee that made the parts";
    const SUSPECT: &'static str = "if they differ";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "Two versions can measure differently.";
    const CAUSE: &'static str =
        "The machines have different versions of knee, so their times cannot be compared without doubt.";
    const REMEDY: &'static str = "Install the same build on all machines.";
    const HINT: &'static str = "install the same build on all machines";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { builds: diagnostics.run.parts?.builds })
    }

    fn validity(&self) -> Option<Validity> {
        (self.builds > 1).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("the parts were made by {} different builds of knee", count(self.builds))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn one_build_is_expected() {
        let made_by = |builds| PartsFigures { builds, ..PartsFigures::default() };
        assert_eq!(changed("builds", |d| d.run.parts = Some(made_by(1))), None);
        assert_eq!(changed("builds", |d| d.run.parts = Some(made_by(2))), SUSPECT);
    }
}
