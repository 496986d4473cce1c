//! Reads the time; the only module of the project that does. Simulations set it instead.
//!
//! Does not wait; waiting until a due time belongs to `knee-engine`'s pacer.

#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::cell::Cell;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::unit::Nanos;

thread_local! {
    /// What simulated clocks read on this thread.
    static SIMULATED: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
}

/// A monotonic clock that reads zero at the moment it was started. Copies read
/// the same time.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    /// When it was started; `None` for a simulated clock.
    origin: Option<Instant>,
}

impl MonotonicClock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { origin: Some(Instant::now()) }
    }

    /// A clock that has read zero this long ago.
    pub fn started(ago: Nanos) -> Self {
        let now = Instant::now();
        // A machine that has run for a shorter time has no such moment.
        Self { origin: Some(now.checked_sub(ago.into()).unwrap_or(now)) }
    }

    /// A clock that reads what [`simulate`] last said on the thread that reads it.
    pub const fn simulated() -> Self {
        Self { origin: None }
    }

    /// Time since the clock was started.
    #[inline]
    pub fn now(&self) -> Nanos {
        // u64 nanoseconds reach 584 years; the cast cannot lose anything a run contains.
        self.origin.map_or_else(|| SIMULATED.get(), |origin| Nanos(origin.elapsed().as_nanos() as u64))
    }
}

/// Sets what the simulated clocks read on this thread.
pub fn simulate(now: Nanos) {
    SIMULATED.set(now);
}

/// Wall-clock time since the Unix epoch, for comparing a run with the logs of other programs; never for durations. A
/// clock set before 1970 reads zero.
pub fn wall() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(Nanos::ZERO, Nanos::from)
}
