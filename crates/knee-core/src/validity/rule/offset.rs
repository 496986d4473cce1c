//! The start of a part is not known well enough on the clock of its fleet.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// A tenth of an interval: with more, requests of one moment are counted in two.
const SUSPECT: Nanos = Nanos::from_millis(100);

/// What was found.
pub(super) struct Evidence {
    bound: Nanos,
}

impl Rated for Evidence {
    const CODE: &'static str = "offset";
    const LOOKS_AT: &'static str =
        "how wrong the start of a part can be on the clock of the fleet's controller";
    const SUSPECT: &'static str = "100 ms";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "A question for the time and its answer bound the difference of two clocks by half of the time between them, whatever the way of each. On a local network that is below 1 ms, between continents about 100 ms.";
    const CAUSE: &'static str = "Messages between an agent and the controller take long, or one of the machines was too busy to answer. The response times do not depend on this; only which intervals of the parts are laid side by side.";
    const REMEDY: &'static str =
        "Place agents, NATS and controller nearer to each other, or look at the parts one by one.";
    const HINT: &'static str = "place agents, NATS and controller nearer to each other";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { bound: diagnostics.run.parts?.start_bound? })
    }

    fn validity(&self) -> Option<Validity> {
        (self.bound > SUSPECT).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("the start of a part is known to within {} only", self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{SUSPECT, changed};
    use crate::unit::Nanos;

    #[test]
    fn a_start_must_be_known_to_a_tenth_of_an_interval() {
        let bound = |millis| PartsFigures {
            start_bound: Some(Nanos::from_millis(millis)),
            ..PartsFigures::default()
        };
        assert_eq!(changed("offset", |d| d.run.parts = Some(bound(100))), None);
        assert_eq!(changed("offset", |d| d.run.parts = Some(bound(101))), SUSPECT);
        assert_eq!(changed("offset", |d| d.run.parts = Some(PartsFigures::default())), None);
    }
}
