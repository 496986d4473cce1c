//! The parts of a load did not begin together.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// Starts by hand that are this far apart are one after another.
const SUSPECT: Nanos = Nanos::from_secs(1);
/// The same for starts that a controller agreed with its agents; and when nothing of the intervals fits together.
const SUSPECT_AGREED: Nanos = Nanos::from_millis(10);
const INVALID_AGREED: Nanos = Nanos::from_secs(1);

/// What was found.
pub(super) struct Evidence {
    apart: Nanos,
    /// How wrong each start can be, if there is a common clock.
    bound: Option<Nanos>,
}

impl Rated for Evidence {
    const CODE: &'static str = "start";
    const LOOKS_AT: &'static str = "the time between the first start of a part and the last, by the clock of the fleet's controller, or else by the clocks of the machines";
    const SUSPECT: &'static str = "1 s; 10 ms in a fleet";
    const INVALID: &'static str = "1 s in a fleet";
    const SOURCE: &'static str = "Clocks that are set over the network differ by milliseconds; starts by hand or by ssh by less than a second. Agents of a fleet agree on a time, and wake up for it within a millisecond.";
    const CAUSE: &'static str = "The parts were started one after another, an agent was too busy to start on time, or the clocks of the machines differ. The intervals of all parts are laid side by side from the start of each, so times of different states of the service are in one interval.";
    const REMEDY: &'static str = "Start all parts at the same time, for example with `at` or `systemd-run --on-calendar`, or use a fleet. In a fleet, stop what else the agent that began late was doing. Set the clocks over the network.";
    const HINT: &'static str =
        "start all parts at the same time; in a fleet, stop what else the agent that began late was doing";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let parts = diagnostics.run.parts?;
        Some(Self { apart: parts.started_apart, bound: parts.start_bound })
    }

    fn validity(&self) -> Option<Validity> {
        let Some(bound) = self.bound else {
            return (self.apart > SUSPECT).then_some(Validity::Suspect);
        };
        // Two starts can each be wrong by the bound; only what that cannot explain counts.
        let sure = self.apart.since(bound.saturating_add(bound));
        let invalid = (sure > INVALID_AGREED).then_some(Validity::Invalid);
        invalid.or((sure > SUSPECT_AGREED).then_some(Validity::Suspect))
    }

    fn message(&self) -> String {
        match self.bound {
            Some(bound) => format!("the parts began up to {} apart, each known to {bound}", self.apart),
            None => format!("the parts began up to {} apart, by their clocks", self.apart),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::PartsFigures;
    use super::super::testing::{INVALID, SUSPECT, changed};
    use crate::unit::Nanos;

    #[test]
    fn starts_by_hand_can_differ_by_a_second() {
        let apart =
            |millis| PartsFigures { started_apart: Nanos::from_millis(millis), ..PartsFigures::default() };
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(1_000))), None);
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(1_001))), SUSPECT);
    }

    #[test]
    fn starts_of_a_fleet_can_differ_by_ten_milliseconds_more_than_the_clocks_explain() {
        let apart = |millis| PartsFigures {
            started_apart: Nanos::from_millis(millis),
            start_bound: Some(Nanos::from_millis(5)),
            ..PartsFigures::default()
        };
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(20))), None);
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(21))), SUSPECT);
        assert_eq!(changed("start", |d| d.run.parts = Some(apart(1_011))), INVALID);
    }
}
