//! Lorem News: a small news board on one SQLite file, every published tuning step of it a switch.
//!
//! Does not share code with the load generator.

pub mod accept;
pub mod action;
pub mod config;
pub mod counter;
pub mod engine;
pub mod fragment;
pub mod page;
pub mod password;
pub mod process;
pub mod runtime_lock;
pub mod seed;
pub mod serve;
pub mod store;
pub mod web;
