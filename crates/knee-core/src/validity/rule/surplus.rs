//! Bytes that no request asked for, after responses that looked correct.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Share of the requests.
const SUSPECT: f64 = 0.001;

/// What was found.
pub(super) struct Evidence {
    surplus: u64,
    planned: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "surplus";
    const LOOKS_AT: &'static str = "share of the responses that were followed by unexpected bytes";
    const SUSPECT: &'static str = "0.1 %";
    const INVALID: &'static str = "";
    const SOURCE: &'static str =
        "0.1 % of the requests can already change p99.9, the highest percentile in reports.";
    const CAUSE: &'static str = "The server sends two responses to one request, sends a response before the request, or sends a wrong Content-Length. knee can then assign a response to the wrong request. It closes such a connection, but still counts the earlier responses.";
    const REMEDY: &'static str =
        "Find out which bytes the server sends after its responses (`curl -v`, tcpdump), and correct the server.";
    const HINT: &'static str = "find out which bytes the server sends after its responses";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let planned = diagnostics.requests.accounting.planned;
        Some(Self { surplus: diagnostics.requests.surplus, planned })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.surplus as f64 / self.planned.max(1) as f64, SUSPECT, f64::INFINITY)
    }

    fn message(&self) -> String {
        format!("{} responses were followed by unexpected bytes", count(self.surplus))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn responses_that_nothing_asked_for_are_suspect_when_they_are_many() {
        assert_eq!(changed("surplus", |d| d.requests.surplus = 60), None);
        assert_eq!(changed("surplus", |d| d.requests.surplus = 61), SUSPECT);
    }
}
