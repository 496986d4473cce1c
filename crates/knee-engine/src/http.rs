//! The request path: requests, connections, TLS, HTTP/1.1 and HTTP/2, and the faults of each.
//!
//! Does not decide when a request is due; see [`crate::executor`].

pub mod settings;

pub mod failure;

pub mod pools;
pub mod prepared;

pub mod credentials;

pub mod request;

pub mod response;

pub mod events;

pub mod memory;

pub mod decode;

pub mod origin;

pub mod addresses;

pub mod peer;

pub mod host_rules;

pub mod tls;

pub mod network;

pub mod open_place;

pub mod sampling;

pub mod channel;

pub mod dial;

pub mod opening;

pub mod proxy;

pub mod http1;

pub mod http2;

pub mod offer;

pub mod transport;
pub mod unsolicited;

pub mod redirect;

pub mod client;

pub mod websocket;

pub mod stream;
