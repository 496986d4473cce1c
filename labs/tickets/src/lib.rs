//! Ticket to Serve: reservation of tickets at an on-sale, from counters in Redis or rows in PostgreSQL.
//!
//! Does not take payment, and knows nothing of what measures it.

pub mod booking;
pub mod catalogue;
pub mod config;
pub mod counter;
pub mod group;
pub mod key;
pub mod ledger;
pub mod once;
pub mod order;
pub mod refusal;
pub mod seed;
pub mod serve;
pub mod till;
pub mod unit;
pub mod web;
