//! What a request said, as the JSON that httpbin answers.

use serde_json::{Map, Value, json};

use super::request::Request;

/// Everything about the request.
pub fn echo(request: &Request) -> Value {
    let text = String::from_utf8_lossy(&request.body);
    let form = gathered(request.form());
    let data = if form.as_object().is_some_and(Map::is_empty) { &*text } else { "" };
    json!({
        "args": arguments(request),
        "data": data,
        "form": form,
        "headers": headers(request),
        "json": serde_json::from_str::<Value>(&text).ok(),
        "method": request.method,
        "origin": "127.0.0.1",
        "url": format!("http://{}{}", request.header("host").unwrap_or_default(), request.target),
    })
}

/// The query: a name that comes twice has a list.
pub fn arguments(request: &Request) -> Value {
    gathered(request.query())
}

/// The headers, names as sent.
pub fn headers(request: &Request) -> Value {
    gathered(request.headers.clone())
}

/// The cookies.
pub fn cookies(request: &Request) -> Value {
    gathered(request.cookies())
}

fn gathered(pairs: Vec<(String, String)>) -> Value {
    let mut map = Map::new();
    for (name, value) in pairs {
        let value = Value::String(value);
        match map.get_mut(&name) {
            None => drop(map.insert(name, value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    Value::Object(map)
}
