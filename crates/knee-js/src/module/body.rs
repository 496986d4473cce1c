//! Bodies of requests: text, bytes, forms, and forms with files.

use std::fmt::Write as _;

use rquickjs::{Coerced, Object, Result, Value};

use super::bytes::bytes_of;
use super::current::{Room, charge};
use super::define::elements;
use super::{argument, go_print, mark};
use knee_k6::http::request::Request;

/// Most bytes that a byte of a form takes: the text and its encoding, in which it can be three bytes.
const ENCODED_BYTES: usize = 4;

/// Gives `request` its body, the header that goes with it, and the encoding it asked for.
/// Or says why it cannot.
pub fn put(request: &mut Request, body: &Value<'_>) -> Result<std::result::Result<(), String>> {
    if body.is_function() || body.is_number() || body.is_bool() {
        return Ok(Err(format!("unknown request body type {}", argument::kind(body))));
    }
    let Some(bytes) = bytes_or_form(request, body)? else { return Ok(Ok(())) };
    let _held = charge(body.ctx(), bytes.len())?;
    let encode = |bytes: Vec<u8>| {
        let steps = request.compression.iter();
        steps.clone().try_fold(bytes, |bytes, coding| coding.encode(&bytes))
    };
    let made = encode(bytes).map(|bytes| request.body = Some(bytes.into()));
    Ok(made.map_err(|error| error.to_string()))
}

fn bytes_or_form(request: &mut Request, body: &Value<'_>) -> Result<Option<Vec<u8>>> {
    if body.is_null() || body.is_undefined() {
        return Ok(None);
    }
    if let Some(text) = body.as_string() {
        return Ok(Some(text.to_string()?.into_bytes()));
    }
    if let Some(bytes) = bytes_of(body) {
        return Ok(Some(bytes));
    }
    let Some(object) = body.as_object() else {
        return Ok(Some(body.get::<Coerced<String>>()?.0.into_bytes()));
    };
    form(request, object).map(Some)
}

/// An object as a form: with files in it as multipart, otherwise URL-encoded.
fn form(request: &mut Request, object: &Object<'_>) -> Result<Vec<u8>> {
    let fields: Vec<(String, Value<'_>)> = object.props().collect::<Result<_>>()?;
    let is_file = |value: &Value<'_>| value.as_object().is_some_and(mark::is_file);
    let has_type = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if fields.iter().any(|(_, value)| is_file(value)) {
        let boundary = format!("{:032x}{:028x}", rand::random::<u128>(), rand::random::<u64>());
        let mut bytes = Vec::new();
        let mut room = Room::of(object.ctx())?;
        for (name, value) in &fields {
            part(&mut bytes, &mut room, &boundary, name, value, is_file(value))?;
        }
        bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        request.headers.push(("Content-Type".to_owned(), kind.into_bytes()));
        return Ok(bytes);
    }
    // Go sorts a form by its keys.
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut room = Room::of(object.ctx())?;
    let mut push = |name: &str, value: Value<'_>| -> Result<()> {
        let text = go_print::text(&value)?;
        room.take(value.ctx(), ENCODED_BYTES * (name.len() + text.len()))?;
        pairs.push((name.to_owned(), text));
        Ok(())
    };
    for (name, value) in fields {
        match value.as_array() {
            Some(array) => elements(array)?.try_for_each(|element| push(&name, element?))?,
            None => push(&name, value)?,
        }
    }
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    if !has_type {
        let kind = b"application/x-www-form-urlencoded".to_vec();
        request.headers.push(("Content-Type".to_owned(), kind));
    }
    Ok(url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes())
}

fn part(
    bytes: &mut Vec<u8>,
    room: &mut Room,
    boundary: &str,
    name: &str,
    value: &Value<'_>,
    is_file: bool,
) -> Result<()> {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n'], " ");
    let mut head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
    let content = match value.as_object().filter(|_| is_file) {
        Some(file) => {
            let filename: String = file.get("filename")?;
            let kind: String = file.get("content_type")?;
            let _ = write!(head, "; filename=\"{}\"\r\nContent-Type: {kind}", quoted(&filename));
            let data: Value<'_> = file.get("data")?;
            match bytes_of(&data) {
                Some(bytes) => bytes,
                None => data.get::<Coerced<String>>()?.0.into_bytes(),
            }
        }
        None => go_print::text(value)?.into_bytes(),
    };
    room.take(value.ctx(), head.len() + content.len())?;
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes.extend_from_slice(&content);
    bytes.extend_from_slice(b"\r\n");
    Ok(())
}
