//! Ticket to Serve: reservation of tickets at an on-sale, from counters in Redis or rows in PostgreSQL.
//!
//! Does not take payments and does not depend on the load generator.

pub mod batcher;
pub mod booking;
pub mod catalogue;
pub mod config;
pub mod counter;
pub mod counter_sales;
pub mod idempotency;
pub mod key_table;
pub mod metric;
pub mod migration;
pub mod order;
pub mod refusal;
pub mod sales_record;
pub mod seed;
pub mod serve;
pub mod unit;
pub mod web;
