//! The service against a real PostgreSQL and its replica, which each test starts for itself on free ports.
//!
//! A missing program fails the tests with the line that installs it, unless `KNEE_WITHOUT_POSTGRES=1` says that this
//! machine has none: then nothing here is tried.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a test that is left out says so")]

mod cluster;
mod durability;
mod frozen;
mod hostile;
mod keep;
mod openapi;
mod operate;
mod switch;
mod world;
