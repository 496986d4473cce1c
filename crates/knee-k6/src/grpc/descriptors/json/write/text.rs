//! Scalars and strings as JSON.

use std::borrow::Cow;
use std::fmt::{Debug, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{MapKey, Value};

/// Appends a string with its quotes.
pub fn quote(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        put(out, serde_json::Value::from(text));
    }
}

/// Appends a number or a text; lists, maps, enums and messages are not scalars.
pub fn scalar(out: &mut String, value: &Value) {
    match value {
        Value::Bool(value) => put(out, value),
        Value::I32(value) => put(out, value),
        Value::U32(value) => put(out, value),
        Value::I64(value) => put(out, format_args!("\"{value}\"")),
        Value::U64(value) => put(out, format_args!("\"{value}\"")),
        Value::F32(value) => float(out, *value, value.is_finite()),
        Value::F64(value) => float(out, *value, value.is_finite()),
        Value::String(text) => quote(out, text),
        Value::Bytes(bytes) => {
            out.push('"');
            STANDARD.encode_string(bytes, out);
            out.push('"');
        }
        Value::EnumNumber(_) | Value::Message(_) | Value::List(_) | Value::Map(_) => out.push_str("null"),
    }
}

/// The fewest digits that make this number in its own precision.
fn float(out: &mut String, value: impl Debug, is_finite: bool) {
    // The debug form has an exponent where the other would have many zeros.
    let digits = format!("{value:?}");
    match digits.as_str() {
        _ if is_finite => out.push_str(&digits),
        "inf" => out.push_str("\"Infinity\""),
        "-inf" => out.push_str("\"-Infinity\""),
        _ => out.push_str("\"NaN\""),
    }
}

/// The key of an entry as a name.
pub fn key(key: &MapKey) -> Cow<'_, str> {
    match key {
        MapKey::String(text) => Cow::Borrowed(text),
        MapKey::Bool(value) => Cow::Owned(value.to_string()),
        MapKey::I32(value) => Cow::Owned(value.to_string()),
        MapKey::I64(value) => Cow::Owned(value.to_string()),
        MapKey::U32(value) => Cow::Owned(value.to_string()),
        MapKey::U64(value) => Cow::Owned(value.to_string()),
    }
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}
