//! The pure part of k6's `k6/net/grpc`: descriptors of protobuf, and messages from JSON and to JSON.
//!
//! Opens no connections and reads no files: [`Loaded::compile`] gets them from its caller.

mod json;
mod schema;
mod status;
mod types;

#[cfg(test)]
mod tests;

pub use json::{JsonError, MAX_DEPTH};
pub use schema::{DecodeError, Loaded, Method, MethodInfo, Schema, SchemaError};
pub use status::Status as RpcStatus;
