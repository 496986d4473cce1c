//! Sales against a real Redis and a real PostgreSQL, which each test starts for itself on free ports.
//!
//! These tests need the feature `store-tests`. Without it they are ignored, and listed as such. With it a missing program fails
//! them with the line that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a trial prints its counts")]

mod booking;
mod killed;
mod once;
mod operate;
mod record;
mod sell;
mod switch;
mod world;
