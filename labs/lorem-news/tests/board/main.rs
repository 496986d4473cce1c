//! A running board as seen by people, load generators and operators.
//!
//! Each test starts the real program on a free port with its own folder. No test asserts a duration.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod browse;
mod durability;
mod fixture;
mod operate;
mod switch;
