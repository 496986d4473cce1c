//! Sales against a real Redis and a real PostgreSQL, which each test starts for itself on free ports.
//!
//! A missing program fails the tests with the line that installs it, unless `KNEE_WITHOUT_POSTGRES=1` or
//! `KNEE_WITHOUT_REDIS=1` says that this machine has none: then nothing here is tried.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a test that is left out says so")]

mod booking;
mod killed;
mod once;
mod operate;
mod record;
mod sell;
mod switch;
mod world;
