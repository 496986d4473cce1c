//! Measures which share of a reported time is a delay added by the load generator.
//!
//! Compares like with like: the median of the delay with the median of the times, and so on. Does not
//! name the cause of a delay; the rules do.

use std::fmt;

use super::super::diagnostics::Quantiles;
use super::super::{Diagnostics, Validity};
use crate::unit::Nanos;

/// Shorter delays do not count: an ordinary kernel sometimes wakes a thread that late.
const FLOOR: Nanos = Nanos::from_millis(1);

/// Limit for the median: the smallest change that a comparison of two services would notice.
const MEDIAN: f64 = 0.1;

/// Limit for the 99th percentile. Beyond it for the median or the 90th percentile, most of the measurement is
/// distorted.
const TAIL: f64 = 0.25;

/// A quantile of the times that a delay of the generator lengthens too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bent {
    /// The validity that it leads to.
    pub validity: Validity,
    quantile: &'static str,
    delay: Nanos,
    of: Nanos,
    limit: f64,
}

impl Bent {
    /// The effect of the loop lag on service times.
    ///
    /// A closed load on a target on the same machine is suspect at most, and only where most of the times are bent: each
    /// takes the CPUs that the other leaves, so the result is about both together, and waits in the tail are part of it.
    pub(super) fn by_loop_lag(diagnostics: &Diagnostics) -> Option<Self> {
        let Diagnostics { requests, load, generator, run } = diagnostics;
        let bent = Self::find(generator.loop_lag?, requests.service?, generator.timer_slack)?;
        if !load.closed || run.co_located != Some(true) {
            return Some(bent);
        }
        (bent.validity == Validity::Invalid).then_some(Self { validity: Validity::Suspect, ..bent })
    }

    /// The quantile of `times` that `delay` affected most; `slack` is how late timers are by construction.
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
