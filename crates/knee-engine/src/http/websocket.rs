//! WebSocket (RFC 6455) on the channels of the request path: the handshake, frames, compressed messages (RFC 7692).
//!
//! Does not answer pings or closes and does not know what a script does with a message; its caller does.

pub mod assembler;
pub mod close;
mod deflate;
pub mod frame;
pub mod handshake;
pub mod opening;
pub mod socket;
pub mod trouble;
