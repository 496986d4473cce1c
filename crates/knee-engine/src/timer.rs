//! Waiting until a point on the run's clock: the interface, and the real thing per worker.
//!
//! The pacer and the executors know only [`Timer`], so that the same code runs on simulated
//! time in tests. Does not decide what is due when; `knee_core::schedule` does.

use std::future::Future;

use knee_core::unit::Nanos;

#[cfg(all(target_os = "linux", not(knee_portable)))]
#[path = "timer/linux.rs"]
mod platform;
#[cfg(any(not(target_os = "linux"), knee_portable))]
#[path = "timer/portable.rs"]
mod platform;

pub mod queue;

pub use platform::WorkerTimer;

/// A clock that can be waited on.
pub trait Timer: Clone + 'static {
    /// Time since the start of the run.
    fn now(&self) -> Nanos;

    /// Completes at `at` or as soon after as the platform can; at once if `at` has passed.
    fn sleep_until(&self, at: Nanos) -> impl Future<Output = ()>;
}
