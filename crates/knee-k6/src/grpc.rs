//! gRPC of scripts as k6 calls and counts it, on the engine's HTTP/2.
//!
//! Knows no JavaScript: `k6/net/grpc` of `knee-js` turns calls of scripts into a [`call::Call`] or a
//! [`stream::Opening`], and what comes back into values.

pub mod call;
pub mod connection;
pub mod descriptors;
pub mod event;
pub mod exchange;
pub mod frame;
pub mod health;
pub mod metadata;
pub mod reflection;
pub mod reply;
pub mod session;
pub mod status;
pub mod stream;
pub mod streams;
