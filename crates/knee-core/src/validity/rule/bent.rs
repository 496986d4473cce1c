//! How much of a reported time is a delay that the load generator added.
//!
//! Compares like with like: the median of the delay with the median of the times, and so on. Does not
//! name the cause of a delay; the rules do.

use std::fmt;

use super::super::diagnostics::Quantiles;
use super::super::{Diagnostics, Validity};
use crate::unit::Nanos;

/// Below this no delay counts: an ordinary kernel wakes a thread that late now and then.
const FLOOR: Nanos = Nanos::from_millis(1);

/// Of the median: as much as a comparison of two services would still notice.
const MEDIAN: f64 = 0.1;

/// Of the 99th percentile, and of median or 90th percentile when most of what was measured is bent.
const TAIL: f64 = 0.25;

/// A quantile of the times that a delay of the generator makes longer by too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bent {
    /// What that makes of the result.
    pub validity: Validity,
    quantile: &'static str,
    delay: Nanos,
    of: Nanos,
    limit: f64,
}

impl Bent {
    /// What noticing responses late did to service times.
    ///
    /// At most suspect for a closed load on a target on the same machine: each takes the CPUs that the other leaves, so
    /// the result is about the pair.
    pub(super) fn by_loop_lag(diagnostics: &Diagnostics) -> Option<Self> {
        let Diagnostics { requests, load, generator, run } = diagnostics;
        let bent = Self::find(generator.loop_lag?, requests.service?, generator.timer_slack)?;
        let shared = load.closed && run.co_located == Some(true);
        let most = if shared { Validity::Suspect } else { Validity::Invalid };
        Some(Self { validity: bent.validity.min(most), ..bent })
    }

    /// The worst that `delay` did to `times`; `slack` is how late timers are by construction.
    pub(super) fn find(delay: Quantiles, times: Quantiles, slack: Nanos) -> Option<Self> {
        use Validity::{Invalid, Suspect};
        let tests = [
            (Invalid, "p50", delay.p50, times.p50, TAIL),
            (Invalid, "p90", delay.p90, times.p90, TAIL),
            (Suspect, "p50", delay.p50, times.p50, MEDIAN),
            (Suspect, "p99", delay.p99, times.p99, TAIL),
        ];
        let floor = FLOOR.saturating_add(slack);
        let bent = |(_, _, delay, of, limit): &(Validity, &str, Nanos, Nanos, f64)| {
            *delay > floor && delay.0 as f64 > of.0 as f64 * limit
        };
        let (validity, quantile, delay, of, limit) = tests.into_iter().find(bent)?;
        Some(Self { validity, quantile, delay, of, limit })
    }
}

impl fmt::Display for Bent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantile, delay, of, limit, .. } = self;
        write!(f, "{quantile} {delay} of {of}, limit {:.0} %", limit * 100.0)
    }
}
