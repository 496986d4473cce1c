//! The engine against a server that misbehaves on purpose, and what goes over the wire when it
//! does not.
//!
//! Every way of misbehaving (`way`) is met by the real engine on real sockets. No test asserts
//! how long something took; a watchdog ends what hangs. Timing is tested on simulated time and
//! by `cargo xtask truth`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "whatever fails here fails the test")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]

mod behaviour;
mod drive;
mod identity;
mod server;

mod answers;
mod bodies;
mod hang_ups;
mod page;
mod redirects;
mod secure;
mod shortages;
mod slowness;
mod steering;
mod surplus;
mod wire;
