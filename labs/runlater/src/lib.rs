//! Runlater: calls HTTP addresses at once, later or on a schedule, with every step of its tuning story as a switch.
//!
//! Knows nothing of what measures it.

pub mod buffer;
pub mod call;
pub mod clerk;
pub mod config;
pub mod crew;
pub mod draft;
pub mod event;
pub mod field;
pub mod group;
pub mod house;
pub mod job;
pub mod key;
pub mod limit;
pub mod metric;
pub mod migration;
pub mod notice;
pub mod recurrence;
pub mod refusal;
pub mod retry;
pub mod seed;
pub mod serve;
pub mod signature;
pub mod stamp;
pub mod store;
pub mod target;
pub mod task;
pub mod web;
