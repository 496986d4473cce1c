//! Scripts from their file to their end, against a server in this process that counts.
//!
//! Each file in `tests/hostile` and `tests/module` is one behaviour; its first lines say what must result.
//! What scripts do under k6 is compared by `cargo xtask compat`, with the whole program.

#![allow(
    clippy::unwrap_used,
    clippy::assigning_clones,
    missing_docs,
    reason = "a test binary, whose helpers are outside of its tests"
)]

mod abandoned;
mod ceiling;
mod documents;
mod exhausting;
mod grpc_faults;
mod harmless;
mod harness;
mod hostile;
mod jslib;
mod leaks;
mod loading;
mod memory;
mod module;
mod peer;
mod redis;
mod secret;
mod server;
mod share;
mod socket_faults;
mod sockets;
mod tables;
