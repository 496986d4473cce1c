//! `console`: lines from scripts, with values shown as k6 shows them.

use std::fmt::Write as _;

use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Function, Object, Result, Type, Value};

use super::state;
use crate::program::Level;

/// How deep values are shown.
const DEPTH_MAX: usize = 8;
/// Longest line.
const LINE_MAX: usize = 1 << 20;

/// Makes the global.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, level) in [
        ("log", Level::Info),
        ("info", Level::Info),
        ("debug", Level::Debug),
        ("warn", Level::Warn),
        ("error", Level::Error),
    ] {
        let say = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| say(&ctx, level, &values.0);
        object.set(name, Function::new(ctx.clone(), say)?.with_name(name)?)?;
    }
    Ok(object)
}

fn say<'js>(ctx: &Ctx<'js>, level: Level, values: &[Value<'js>]) -> Result<()> {
    let mut line = String::new();
    for value in values {
        if !line.is_empty() {
            line.push(' ');
        }
        match value.as_string() {
            Some(text) => line.push_str(&text.to_string()?),
            None => show(&mut line, value, 0)?,
        }
    }
    if line.len() > LINE_MAX {
        let end = (0..=LINE_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
    }
    state(ctx)?.program.print(level, &line);
    Ok(())
}

fn show(line: &mut String, value: &Value<'_>, depth: usize) -> Result<()> {
    if line.len() > LINE_MAX {
        return Ok(());
    }
    match value.type_of() {
        Type::String => {
            let text = value.get::<String>()?;
            let _ = write!(line, "{text:?}");
        }
        Type::Function | Type::Constructor => line.push_str("[object Function]"),
        Type::Symbol => line.push_str("[object Symbol]"),
        Type::Array if depth < DEPTH_MAX => show_array(line, value, depth)?,
        Type::Object if depth < DEPTH_MAX => show_object(line, value, depth)?,
        Type::Array | Type::Object => line.push_str("..."),
        Type::Undefined if depth > 0 => line.push_str("null"),
        _ => line.push_str(&value.get::<Coerced<String>>()?.0),
    }
    Ok(())
}

fn show_array(line: &mut String, value: &Value<'_>, depth: usize) -> Result<()> {
    let Some(array) = value.as_array() else { return Ok(()) };
    line.push('[');
    for (place, element) in array.iter::<Value<'_>>().enumerate() {
        line.push_str(if place > 0 { ", " } else { " " });
        show(line, &element?, depth + 1)?;
    }
    line.push_str(if array.is_empty() { "]" } else { " ]" });
    Ok(())
}

fn show_object(line: &mut String, value: &Value<'_>, depth: usize) -> Result<()> {
    let Some(object) = value.as_object() else { return Ok(()) };
    let text = object.get::<_, Value<'_>>("toString")?.is_function();
    let own_json = object.get::<_, Value<'_>>("toJSON")?.is_function();
    let is_date = own_json && object.get::<_, Value<'_>>("toISOString")?.is_function();
    if let Some(json) = is_date.then(|| value.ctx().json_stringify(value.clone())).transpose()?.flatten() {
        line.push_str(&json.to_string()?);
        return Ok(());
    }
    if object.is_error() || (own_json && text && !object.contains_key("status")?) {
        line.push_str(&value.get::<Coerced<String>>()?.0);
        return Ok(());
    }
    let shown = if own_json { value.ctx().json_stringify(value.clone())? } else { None };
    let parsed =
        shown.map(|json| json.to_string().and_then(|json| value.ctx().json_parse(json))).transpose()?;
    let object = parsed.as_ref().and_then(Value::as_object).unwrap_or(object);
    line.push('{');
    let mut first = true;
    for pair in object.props::<String, Value<'_>>() {
        let (name, element) = pair?;
        line.push_str(if first { " " } else { ", " });
        first = false;
        line.push_str(&name);
        line.push_str(": ");
        show(line, &element, depth + 1)?;
    }
    line.push_str(if first { "}" } else { " }" });
    Ok(())
}
