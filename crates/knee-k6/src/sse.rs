//! `k6/x/sse`: streams of server-sent events, as xk6-sse reads them.
//!
//! Knows no JavaScript: `knee-js` turns a call of a script into a request, and shows it what arrives. What counts as an
//! event in the record is the HTML standard's business ([`knee_engine::http::events`]).

pub mod conversation;
pub mod event;
pub mod reader;
pub mod session;
pub mod stream;
