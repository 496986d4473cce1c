//! The request path: connections, HTTP/1.1, TLS, and the faults of each.
//!
//! Does not decide when a request is due; see [`crate::executor`].

pub mod settings;

pub mod failure;

pub mod response;

pub mod framing;

pub mod memory;

pub mod decode;

pub mod request;

pub mod origin;

pub mod addresses;

pub mod peer;

pub mod host_rules;

pub mod tls;

pub mod network;

pub mod connection;

pub mod dial;

pub mod opening;

pub mod pool;

pub mod redirect;

pub mod client;
