//! Steps of the wall clock against the run's clock.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// Larger steps of the wall clock do not come from slewing.
const STEP: Nanos = Nanos::from_millis(50);

/// What was found.
pub(super) struct Evidence {
    step_ns: i64,
}

impl Rated for Evidence {
    const CODE: &'static str = "clock";
    const LOOKS_AT: &'static str = "jumps of the wall clock, compared with the run's own clock";
    const SUSPECT: &'static str = "50 ms";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "Time synchronization corrects smaller errors gradually.";
    const CAUSE: &'static str = "The wall clock was set during the run. The measured times are correct, because they come from another clock. But the times in logs of other programs do not match the times of this run.";
    const REMEDY: &'static str = "Wait until the clock is synchronized (`chronyc waitsync`). If you compare the run with logs, measure again.";
    const HINT: &'static str = "wait until the clock is synchronized, then measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { step_ns: diagnostics.generator.wall_drift_ns })
    }

    fn validity(&self) -> Option<Validity> {
        (self.step() > STEP).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        let direction = if self.step_ns > 0 { "forward" } else { "back" };
        format!("the wall clock was set {direction} by {}", self.step())
    }
}

impl Evidence {
    const fn step(&self) -> Nanos {
        Nanos(self.step_ns.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn a_step_of_the_wall_clock_over_50_ms_is_suspect_in_either_direction() {
        let step = |ns: i64| changed("clock", move |d| d.generator.wall_drift_ns = ns);
        assert_eq!([50_000_000, 50_000_001, -50_000_001].map(step), [None, SUSPECT, SUSPECT]);
    }
}
