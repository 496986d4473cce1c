//! A result needs a response, whatever its status.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::outcome::Outcome;

/// What was found.
pub(super) struct Evidence {
    planned: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "no_answer";
    const LOOKS_AT: &'static str = "number of requests that got a response, with any status";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "none";
    const SOURCE: &'static str = "A single response is enough, because failures of the target are data.";
    const CAUSE: &'static str =
        "The service is down, the address is wrong, or a firewall or proxy rejects the requests.";
    const REMEDY: &'static str = "Look at the errors, which name the cause. Check that the address is correct and the service is running.";
    const HINT: &'static str = "check that the address is correct and the service is running";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let accounting = &diagnostics.requests.accounting;
        let dropped = if diagnostics.load.drops { accounting.count(Outcome::Unsent) } else { 0 };
        let planned = accounting.planned.saturating_sub(dropped);
        let answered = accounting.count(Outcome::Ok).saturating_add(accounting.count(Outcome::HttpError));
        (planned > 0 && answered == 0).then_some(Self { planned })
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Invalid)
    }

    fn message(&self) -> String {
        match self.planned {
            1 => "the only request was not answered".to_owned(),
            planned => format!("none of {} requests was answered", count(planned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed, message};
    use crate::tally::Accounting;

    #[test]
    fn a_run_without_an_answer_is_invalid_and_one_answer_is_enough() {
        let books = |answered: u64| Accounting {
            planned: 10,
            by_outcome: [0, answered, 10 - answered, 0, 0, 0],
            unknown: 0,
        };
        assert_eq!(changed("no_answer", |d| d.requests.accounting = books(0)), INVALID);
        assert_eq!(changed("no_answer", |d| d.requests.accounting = books(1)), None);
        assert_eq!(changed("no_answer", |d| d.requests.accounting = Accounting::default()), None);
    }

    #[test]
    fn dropped_iterations_are_no_unanswered_requests() {
        let told = |by_outcome: [u64; 6]| {
            message("no_answer", move |d| {
                d.load.drops = true;
                d.requests.accounting =
                    Accounting { planned: by_outcome.iter().sum(), by_outcome, unknown: 0 };
            })
        };
        assert_eq!(told([0, 0, 0, 0, 25, 0]), "");
        assert_eq!(told([0, 0, 3, 0, 25, 0]), "none of 3 requests was answered");
        assert_eq!(told([0, 0, 1, 0, 25, 0]), "the only request was not answered");
    }
}
