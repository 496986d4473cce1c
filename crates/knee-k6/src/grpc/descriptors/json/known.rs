//! The messages of `google.protobuf` whose JSON is not an object of their fields.

use prost_reflect::{Kind, MessageDescriptor};

/// A message with JSON of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Any,
    Timestamp,
    Duration,
    /// `Int32Value` and the like.
    Wrapper,
    Struct,
    List,
    Value,
    FieldMask,
    Empty,
}

impl Known {
    /// What a message is, by its name.
    pub fn of(message: &MessageDescriptor) -> Option<Self> {
        Some(match message.full_name().strip_prefix("google.protobuf.")? {
            "Any" => Self::Any,
            "Timestamp" => Self::Timestamp,
            "Duration" => Self::Duration,
            "BoolValue" | "Int32Value" | "Int64Value" | "UInt32Value" | "UInt64Value" | "FloatValue"
            | "DoubleValue" | "StringValue" | "BytesValue" => Self::Wrapper,
            "Struct" => Self::Struct,
            "ListValue" => Self::List,
            "Value" => Self::Value,
            "FieldMask" => Self::FieldMask,
            "Empty" => Self::Empty,
            _ => return None,
        })
    }
}

/// Whether `null` is a value of such a field, and not its absence.
pub fn takes_null(kind: &Kind) -> bool {
    match kind {
        Kind::Message(message) => message.full_name() == "google.protobuf.Value",
        kind => is_null_value(kind),
    }
}

/// Whether a field is a `google.protobuf.NullValue`.
pub fn is_null_value(kind: &Kind) -> bool {
    matches!(kind, Kind::Enum(kind) if kind.full_name() == "google.protobuf.NullValue")
}
