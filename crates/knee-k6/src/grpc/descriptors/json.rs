//! Messages from JSON and to JSON, by the rules of protobuf, in the words of Go's library.
//!
//! Knows no methods and no files. Reading and writing need stack in proportion to the depth of a message, which
//! [`MAX_DEPTH`] bounds.

use prost_reflect::{DynamicMessage, FieldDescriptor, MessageDescriptor, ReflectMessage as _, Syntax, Value};

mod known;
mod number;
mod path;
mod read;
mod time;
mod token;
mod write;

pub(super) use read::read;
pub(super) use write::{write, write_any};

/// How deep messages can be inside of messages. k6 has 10,000; most implementations of protobuf have 100.
pub const MAX_DEPTH: usize = 100;

/// Why JSON is no message, or a message has no JSON; in the words of k6.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("proto: {0}")]
pub struct JsonError(String);

impl JsonError {
    fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    fn too_deep() -> Self {
        Self::new("exceeded max recursion depth")
    }
}

/// The error of a required field without a value.
pub(super) fn not_set(field: &str) -> JsonError {
    JsonError::new(format!("required field {field} not set"))
}

/// The full name of a required field that has no value. Does not look into `google.protobuf.Any`.
pub(super) fn missing(message: &DynamicMessage) -> Option<String> {
    if let Some(name) = missing_here(&message.descriptor(), message) {
        return Some(name);
    }
    let in_value = |value: &Value| value.as_message().and_then(missing);
    message.fields().find_map(|(_, value)| match value {
        Value::Message(message) => missing(message),
        Value::List(list) => list.iter().find_map(in_value),
        Value::Map(map) => map.values().find_map(in_value),
        _ => None,
    })
}

fn missing_here(descriptor: &MessageDescriptor, message: &DynamicMessage) -> Option<String> {
    if descriptor.parent_file().syntax() != Syntax::Proto2 {
        return None;
    }
    let unset = |field: &FieldDescriptor| field.is_required() && !message.has_field(field);
    descriptor.fields().find(unset).map(|field| field.full_name().to_owned())
}
