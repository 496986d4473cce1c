//! Every request that came due must have ended exactly once.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::{OUR_FAULT, Rated};

/// What was found.
pub(super) struct Evidence {
    planned: u64,
    unaccounted: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "books";
    const LOOKS_AT: &'static str = "scheduled requests without exactly one outcome";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "any";
    const SOURCE: &'static str = "The counts are whole numbers, so an error of a single request is detected.";
    const CAUSE: &'static str = "knee miscounted requests. When a load generator loses requests, it loses the slow ones. Every percentile is then too low.";
    const REMEDY: &'static str = OUR_FAULT;
    const HINT: &'static str = "keep the record and report it";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let (planned, unaccounted) =
            (diagnostics.requests.accounting.planned, diagnostics.requests.unaccounted);
        (unaccounted > 0).then_some(Self { planned, unaccounted })
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Invalid)
    }

    fn message(&self) -> String {
        format!(
            "{} of {} requests do not have exactly one outcome",
            count(self.unaccounted),
            count(self.planned)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed};

    #[test]
    fn a_single_unaccounted_request_makes_the_run_invalid() {
        assert_eq!(changed("books", |d| d.requests.unaccounted = 0), None);
        assert_eq!(changed("books", |d| d.requests.unaccounted = 1), INVALID);
    }
}
