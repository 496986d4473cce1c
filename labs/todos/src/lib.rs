//! Todos: a small list kept in PostgreSQL, with every step of its tuning story as a switch.
//!
//! Does not depend on the load generator.

pub mod cache;
pub mod changes;
pub mod config;
pub mod encode;
pub mod executor;
pub mod group_writer;
pub mod grpc;
pub mod interpreter;
pub mod metric;
pub mod migration;
pub mod refusal;
pub mod seed;
pub mod serve;
pub mod stall;
pub mod store;
pub mod todo;
pub mod todo_service;
pub mod web;
