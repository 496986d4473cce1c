//! Redis as xk6-redis calls it: options, commands, replies, and the connections of one client.
//!
//! Speaks version 2 of Redis' protocol with one server, with a cluster, or with the server that sentinels name. Commands
//! are not requests of the record, as they have no metrics in k6; their bytes count as sent and received.

pub mod client;

mod cluster;

pub mod command;

mod connection;

pub mod given;

mod json;

pub mod options;

pub mod reply;

mod server;

pub mod traffic;

mod url;
