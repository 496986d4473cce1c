//! A CPU quota that stopped the load generator.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::{Rated, above};

/// Shares of the scheduling periods, of which there are ten in a second.
const SUSPECT: f64 = 0.01;
const INVALID: f64 = 0.05;

/// What was found.
pub(super) struct Evidence {
    throttled: u64,
    periods: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "throttled";
    const LOOKS_AT: &'static str = "share of the scheduling periods in which a CPU limit of knee's cgroup or of a parent cgroup stopped knee";
    const SUSPECT: &'static str = "1 %, and more than one period";
    const INVALID: &'static str = "5 %, and more than one period";
    const SOURCE: &'static str = "A stop lasts up to one period of 100 ms. Stops in 1 % of the periods can change the p99. Stops in 5 % of the periods can change the p95.";
    const CAUSE: &'static str = "This container or cgroup has a CPU limit for each period. The load generator, or another program in the cgroup, used up the CPU time of the period. The kernel then stopped the load generator until the next period.";
    const REMEDY: &'static str = "Raise or remove the CPU limit (`docker run --cpus`, `cpu.max`, Kubernetes `limits.cpu`), or reduce the load.";
    const HINT: &'static str = "raise or remove the CPU limit";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        let (throttled, periods) = diagnostics.generator.throttled.filter(|(throttled, _)| *throttled > 1)?;
        Some(Self { throttled, periods })
    }

    fn validity(&self) -> Option<Validity> {
        above(self.throttled as f64 / self.periods.max(1) as f64, SUSPECT, INVALID)
    }

    fn message(&self) -> String {
        format!("a CPU limit stopped knee in {} of {} periods", count(self.throttled), count(self.periods))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{INVALID, SUSPECT, changed};

    #[test]
    fn a_quota_counts_by_the_share_of_periods_that_it_cut_short() {
        let periods =
            |throttled| changed("throttled", move |d| d.generator.throttled = Some((throttled, 600)));
        assert_eq!([0, 1, 6, 7, 30, 31].map(periods), [None, None, None, SUSPECT, SUSPECT, INVALID]);
    }

    #[test]
    fn one_period_of_a_second_is_not_the_whole_run() {
        assert_eq!(changed("throttled", |d| d.generator.throttled = Some((1, 10))), None);
        assert_eq!(changed("throttled", |d| d.generator.throttled = Some((2, 10))), INVALID);
    }
}
