//! What pacer and executors need from a clock, so that the same code runs on simulated time.
//!
//! Does not wait; the timers of each platform and of the tests do.

use std::future::Future;

use knee_core::unit::Nanos;

/// A clock with a way to wait for a time on it.
pub trait Timer: Clone + 'static {
    /// Time since the start of the run.
    fn now(&self) -> Nanos;

    /// When the last expired timer was noticed. The tasks that it woke can run much later, after all other ready tasks.
    fn noticed(&self) -> Nanos {
        self.now()
    }

    /// Completes at `at` or as soon after as the platform can; at once if `at` has passed.
    fn sleep_until(&self, at: Nanos) -> impl Future<Output = ()>;
}
