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
    const LOOKS_AT: &'static str = "responses followed by bytes that no request asked for";
    const SUSPECT: &'static str = "0.1 %";
    const INVALID: &'static str = "";
    const SOURCE: &'static str =
        "The highest reported percentile, p99.9, shows a thousandth of the requests.";
    const CAUSE: &'static str = "The server sends more than one response to a request, sends one before the request, or states a wrong Content-Length. A response can then be timed for the wrong request. knee closes such a connection, but counts the responses that came before.";
    const REMEDY: &'static str =
        "Look at what the server sends after its responses (`curl -v`, tcpdump), and correct the server.";
    const HINT: &'static str = "look at what the server sends after responses";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let planned = diagnostics.requests.accounting.planned;
        Some(Self { surplus: diagnostics.requests.surplus, planned })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.surplus as f64 / self.planned.max(1) as f64, SUSPECT, f64::INFINITY)
    }

    fn message(&self) -> String {
        format!("{} responses were followed by bytes that nothing asked for", count(self.surplus))
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
