//! Scripts from their file to their end, against a server in this process that counts.
//!
//! Each file in `tests/compat`, `tests/hostile` and `tests/module` is one behaviour; its first lines say what has
//! to come of it. Expectations of `tests/compat` were recorded from k6 1.8.1.

#![allow(
    clippy::unwrap_used,
    clippy::assigning_clones,
    missing_docs,
    reason = "a test binary, whose helpers are outside of its tests"
)]

mod compat;
mod documents;
mod harness;
mod hostile;
mod jslib;
mod loading;
mod module;
mod server;
