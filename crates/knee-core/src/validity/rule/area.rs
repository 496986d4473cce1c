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
    const LOOKS_AT: &'static str = "the sum of all request times, computed in two ways: from the number of requests in flight, and from the time of each request";
    const SUSPECT: &'static str = "";
    const INVALID: &'static str = "the two sums differ by 0.1 %";
    const SOURCE: &'static str =
        "This form of Little's law is exact in every run. The limit allows for rounding.";
    const CAUSE: &'static str = "The measured times and the counted requests contradict each other.";
    const REMEDY: &'static str = OUR_FAULT;
    const HINT: &'static str = "keep the record and report it";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.load.area_residual.map(|residual| Self { residual })
    }

    fn validity(&self) -> Option<Validity> {
        (self.residual > LIMIT).then_some(Validity::Invalid)
    }

    fn message(&self) -> String {
        format!("requests in flight and request times differ by {}", percent(self.residual))
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
