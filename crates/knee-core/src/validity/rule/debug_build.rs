//! A build without optimizations measures itself.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {}

impl Rated for Evidence {
    const CODE: &'static str = "debug_build";
    const LOOKS_AT: &'static str = "whether the program was built without optimizations";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "if it was";
    const SOURCE: &'static str =
        "A debug build needs 10 to 50 times as much CPU time per request as a release build.";
    const CAUSE: &'static str =
        "The program was built without `--release`. Such a build mostly measures its own slowness.";
    const REMEDY: &'static str = "Build with `cargo build --release`.";
    const HINT: &'static str = "build with `cargo build --release`";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.run.debug_build.then_some(Self {})
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Invalid)
    }

    fn message(&self) -> String {
        "this build of knee is not optimized".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed};

    #[test]
    fn a_debug_build_does_not_measure() {
        assert_eq!(changed("debug_build", |d| d.run.debug_build = true), INVALID);
    }
}
