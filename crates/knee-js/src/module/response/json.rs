//! `response.json()`: a body as a value, or what a path leads to in it.
//!
//! The path is followed in the text, so that only what it leads to becomes a value.

use rquickjs::{Ctx, IntoJs, Result, Value};

use crate::module::go_error;
use knee_k6::{gjson, json};

/// The body as a value.
pub fn parse<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    ctx.json_parse(text).map_err(|_| {
        ctx.catch();
        let words = json::fault(text).map(|fault| fault.to_string());
        go_error::throw(ctx, &words.unwrap_or_else(|| "cannot parse json: it is nested too deep".to_owned()))
    })
}

/// What `path` leads to; undefined if it leads nowhere, or if the body is no JSON.
pub fn select<'js>(ctx: &Ctx<'js>, text: &str, path: &str) -> Result<Value<'js>> {
    let found = if json::is_valid(text) { gjson::get(text, path) } else { None };
    let Some(found) = found else { return Ok(Value::new_undefined(ctx.clone())) };
    // Numbers that JSON does not have, which a path can.
    match found.to_ascii_lowercase().as_str() {
        "nan" => return f64::NAN.into_js(ctx),
        "inf" => return f64::INFINITY.into_js(ctx),
        _ => {}
    }
    ctx.json_parse(&*found).or_else(|_| {
        ctx.catch();
        Ok(Value::new_undefined(ctx.clone()))
    })
}
