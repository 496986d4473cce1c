//! Runlater: calls HTTP addresses at once, later or on a schedule. Every published tuning step is a switch.
//!
//! Shares no code with the load generator that measures it.

pub mod batcher;
pub mod buffer;
pub mod call;
pub mod config;
pub mod draft;
pub mod event;
pub mod executor;
pub mod field;
pub mod job;
pub mod key;
pub mod limit;
pub mod maintenance;
pub mod metric;
pub mod migration;
pub mod notification;
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
pub mod task_writer;
pub mod web;
