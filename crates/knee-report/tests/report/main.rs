//! What a user sees of a run: text, JSON, CSV, for runs made up request by request.
//!
//! Does not measure anything.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod breakdown;

mod csv;

mod finding;

mod fixture;

mod history;

mod hostile_text;

mod html;

mod json;

mod laws;

mod locust;

mod numbers;

mod results;

mod search;

mod oha;

mod page;

mod sweep;

mod study;
mod text;
