//! `k6/ws` and `k6/websockets`: sockets of scripts.
//!
//! What keeps values of JavaScript is written in JavaScript: handlers, timers and the objects of sockets. Here are the
//! functions that these sources call. Does not send; `knee_k6::websocket` does.

pub mod deliver;
mod native;
mod params;
mod shown;
pub mod websockets;
pub mod ws;
