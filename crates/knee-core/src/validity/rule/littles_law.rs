//! In steady state throughput x service time is the number in flight (Little, 1961).

use super::super::figure::percent;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// Largest deviation in steady state, beyond what the requests at the edges explain.
const LIMIT: f64 = 0.02;

/// What was found.
pub(super) struct Evidence {
    residual: f64,
    allowance: f64,
}

impl Rated for Evidence {
    const CODE: &'static str = "littles_law";
    const LOOKS_AT: &'static str = "difference between the requests in flight and throughput x service time, in the steady part of the run";
    const SUSPECT: &'static str = "2 %, plus the share of requests at the start and end of this part";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "Little's law (1961) holds for all distributions. The 2 % allow for workers that do not end their intervals at exactly the same time.";
    const CAUSE: &'static str = "The load was not steady: the number of requests in flight grew during the run, or the server stalled at the end. The means then depend on the end time of the run. In a steady run of a fast service, a generator that notices responses late can be the cause.";
    const REMEDY: &'static str = "Look at the figures of each interval. Then use a warm-up, lower the arrival rate, or let the run last longer.";
    const HINT: &'static str = "use a warm-up, or let the run last longer";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let load = &diagnostics.load;
        Some(Self { residual: load.little_residual?, allowance: load.little_allowance })
    }

    fn validity(&self) -> Option<Validity> {
        (self.residual > LIMIT + self.allowance).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("not steady: in flight differs by {} from throughput x service time", percent(self.residual))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn littles_law_can_be_off_by_two_percent_and_what_the_edges_explain() {
        let off = |(residual, allowance): (f64, f64)| {
            changed("littles_law", move |d| {
                (d.load.little_residual, d.load.little_allowance) = (Some(residual), allowance);
            })
        };
        let rated = [(0.02, 0.0), (0.021, 0.0), (0.5, 0.5), (0.53, 0.5)].map(off);
        assert_eq!(rated, [None, SUSPECT, None, SUSPECT]);
    }
}
