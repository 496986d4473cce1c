//! A result needs a request.

use super::super::{Diagnostics, Validity};
use super::rated::Rated;
use crate::outcome::Outcome;

/// What was found.
pub(super) struct Evidence {}

impl Rated for Evidence {
    const CODE: &'static str = "nothing_measured";
    const LOOKS_AT: &'static str = "number of requests that were scheduled after the warm-up; dropped iterations of a script do not count";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "none";
    const SOURCE: &'static str = "Without a request, there is no result.";
    const CAUSE: &'static str = "The run ended before its warm-up did, or a script sent no request.";
    const REMEDY: &'static str = "Let the run last longer than its warm-up. For a script that sends no request, only the script's own metrics are reported.";
    const HINT: &'static str = "let the run last longer than its warm-up";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let accounting = &diagnostics.requests.accounting;
        // An iteration that found every VU busy is unsent; whether it would have sent a request is unknown.
        let dropped = if diagnostics.load.drops { accounting.count(Outcome::Unsent) } else { 0 };
        (accounting.planned <= dropped).then_some(Self {})
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Invalid)
    }

    fn message(&self) -> String {
        "no request was scheduled after the warm-up".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed};
    use crate::tally::Accounting;

    #[test]
    fn a_run_without_a_request_is_invalid() {
        assert_eq!(changed("nothing_measured", |d| d.requests.accounting = Accounting::default()), INVALID);
    }

    #[test]
    fn a_script_that_only_drops_iterations_has_sent_nothing() {
        let dropped = |drops| {
            changed("nothing_measured", move |d| {
                d.load.drops = drops;
                d.requests.accounting =
                    Accounting { planned: 25, by_outcome: [0, 0, 0, 0, 25, 0], unknown: 0 };
            })
        };
        assert_eq!(dropped(true), INVALID);
        assert_eq!(dropped(false), None, "without drops these are requests that found no connection");
    }
}
