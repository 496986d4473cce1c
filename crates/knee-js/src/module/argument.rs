//! Arguments of k6's functions: read as k6 reads them, and named as its errors name them.
//!
//! Does not decide what is an error.

use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Object, Result, Value};

use super::bytes::bytes_of;
use super::go_error;

/// A value as text; nothing is an empty one.
pub fn text(value: Opt<Value<'_>>) -> Result<String> {
    match value.0.filter(|value| !value.is_null() && !value.is_undefined()) {
        Some(value) => Ok(value.get::<Coerced<String>>()?.0),
        None => Ok(String::new()),
    }
}

/// The bytes of a text, of an `ArrayBuffer` or of a `Uint8Array`, the only ones that k6 takes.
pub fn bytes_argument<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Vec<u8>> {
    bytes_in(value)?.ok_or_else(|| go_error::throw(ctx, &no_bytes(value)))
}

/// The same; `None` for anything else.
pub fn bytes_in(value: &Value<'_>) -> Result<Option<Vec<u8>>> {
    if let Some(text) = value.as_string() {
        return Ok(Some(text.to_string()?.into_bytes()));
    }
    Ok(if matches!(kind(value), "[]uint8" | "ArrayBuffer") { bytes_of(value) } else { None })
}

/// k6's message for a value that is none of these.
pub fn no_bytes(value: &Value<'_>) -> String {
    format!("invalid type {}, expected string, []byte or ArrayBuffer", kind(value))
}

/// The type of a value as k6's messages name it.
pub fn kind(value: &Value<'_>) -> &'static str {
    if value.is_null() || value.is_undefined() {
        return "<nil>";
    }
    if value.is_bool() {
        return "bool";
    }
    if let Some(number) = value.as_number() {
        return if number.fract() == 0.0 { "int64" } else { "float64" };
    }
    if value.is_string() {
        return "string";
    }
    if value.is_array() {
        return "[]interface {}";
    }
    if value.is_function() {
        return "func(sobek.FunctionCall) sobek.Value";
    }
    value.as_object().map_or("interface {}", kind_of_object)
}

fn kind_of_object(object: &Object<'_>) -> &'static str {
    if object.as_array_buffer().is_some() {
        return "ArrayBuffer";
    }
    let tag = rquickjs::atom::PredefinedAtom::SymbolToStringTag;
    let tag: String = object.get(tag).unwrap_or_default();
    match tag.as_str() {
        "Uint8Array" | "Uint8ClampedArray" => "[]uint8",
        "Int8Array" => "[]int8",
        "Uint16Array" => "[]uint16",
        "Int16Array" => "[]int16",
        "Uint32Array" => "[]uint32",
        "Int32Array" => "[]int32",
        "BigUint64Array" => "[]uint64",
        "BigInt64Array" => "[]int64",
        "Float32Array" => "[]float32",
        "Float64Array" => "[]float64",
        _ => "map[string]interface {}",
    }
}
