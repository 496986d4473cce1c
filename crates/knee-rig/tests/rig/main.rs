//! The rig with real processes: services, PostgreSQL, Redis, and programs that are killed while they have one.
//!
//! What is installed decides nothing silently: a test that needs PostgreSQL or Redis fails with the line that
//! installs it, unless `KNEE_WITHOUT_POSTGRES=1` or `KNEE_WITHOUT_REDIS=1` says that this machine has none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test fails by a panic")]

mod data;
mod fault;
mod postgres;
mod redis;
mod service;
mod survival;
mod world;
