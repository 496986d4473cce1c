//! Reads the time; the only module of the project that does.
//!
//! Does not wait; waiting until a due time belongs to `knee-engine`'s pacer.

#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::unit::Nanos;

/// A monotonic clock that reads zero at the moment it was started. Copies read
/// the same time.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Time since the clock was started.
    #[inline]
    pub fn now(&self) -> Nanos {
        // u64 nanoseconds reach 584 years; the cast cannot lose anything a run contains.
        Nanos(self.origin.elapsed().as_nanos() as u64)
    }
}

/// Wall-clock time since the Unix epoch, for comparing a run with the logs of other programs; never for durations. A
/// clock set before 1970 reads zero.
pub fn wall() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(Nanos::ZERO, Nanos::from)
}
