//! A machine that slept during the run.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::unit::Nanos;

/// The two clocks are read one after the other; this is more than the noise between the readings.
const LIMIT: Nanos = Nanos::from_millis(10);

/// What was found.
pub(super) struct Evidence {
    suspended: Nanos,
}

impl Rated for Evidence {
    const CODE: &'static str = "suspended";
    const LOOKS_AT: &'static str = "time for which the machine was suspended";
    const SUSPECT: &'static str = "10 ms";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "While a machine is suspended, CLOCK_BOOTTIME continues and CLOCK_MONOTONIC stops. Reading both clocks takes less than 10 ms.";
    const CAUSE: &'static str = "The machine slept, or a hypervisor suspended it. Meanwhile the clock of the run stopped, but the target continued.";
    const REMEDY: &'static str = "Keep the machine awake (`systemd-inhibit`), and measure again.";
    const HINT: &'static str = "keep the machine awake, and measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.generator.suspended.map(|suspended| Self { suspended })
    }

    fn validity(&self) -> Option<Validity> {
        (self.suspended > LIMIT).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("the machine was suspended for {}", self.suspended)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};
    use crate::unit::Nanos;

    #[test]
    fn a_suspended_machine_is_suspect() {
        let slept =
            |millis| changed("suspended", move |d| d.generator.suspended = Some(Nanos::from_millis(millis)));
        assert_eq!([10, 11].map(slept), [None, SUSPECT]);
    }
}
