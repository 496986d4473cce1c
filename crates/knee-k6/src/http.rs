//! Requests of scripts and their responses, as k6 does them, on the engine's client.
//!
//! Knows no JavaScript: `module/http.rs` turns arguments into a [`request::Request`] and an
//! [`answer::Answer`] into a response object.

pub mod answer;

pub mod auth;

pub mod cookie;

pub(crate) mod collect;

pub mod compose;

pub mod decode;

pub mod error_code;

pub mod go_url;

pub(crate) mod handshake;

pub(crate) mod hop;

mod ntlm;

pub mod pace;

pub mod proxy_error;

pub mod request;

pub mod send;

pub mod targets;
