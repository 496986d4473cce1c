//! The service against a real PostgreSQL, which each test starts for itself on a free port.
//!
//! A missing program fails the tests with the line that installs it, unless `KNEE_WITHOUT_POSTGRES=1` says that this
//! machine has none: then nothing here is tried.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a test that is left out says so")]

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
