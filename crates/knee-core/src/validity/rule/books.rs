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
        // A record that lost intervals lacks requests, which is no miscount.
        let whole = diagnostics.run.damaged.is_none() && diagnostics.run.intervals_lost == 0;
        (unaccounted > 0 && whole).then_some(Self { planned, unaccounted })
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
    use super::super::super::Diagnostics;
    use super::super::testing::{INVALID, changed};

    #[test]
    fn a_single_unaccounted_request_makes_the_run_invalid() {
        assert_eq!(changed("books", |d| d.requests.unaccounted = 0), None);
        assert_eq!(changed("books", |d| d.requests.unaccounted = 1), INVALID);
    }

    #[test]
    fn requests_that_lost_intervals_of_a_record_had_are_no_miscount() {
        let lost = |d: &mut Diagnostics| (d.requests.unaccounted, d.run.intervals_lost) = (1, 1);
        assert_eq!(changed("books", lost), None);
    }
}
