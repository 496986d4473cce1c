//! k6's semantics without JavaScript: options, thresholds, metrics, outputs, summary and requests.
//!
//! Does not run scripts (`knee-js` does) and does not decide when an iteration is due (the engine does).

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests expect exact values and build what they pass in place")
)]

pub mod account;

pub mod csv;

pub mod data;

pub mod digest;

pub mod duration;

pub mod encoding;

pub mod errand;

pub mod flight;

pub mod gjson;

pub mod go_quote;

pub mod go_text;

pub mod grpc;

pub mod html;

pub mod http;

pub mod inbox;

pub mod json;

pub mod metric;

pub mod observe;

pub mod options;

pub mod output;

pub mod read;

pub mod redis;

pub mod secrets;

pub mod sse;

pub mod summary;

pub mod threshold;

pub mod web_crypto;

pub mod websocket;

pub mod x509;
