//! The service against a real PostgreSQL and Redis, which each test starts on free ports.
//!
//! Needs the feature `store-tests`; without it the tests are listed as ignored. With it, a missing program fails the
//! test and prints the command that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

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
