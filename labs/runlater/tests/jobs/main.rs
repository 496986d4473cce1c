//! The service against a real PostgreSQL, which each test starts on a free port.
//!
//! Needs the feature `postgres-tests`; without it the tests are listed as ignored. With it, a missing program fails the
//! test and prints the command that installs it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a trial prints its counts")]

mod cluster;
mod hostile;
mod killed;
mod notification;
mod openapi;
mod operate;
mod receiver;
mod rescue;
mod run;
mod switch;
mod target;
mod world;
