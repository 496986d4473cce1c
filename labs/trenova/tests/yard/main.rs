//! The service against a real PostgreSQL and a real Redis, which each test starts for itself on free ports.
//!
//! These tests need the feature `store-tests`. Without it they are ignored, and listed as such. With it a missing program fails
//! them with the line that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod cluster;
mod failure;
mod hostile;
mod limit;
mod openapi;
mod operate;
mod pool;
mod prefork;
mod session;
mod switch;
mod tenant;
mod world;
