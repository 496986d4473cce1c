//! Requests that failed on this machine say nothing about the target.

use super::super::figure::{count, percent};
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Shares of the planned requests.
const SUSPECT: f64 = 0.001;
const INVALID: f64 = 0.01;

/// What was found.
pub(super) struct Evidence {
    faults: u64,
    planned: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "generator_faults";
    const LOOKS_AT: &'static str =
        "requests that failed because this machine had no free file descriptor, local port or memory";
    const SUSPECT: &'static str = "0.1 %";
    const INVALID: &'static str = "1 %";
    const SOURCE: &'static str =
        "0.1 % of the requests can already change p99.9, the highest percentile in reports.";
    const CAUSE: &'static str = "This machine ran out of file descriptors, local ports or socket memory. The errors name the missing one.";
    const REMEDY: &'static str = "Raise the limit that the errors name (`ulimit -n` or net.ipv4.ip_local_port_range). Or keep connections alive, or use fewer connections.";
    const HINT: &'static str = "raise the limit that the errors name";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let planned = diagnostics.requests.accounting.planned;
        Some(Self { faults: diagnostics.requests.generator_faults, planned })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.share(), SUSPECT, INVALID)
    }

    fn message(&self) -> String {
        format!("{} requests ({}) failed on this machine", count(self.faults), percent(self.share()))
    }
}

impl Evidence {
    fn share(&self) -> f64 {
        self.faults as f64 / self.planned.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed};

    #[test]
    fn failures_of_this_machine_count_by_their_share_of_all_requests() {
        let failed = |faults| changed("generator_faults", move |d| d.requests.generator_faults = faults);
        assert_eq!([60, 61, 600, 601].map(failed), [None, SUSPECT, SUSPECT, INVALID]);
    }
}
