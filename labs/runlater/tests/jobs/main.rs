//! The service against a real PostgreSQL, which each test starts for itself on a free port.
//!
//! These tests need the feature `postgres-tests`. Without it they are ignored, and listed as such. With it a missing program fails
//! them with the line that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a trial prints its counts")]

mod called;
mod cluster;
mod hostile;
mod killed;
mod notice;
mod openapi;
mod operate;
mod rescue;
mod run;
mod switch;
mod target;
mod world;
