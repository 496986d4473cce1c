//! Sweeps of simulated services whose limits are known: does the sweep find them?
//!
//! Time is simulated, so nothing here depends on the machine.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test binary, whose parts are outside of its tests")]

mod known;

mod laws;

mod server;

mod shedding;

mod trouble;
