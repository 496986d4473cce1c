//! What people, load generators and operators get from a running board.
//!
//! Each test starts the real program on a free port and a folder of its own. None asserts how long something takes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod browse;
mod durability;
mod operate;
mod support;
mod switch;
