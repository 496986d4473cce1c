//! The engine against a server that misbehaves on purpose, and the bytes it sends to a good one.
//!
//! The real engine meets every misbehaviour (`behaviour`) on real sockets; `table` lists the expected result of each.
//! No test asserts a duration; a watchdog ends tests that hang. Timing is tested on simulated time and by
//! `cargo xtask truth`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "whatever fails here fails the test")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]

mod behaviour;
mod drive;
mod identity;
mod server;

mod bodies;
mod expectations;
mod hang_ups;
mod http2;
mod memory;
mod names;
mod nginx;
mod page;
mod redirects;
mod sampled;
mod secure;
mod shortages;
mod slowness;
mod steering;
mod stuck;
mod surplus;
mod table;
mod wire;
