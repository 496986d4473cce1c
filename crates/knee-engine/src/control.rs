//! Steering a run from outside: a signal, a key, a screen; and knowing when it began.
//!
//! Does not handle signals; the binary does and calls this.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::clock::MonotonicClock;

/// A handle on a run that has been or will be started. Clones steer the same run.
#[derive(Clone, Debug, Default)]
pub struct Control {
    level: Arc<AtomicU8>,
    clock: Arc<Mutex<Option<MonotonicClock>>>,
}

/// What has been asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// Go on.
    Run,
    /// No new arrivals; requests in flight have their grace period.
    Stop,
    /// Stop at once; requests in flight are censored.
    Abort,
}

impl Control {
    /// A handle that asks for nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No new arrivals; what is in flight may finish. Within 100 ms.
    pub fn stop(&self) {
        self.level.fetch_max(1, Ordering::Relaxed);
    }

    /// Stop at once. Within 100 ms.
    pub fn abort(&self) {
        self.level.fetch_max(2, Ordering::Relaxed);
    }

    /// The clock of the run that began last, which read zero when its load began; once. Until then users were made.
    pub fn take_clock(&self) -> Option<MonotonicClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A run begins.
    pub(crate) fn begin(&self, clock: MonotonicClock) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock);
    }

    /// What has been asked so far.
    pub fn request(&self) -> Request {
        match self.level.load(Ordering::Relaxed) {
            0 => Request::Run,
            1 => Request::Stop,
            _ => Request::Abort,
        }
    }
}
