//! HTTP/2 (RFC 9113) over a [`super::channel`]: many streams on one connection.
//!
//! The library `h2` has the states, the windows and the compression. What it does not say is when bytes of a stream
//! went through the channel: [`tap`] reads that from the heads of the frames on their way.

pub mod connection;
pub mod dialling;
pub mod duplex;
mod io;
mod message;
mod tap;
pub mod trouble;
