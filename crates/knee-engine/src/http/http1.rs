//! HTTP/1.1 on one channel: requests and responses in sequence.
//!
//! Everything outside of this module works for any version of HTTP; see
//! `docs/decisions/0020-one-request-path.md`.

pub mod connection;
pub mod framing;
pub mod reader;
