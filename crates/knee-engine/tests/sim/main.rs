//! Runs on simulated time: executors, recorder and request accounting of the real engine against
//! scripted targets, with exact expectations and no tolerances.
//!
//! `world` is the clock and its tasks, `target` responds, `harness` runs a plan through both. `network` has the engine's
//! clients send bytes to a server of its own. `disk` is a disk that fails, `records` writes simulated runs to it, `fleet`
//! merges those of several machines.

#![allow(missing_docs, reason = "a test binary")]
#![allow(clippy::expect_used, reason = "whatever fails here fails the test")]
#![allow(clippy::print_stdout, reason = "a run that is looked at alone shows its plan")]

mod disk;
mod harness;
mod target;
mod world;

mod closed;
mod dial;
mod fleet;
mod laws;
mod network;
mod open;
mod records;
mod steering;
mod stopping;
mod terms;
