//! Reads the clock of the service.
//!
//! It is not the clock of a run: services and the load generator share none.

use std::time::Instant;

/// This moment.
#[expect(clippy::disallowed_methods, reason = "a service has a clock of its own")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
