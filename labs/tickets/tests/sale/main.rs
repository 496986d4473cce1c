//! Sales against a real Redis and a real PostgreSQL, which each test starts on free ports.
//!
//! These tests need the feature `store-tests`; without it they are ignored. With it, a missing program fails them with its
//! install command.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]
#![allow(clippy::print_stdout, reason = "a trial prints its counts")]

mod booking;
mod fixture;
mod idempotency;
mod killed;
mod openapi;
mod operate;
mod plan;
mod record;
mod sell;
mod switch;
