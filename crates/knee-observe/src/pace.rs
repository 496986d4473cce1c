//! How often a source is asked: one that takes long to answer, and a server whose work a look is.
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

/// How certain a share of looks is depends on their number, not on how often they come: as many as in a run of 24 s.
const LOOKS: u64 = 240;

/// What happens between two looks is not seen, so there are never fewer per second than two; and never more than ten,
/// because each costs the server a millisecond of CPU time.
const LOOK_PACES: (Nanos, Nanos) = (Nanos::from_millis(100), Nanos::from_millis(500));

/// The pace of looks at a server in a run of this planned length; without a plan for it, that of a short run.
pub(crate) fn of_looks_at_a_server(planned: Option<Nanos>) -> Nanos {
    let (least, most) = LOOK_PACES;
    Nanos(planned.unwrap_or_default().0 / LOOKS).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_looks_as_a_short_one_and_two_per_second_at_least() {
        assert_eq!(of_looks_at_a_server(None), Nanos::from_millis(100));
        for (planned, pace) in [(10, 100), (24, 100), (60, 250), (120, 500), (3_600, 500)] {
            let planned = Some(Nanos::from_secs(planned));
            assert_eq!(of_looks_at_a_server(planned), Nanos::from_millis(pace));
        }
    }

    #[test]
    fn what_takes_long_is_done_more_rarely_but_not_too_rarely() {
        let second = Nanos::from_secs(1);
        for (took, pace) in [(0, 1_000), (50, 1_000), (100, 2_000), (900, 5_000)] {
            assert_eq!(slower(second, Nanos::from_millis(took)), Nanos::from_millis(pace));
        }
    }
}
