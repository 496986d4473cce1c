//! CPU time that a hypervisor gave to others.

use super::super::figure::percent;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Shares of the run: CPU-bound rates are wrong by the same share.
pub(crate) const SUSPECT: f64 = 0.05;
pub(crate) const INVALID: f64 = 0.2;

/// What was found.
pub(super) struct Evidence {
    stolen: f64,
}

impl Rated for Evidence {
    const CODE: &'static str = "steal";
    const LOOKS_AT: &'static str = "share of the CPU time that the hypervisor gave to other virtual machines";
    const SUSPECT: &'static str = "5 %";
    const INVALID: &'static str = "20 %";
    const SOURCE: &'static str = "If the CPU is the limit, stolen time lowers the throughput by the same share. The rules `loop_lag` and `run_delay` judge the delays that stolen time causes.";
    const CAUSE: &'static str = "Other virtual machines on the same host took CPU time from this one.";
    const REMEDY: &'static str = "Measure at another time, or on a machine that does not share its CPUs.";
    const HINT: &'static str = "measure at another time, or on another machine";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.generator.steal.map(|stolen| Self { stolen })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.stolen, SUSPECT, INVALID)
    }

    fn message(&self) -> String {
        format!("other virtual machines took {} of the CPU time", percent(self.stolen))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed};

    #[test]
    fn stolen_time_counts_by_how_much_it_takes_from_a_rate() {
        let stolen = |share: f64| changed("steal", move |d| d.generator.steal = Some(share));
        assert_eq!([0.01, 0.05, 0.051, 0.2, 0.201].map(stolen), [None, None, SUSPECT, SUSPECT, INVALID]);
    }
}
