//! The rig with real processes: services, PostgreSQL, Redis, and programs that are killed while they have one.
//!
//! Tests that need PostgreSQL, Redis or a mount need the features `postgres-tests`, `redis-tests` and `mount-tests`. Without
//! them they are ignored, and listed as such. With them a missing program fails a test with the line that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test fails by a panic")]

mod data;
mod fault;
mod postgres;
mod redis;
mod service;
mod survival;
mod world;
