//! Services, requests and responses of two schemas with fields of all kinds.

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;

use serde_json::Value;

use super::*;

mod examples;
mod hostile;
mod random;
mod requests;
mod responses;
mod schemas;
mod statuses;

const KINDS: &str = include_str!("tests/kinds.proto");
const OLDER: &str = include_str!("tests/older.proto");

/// Compiles `file`, with the folder `protos` as import path.
fn compile(files: &[(&str, &str)], file: &str) -> Result<Loaded, SchemaError> {
    let files: HashMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| (format!("protos/{name}"), text.as_bytes().to_vec())).collect();
    let read = |path: &str| files.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    Loaded::compile(&["protos".to_owned()], &[file.to_owned()], &read)
}

/// Both schemas.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut schema = Schema::default();
    schema.add(&compile(&[("kinds.proto", KINDS)], "kinds.proto").unwrap());
    schema.add(&compile(&[("older.proto", OLDER)], "older.proto").unwrap());
    schema
});

fn method(path: &str) -> Method {
    SCHEMA.method(path).unwrap()
}

fn kinds() -> Method {
    method("/knee.test.Echo/Kinds")
}

/// What a server gets from `request` and sends back unchanged, without members that are empty or `null`.
fn echo(method: &Method, request: &str) -> Value {
    let bytes = method.encode(request.as_bytes()).unwrap();
    let mut response = json(&method.decode(&bytes, usize::MAX).unwrap());
    let is_there = |value: &Value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    if let Value::Object(members) = &mut response {
        members.retain(|_, value| is_there(value));
    }
    response
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The error of a request.
fn refusal(method: &Method, request: &str) -> String {
    method.encode(request.as_bytes()).unwrap_err().to_string()
}
