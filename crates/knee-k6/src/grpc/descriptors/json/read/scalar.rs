//! Scalars and enums, and keys of maps.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use prost_reflect::{EnumDescriptor, Kind, MapKey, Value};

use super::super::known::is_null_value;
use super::super::number;
use super::super::token::{self, Token};

/// The value of a token in a field of this kind.
pub fn value(token: &Token<'_>, kind: &Kind) -> Option<Value> {
    Some(match kind {
        Kind::Bool => match token.kind {
            token::Kind::Bool(value) => Value::Bool(value),
            _ => return None,
        },
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(integer(token)?.try_into().ok()?),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(integer(token)?.try_into().ok()?),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(integer(token)?.try_into().ok()?),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(integer(token)?.try_into().ok()?),
        Kind::Float => Value::F32(float(token)?),
        Kind::Double => Value::F64(float(token)?),
        Kind::String => Value::String(text(token)?.to_owned()),
        Kind::Bytes => Value::Bytes(bytes(text(token)?)?.into()),
        Kind::Enum(descriptor) => Value::EnumNumber(enum_number(token, descriptor, kind)?),
        Kind::Message(_) => return None,
    })
}

fn text<'a>(token: &'a Token<'_>) -> Option<&'a str> {
    match &token.kind {
        token::Kind::Text(text) => Some(text),
        _ => None,
    }
}

/// The number of a token; strings can hold one.
fn digits<'a>(token: &'a Token<'_>) -> Option<&'a str> {
    match &token.kind {
        token::Kind::Number => Some(token.raw),
        token::Kind::Text(text) => number::in_text(text),
        _ => None,
    }
}

fn integer(token: &Token<'_>) -> Option<i128> {
    number::integer(digits(token)?)
}

/// A number with a fraction.
trait Float: std::str::FromStr {
    const NAN: Self;
    const INFINITY: Self;
    const MINUS_INFINITY: Self;
    fn is_finite(&self) -> bool;
}

impl Float for f32 {
    const NAN: Self = Self::NAN;
    const INFINITY: Self = Self::INFINITY;
    const MINUS_INFINITY: Self = Self::NEG_INFINITY;
    fn is_finite(&self) -> bool {
        f32::is_finite(*self)
    }
}

impl Float for f64 {
    const NAN: Self = Self::NAN;
    const INFINITY: Self = Self::INFINITY;
    const MINUS_INFINITY: Self = Self::NEG_INFINITY;
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
}

fn float<T: Float>(token: &Token<'_>) -> Option<T> {
    match text(token) {
        Some("NaN") => Some(T::NAN),
        Some("Infinity") => Some(T::INFINITY),
        Some("-Infinity") => Some(T::MINUS_INFINITY),
        _ => digits(token)?.parse().ok().filter(T::is_finite),
    }
}

/// Base64 of either alphabet, with padding or without.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let alphabet =
        if text.contains(['-', '_']) { base64::alphabet::URL_SAFE } else { base64::alphabet::STANDARD };
    let padding = if text.len().is_multiple_of(4) {
        DecodePaddingMode::RequireCanonical
    } else {
        DecodePaddingMode::RequireNone
    };
    let config =
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true).with_decode_padding_mode(padding);
    let letters: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    GeneralPurpose::new(&alphabet, config).decode(letters).ok()
}

/// The number of an enum's value, which is given by name or by number.
fn enum_number(token: &Token<'_>, descriptor: &EnumDescriptor, kind: &Kind) -> Option<i32> {
    match &token.kind {
        token::Kind::Text(name) => descriptor.get_value_by_name(name).map(|value| value.number()),
        token::Kind::Number => number::integer(token.raw)?.try_into().ok(),
        token::Kind::Null if is_null_value(kind) => Some(0),
        _ => None,
    }
}

/// The key of an entry.
pub fn key(name: &str, kind: &Kind) -> Option<MapKey> {
    Some(match kind {
        Kind::String => MapKey::String(name.to_owned()),
        Kind::Bool => MapKey::Bool(name.parse().ok()?),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => MapKey::I32(name.parse().ok()?),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => MapKey::I64(name.parse().ok()?),
        Kind::Uint32 | Kind::Fixed32 => MapKey::U32(unsigned(name)?.try_into().ok()?),
        Kind::Uint64 | Kind::Fixed64 => MapKey::U64(unsigned(name)?),
        _ => return None,
    })
}

/// Digits without a sign.
fn unsigned(name: &str) -> Option<u64> {
    if name.starts_with('+') { None } else { name.parse().ok() }
}

/// The name of a kind, as sources write it.
pub fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Double => "double",
        Kind::Float => "float",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Uint32 => "uint32",
        Kind::Uint64 => "uint64",
        Kind::Sint32 => "sint32",
        Kind::Sint64 => "sint64",
        Kind::Fixed32 => "fixed32",
        Kind::Fixed64 => "fixed64",
        Kind::Sfixed32 => "sfixed32",
        Kind::Sfixed64 => "sfixed64",
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::Enum(_) => "enum",
        Kind::Message(_) => "message",
    }
}
