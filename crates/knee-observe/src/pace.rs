//! How often a source is asked that takes long to answer.
//!
//! Does not wait.

use knee_core::unit::Nanos;

/// What takes a time is done again after so many times of it: at most 5 % of the time is spent waiting for a source.
const SHARE: u64 = 20;

/// But never more rarely than once in so many paces: a source that is slow under load is the one to be watched.
const PACES_MAX: u64 = 5;

/// The pace of what takes this long.
pub(crate) fn slower(pace: Nanos, took: Nanos) -> Nanos {
    Nanos(took.0.saturating_mul(SHARE)).clamp(pace, Nanos(pace.0.saturating_mul(PACES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_more_rarely_but_not_too_rarely() {
        let second = Nanos::from_secs(1);
        for (took, pace) in [(0, 1_000), (50, 1_000), (100, 2_000), (900, 5_000)] {
            assert_eq!(slower(second, Nanos::from_millis(took)), Nanos::from_millis(pace));
        }
    }
}
