//! Trenova: serves a carrier's driver list to drop-down menus, per tenant, from PostgreSQL. Redis holds sessions and the
//! rate limit. Every published tuning step is a switch.
//!
//! Shares no code with the load generator that measures it.

pub mod account;
pub mod admission;
pub mod app;
pub mod batcher;
pub mod config;
pub mod encode;
pub mod metric;
pub mod migration;
pub mod options;
pub mod password;
pub mod process;
pub mod redis_client;
pub mod refusal;
pub mod seed;
pub mod serve;
pub mod session;
pub mod socket;
pub mod store;
pub mod web;
pub mod worker;
