//! How many descriptors a profile can open in the process of the load generator, which needs them for its connections.
//!
//! Does not open anything, and changes no limit.

use rustix::process::{Resource, Rlimit, getrlimit};

/// One in so many of the descriptors that the process can have. A run raises the soft limit to the hard one when it
/// begins, which is after the profile has begun.
const SHARE: u64 = 16;

/// Most files of programs and libraries that stay open.
pub(super) const FILES_MAX: usize = 16;

/// Descriptors of events: at least, however few the process can have, and at most.
const EVENTS_MIN: u64 = 16;
const EVENTS_MAX: u64 = 512;

/// What the limits leave for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// How many descriptors the process can have once the run has begun; `None` without a limit.
    pub(super) limit: Option<u64>,
    /// How many of them are for events.
    pub(super) events: usize,
}

impl Budget {
    /// By the limits of this process as they are now.
    pub(super) fn now() -> Self {
        Self::of(getrlimit(Resource::Nofile))
    }

    fn of(limit: Rlimit) -> Self {
        let at_last = limit.maximum.unwrap_or(u64::MAX) / SHARE;
        // Until the soft limit is raised, there are no connections that need the rest.
        let by_now = limit.current.unwrap_or(u64::MAX) / 2;
        let events = at_last.min(by_now).saturating_sub(FILES_MAX as u64).clamp(EVENTS_MIN, EVENTS_MAX);
        Self { limit: limit.maximum, events: events as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_takes_a_sixteenth_of_the_descriptors_and_no_more_than_it_needs() {
        for (current, maximum, events) in [
            (Some(1_024), Some(1_024), 48),
            (Some(4_096), Some(4_096), 240),
            (Some(1_024), Some(1 << 20), 496),
            (Some(1 << 20), Some(1 << 20), 512),
            (None, None, 512),
            (Some(64), Some(64), 16),
        ] {
            let budget = Budget::of(Rlimit { current, maximum });
            assert_eq!(budget, Budget { limit: maximum, events }, "{current:?} {maximum:?}");
        }
    }
}
