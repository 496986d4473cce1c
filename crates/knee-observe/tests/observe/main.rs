//! Observers beside real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod hypothetical;

#[cfg(target_os = "linux")]
mod nginx;

#[cfg(target_os = "linux")]
mod pgbouncer;

#[cfg(target_os = "linux")]
mod postgres;

#[cfg(target_os = "linux")]
mod redis;

mod sql_texts;

#[cfg(target_os = "linux")]
mod sqlite;

#[cfg(target_os = "linux")]
mod tls;

#[cfg(target_os = "linux")]
mod world;
