//! Bytes that no request asked for, after responses that looked correct.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Share of the requests.
const SUSPECT: f64 = 0.001;

/// What was found.
pub(super) struct Evidence {
    /// Responses with such bytes, and those before them on the same connection.
    doubtful: u64,
    planned: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "surplus";
    const LOOKS_AT: &'static str = "share of the responses that were followed by unexpected bytes";
    const SUSPECT: &'static str = "0.1 %";
    const INVALID: &'static str = "";
    const SOURCE: &'static str =
        "The highest reported percentile, p99.9, shows a thousandth of the requests.";
    const CAUSE: &'static str = "The server sends more than one response to a request, sends one before the request, or states a wrong Content-Length. knee can then assign a response to the wrong request. When knee sees unexpected bytes, it closes the connection. If these bytes are a whole response, each earlier response on this connection can belong to the request before it. All these responses therefore count in this figure.";
    const REMEDY: &'static str = "Find out which bytes the server sends after its responses (`curl -v`, tcpdump), and correct the server.";
    const HINT: &'static str = "find out which bytes the server sends after its responses";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let planned = diagnostics.requests.accounting.planned;
        // Records without the second figure have the first.
        Some(Self { doubtful: diagnostics.requests.doubtful.max(diagnostics.requests.surplus), planned })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.doubtful as f64 / self.planned.max(1) as f64, SUSPECT, f64::INFINITY)
    }

    fn message(&self) -> String {
        format!("unexpected bytes make {} responses doubtful", count(self.doubtful))
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

    #[test]
    fn one_surplus_response_puts_all_responses_before_it_on_its_connection_in_doubt() {
        let after = |exchanges| {
            changed("surplus", move |d| (d.requests.surplus, d.requests.doubtful) = (1, exchanges))
        };
        assert_eq!((after(60), after(61)), (None, SUSPECT));
    }
}
