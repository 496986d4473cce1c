//! Sockets of scripts as k6 opens, closes and counts them, on the engine's WebSocket.
//!
//! Knows no JavaScript: `k6/ws` and `k6/websockets` of `knee-js` turn calls into a [`request::SocketRequest`], and
//! [`event::Event`]s into calls of handlers.

pub mod conversation;
pub mod dial;
pub mod event;
mod held;
pub mod line;
pub mod request;
pub mod session;
pub mod sockets;
pub mod words;
