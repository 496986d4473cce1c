//! The parts of a load did not begin together.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// Starts that are this far apart are one after another.
const SUSPECT: Nanos = Nanos::from_secs(1);

/// What was found.
pub(super) struct Evidence {
    apart: Nanos,
}

impl Rated for Evidence {
    const CODE: &'static str = "start";
    const LOOKS_AT: &'static str =
        "the time between the first start of a part and the last, by the clocks of the machines";
    const SUSPECT: &'static str = "1 s";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "Clocks that are set over the network differ by milliseconds; starts by hand or by ssh by less than a second.";
    const CAUSE: &'static str = "The parts were started one after another, or the clocks of the machines differ. The intervals of all parts are laid side by side from the start of each, so times of different states of the service are in one interval.";
    const REMEDY: &'static str = "Start all parts at the same time, for example with `at` or `systemd-run --on-calendar`. Set the clocks over the network.";
    const HINT: &'static str = "start all parts at the same time";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { apart: diagnostics.run.parts?.started_apart })
    }

    fn validity(&self) -> Option<Validity> {
        (self.apart > SUSPECT).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("the parts began up to {} apart, by their clocks", self.apart)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{SUSPECT, changed};
    use crate::unit::Nanos;

    #[test]
    fn starts_by_hand_can_differ_by_a_second() {
        let apart =
            |millis| PartsFigures { started_apart: Nanos::from_millis(millis), ..PartsFigures::default() };
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(1_000))), None);
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(1_001))), SUSPECT);
    }
}
