//! Todos: a small list kept in PostgreSQL, with every step of its tuning story as a switch.
//!
//! Knows nothing of what measures it.

pub mod book;
pub mod cache;
pub mod config;
pub mod desk;
pub mod encode;
pub mod group;
pub mod interpreter;
pub mod metric;
pub mod migration;
pub mod refusal;
pub mod seed;
pub mod serve;
pub mod store;
pub mod todo;
pub mod web;
