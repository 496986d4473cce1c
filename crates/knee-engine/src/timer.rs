//! Waiting until a point on the run's clock: the interface, and its implementation per platform.
//!
//! Does not decide what is due when; `knee_core::schedule` does.

mod interface;

#[cfg(all(target_os = "linux", not(knee_portable)))]
#[path = "timer/linux.rs"]
mod platform;
#[cfg(any(not(target_os = "linux"), knee_portable))]
#[path = "timer/portable.rs"]
mod platform;

pub mod queue;

pub use interface::Timer;
pub use platform::WorkerTimer;
