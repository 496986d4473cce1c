//! The number in flight, counted at starts and ends, must agree with each request's own times.

use super::super::figure::percent;
use super::super::{Diagnostics, Validity};
use super::rated::{OUR_FAULT, Rated};

/// Largest difference allowed between the two ways to compute the same integral.
const LIMIT: f64 = 0.001;

/// What was found.
pub(super) struct Evidence {
    residual: f64,
}

impl Rated for Evidence {
    const CODE: &'static str = "area";
    const LOOKS_AT: &'static str = "the integral of requests in flight, computed twice: from counts at starts and ends, and from each request's own times";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "0.1 % apart";
    const SOURCE: &'static str =
        "The exact form of Little's law holds in every run. The limit allows for rounding.";
    const CAUSE: &'static str = "Times and counts of requests contradict each other.";
    const REMEDY: &'static str = OUR_FAULT;
    const HINT: &'static str = "keep the record and report it";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.load.area_residual.map(|residual| Self { residual })
    }

    fn validity(&self) -> Option<Validity> {
        (self.residual > LIMIT).then_some(Validity::Invalid)
    }

    fn message(&self) -> String {
        format!("requests in flight and their times disagree by {}", percent(self.residual))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, changed};

    #[test]
    fn in_flight_and_times_can_differ_by_a_thousandth() {
        assert_eq!(changed("area", |d| d.load.area_residual = Some(0.001)), None);
        assert_eq!(changed("area", |d| d.load.area_residual = Some(0.001_1)), INVALID);
    }
}
