//! What a client knows of services: the methods and messages of everything that was loaded.
//!
//! [`Loaded`] is the result of one load. It can be shared between virtual users, so a program compiles its sources once.
//! [`Schema`] adds loads up, as k6's client does. Loads never conflict: each has a pool of descriptors of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};

use super::json::{self, JsonError};
use super::types::Types;

mod compile;
mod files;

/// Why nothing was loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A source that cannot be opened.
    #[error("{file}: {reason}")]
    Unreadable {
        /// Its name, as it was asked for.
        file: String,
        /// What its reader says.
        reason: String,
    },
    /// A source that does not compile; the text names file, line and column.
    #[error("{0}")]
    Source(String),
    /// Bytes that are no descriptors.
    #[error("{0}")]
    Bytes(String),
    /// Descriptors that do not fit together.
    #[error("{0}")]
    Descriptor(String),
}

/// A method, as `load` returns it to scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodInfo {
    /// The package of its file; can be empty.
    pub package: String,
    /// Its service, without the package.
    pub service: String,
    /// Its path: `/package.Service/Method`.
    pub full_method: String,
    /// Its name.
    pub name: String,
    /// Whether the client sends a stream.
    pub is_client_stream: bool,
    /// Whether the server sends a stream.
    pub is_server_stream: bool,
}

/// The result of one load. Clones share it.
#[derive(Clone)]
pub struct Loaded {
    pool: DescriptorPool,
    methods: Arc<[MethodInfo]>,
}

impl Loaded {
    fn new(pool: DescriptorPool) -> Self {
        let methods = methods(&pool).map(|method| info(&method)).collect();
        Self { pool, methods }
    }

    /// All methods, those of imported files included.
    pub fn methods(&self) -> &[MethodInfo] {
        &self.methods
    }

    #[cfg(test)]
    pub(super) fn pool(&self) -> &DescriptorPool {
        &self.pool
    }
}

/// All methods of a pool.
fn methods(pool: &DescriptorPool) -> impl Iterator<Item = MethodDescriptor> + '_ {
    pool.services().flat_map(|service| service.methods().collect::<Vec<_>>())
}

/// The path of a method.
fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

fn info(method: &MethodDescriptor) -> MethodInfo {
    MethodInfo {
        package: method.parent_file().package_name().to_owned(),
        service: method.parent_service().name().to_owned(),
        full_method: path(method),
        name: method.name().to_owned(),
        is_client_stream: method.is_client_streaming(),
        is_server_stream: method.is_server_streaming(),
    }
}

/// The methods and messages that one client knows.
#[derive(Clone, Default)]
pub struct Schema {
    types: Types,
    methods: Arc<HashMap<String, MethodDescriptor>>,
}

impl Schema {
    /// Adds what was loaded. A method that is known already gets the new definition.
    pub fn add(&mut self, loaded: &Loaded) {
        self.types.add(loaded.pool.clone());
        Arc::make_mut(&mut self.methods).extend(methods(&loaded.pool).map(|method| (path(&method), method)));
    }

    /// The method with a path such as `/package.Service/Method`; the first slash can be missing.
    pub fn method(&self, path: &str) -> Option<Method> {
        let slashed = if path.starts_with('/') { path } else { &format!("/{path}") };
        let descriptor = self.methods.get(slashed)?.clone();
        Some(Method { path: slashed.into(), descriptor, types: self.types.clone() })
    }

    /// The messages of all loads.
    pub(super) fn types(&self) -> &Types {
        &self.types
    }
}

// The debug form of a message type that contains itself does not end, so none of these shows its types.

impl fmt::Debug for Loaded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Loaded").field("methods", &self.methods).finish_non_exhaustive()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Schema").field("methods", &self.methods.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Method").field(&self.path).finish()
    }
}

/// Why a response has no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no such message. In k6 the call fails with status 13, and the message
    /// `grpc: failed to unmarshal the received message: ` and this.
    #[error("{0}")]
    Bytes(String),
    /// The message has no JSON, such as a timestamp out of range. In k6 the call throws.
    #[error(transparent)]
    Json(#[from] JsonError),
}

/// A method that can be called. Cheap to clone.
#[derive(Clone)]
pub struct Method {
    path: Arc<str>,
    descriptor: MethodDescriptor,
    types: Types,
}

impl Method {
    /// `/package.Service/Method`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its service, with the package.
    pub fn service(&self) -> &str {
        self.descriptor.parent_service().full_name()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.descriptor.name()
    }

    /// Whether the client sends a stream.
    pub fn is_client_stream(&self) -> bool {
        self.descriptor.is_client_streaming()
    }

    /// Whether the server sends a stream.
    pub fn is_server_stream(&self) -> bool {
        self.descriptor.is_server_streaming()
    }

    /// The bytes of the request that JSON describes. The error is what follows
    /// `unable to serialise request object to protocol buffer: ` in k6.
    pub fn encode(&self, json: &[u8]) -> Result<Vec<u8>, JsonError> {
        let message = json::read(json, &self.descriptor.input(), &self.types)?;
        Ok(message.encode_to_vec())
    }

    /// The JSON of a response, of at most about `limit` bytes: few bytes of a message can need much JSON, because
    /// fields without a value are in it.
    pub fn decode(&self, bytes: &[u8], limit: usize) -> Result<String, DecodeError> {
        let message = DynamicMessage::decode(self.descriptor.output(), bytes)
            .map_err(|error| DecodeError::Bytes(unreadable(&error)))?;
        if let Some(field) = json::missing(&message) {
            return Err(DecodeError::Bytes(json::not_set(&field).to_string()));
        }
        Ok(json::write(&message, &self.types, limit)?)
    }

    /// The JSON of a response of which nothing was received: k6 returns it beside an error. Fails for messages with
    /// required fields.
    pub fn empty(&self) -> Result<String, JsonError> {
        let message = DynamicMessage::new(self.descriptor.output());
        match json::missing(&message) {
            Some(field) => Err(json::not_set(&field)),
            None => json::write(&message, &self.types, usize::MAX),
        }
    }
}

fn unreadable(error: &prost::DecodeError) -> String {
    format!("proto: cannot parse invalid wire-format data ({error})")
}
