//! The service against a real PostgreSQL and its replica, which each test starts for itself on free ports.
//!
//! These tests need the feature `postgres-tests`. Without it they are ignored, and listed as such. With it a missing program fails
//! them with the line that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod cluster;
mod durability;
mod frozen;
mod hostile;
mod keep;
mod openapi;
mod operate;
mod switch;
mod world;
