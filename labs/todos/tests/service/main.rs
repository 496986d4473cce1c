//! The service against a real PostgreSQL and its replica, which each test starts on free ports.
//!
//! These tests need the feature `postgres-tests`; without it they are ignored. With it, a missing program fails them with its
//! install command.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod api;
mod bad_input;
mod changes;
mod cluster;
mod doors;
mod durability;
mod fixture;
mod frozen;
mod openapi;
mod operate;
mod plan;
mod switch;
