//! Trenova: a carrier's drivers for drop-downs, by tenant, from PostgreSQL and behind sessions and a rate limit in Redis,
//! with every step of its tuning story as a switch.
//!
//! Knows nothing of what measures it.

pub mod account;
pub mod config;
pub mod encode;
pub mod group;
pub mod link;
pub mod metric;
pub mod migration;
pub mod office;
pub mod options;
pub mod pass;
pub mod password;
pub mod process;
pub mod refusal;
pub mod seed;
pub mod serve;
pub mod session;
pub mod socket;
pub mod store;
pub mod web;
pub mod worker;
