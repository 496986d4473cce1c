//! `console`: lines from scripts, with values shown as k6 shows them.
//!
//! Strings inside of values are quoted but not escaped. A value whose parts cannot be listed (a map, a set, a regular
//! expression) is shown as an empty object. `toJSON` and `toString` of a value are not called.

use std::fmt::Write as _;

use rquickjs::atom::PredefinedAtom;
use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Function, Object, Result, Symbol, Type, Value};

use super::bytes::bytes_of;
use super::current::state;
use super::define::{Define as _, length};
use crate::program::LogLevel;

/// Depth limit of shown values, well within the stack of a VU.
const DEPTH_MAX: usize = 64;
/// Longest line.
const LINE_MAX: usize = 1 << 20;

/// Makes the global.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, level) in [
        ("log", LogLevel::Info),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("warn", LogLevel::Warn),
        ("error", LogLevel::Error),
    ] {
        let say = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| say(&ctx, level, &values.0);
        object.put(name, Function::new(ctx.clone(), say)?.with_name(name)?)?;
    }
    Ok(object)
}

fn say<'js>(ctx: &Ctx<'js>, level: LogLevel, values: &[Value<'js>]) -> Result<()> {
    let mut picture = Picture::default();
    for (place, value) in values.iter().enumerate() {
        if picture.line.len() > LINE_MAX {
            break;
        }
        if place > 0 {
            picture.line.push(' ');
        }
        match value.as_string() {
            Some(text) => picture.line.push_str(&text.to_string()?),
            None => picture.show(value)?,
        }
    }
    let mut line = picture.line;
    if line.len() > LINE_MAX {
        let end = (0..=LINE_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
    }
    state(ctx)?.program.print(level, &line);
    Ok(())
}

/// A line on which values are drawn.
#[derive(Default)]
struct Picture<'js> {
    line: String,
    /// The values that the one drawn now is a part of.
    around: Vec<Value<'js>>,
}

impl<'js> Picture<'js> {
    fn show(&mut self, value: &Value<'js>) -> Result<()> {
        if self.line.len() > LINE_MAX {
            return Ok(());
        }
        let inside = !self.around.is_empty();
        match value.type_of() {
            Type::String => {
                let text = value.get::<String>()?;
                let _ = write!(self.line, "\"{text}\"");
            }
            Type::Function | Type::Constructor => self.line.push_str("[object Function]"),
            Type::Symbol => {
                let words = value.as_symbol().map(Symbol::description).transpose()?;
                let words = words.and_then(|words| words.get::<String>().ok()).unwrap_or_default();
                let _ = if inside { write!(self.line, "\"{words}\"") } else { write!(self.line, "{words}") };
            }
            Type::Undefined if inside => self.line.push_str("null"),
            _ if value.is_object() => self.show_within(value)?,
            _ => self.line.push_str(&value.get::<Coerced<String>>()?.0),
        }
        Ok(())
    }

    /// A value that can have parts, unless it is a part of itself.
    fn show_within(&mut self, value: &Value<'js>) -> Result<()> {
        if self.around.contains(value) {
            self.line.push_str("[Circular]");
            return Ok(());
        }
        if self.around.len() >= DEPTH_MAX {
            self.line.push_str("...");
            return Ok(());
        }
        self.around.push(value.clone());
        let shown = match (value.as_array(), value.as_object()) {
            (Some(array), _) => self.list(length(array)? as usize, |place| array.get(place)),
            (None, Some(object)) => self.show_object(object),
            (None, None) => Ok(()),
        };
        self.around.pop();
        shown
    }

    fn show_object(&mut self, object: &Object<'js>) -> Result<()> {
        if object.is_error() {
            self.line.push_str(&object.as_value().get::<Coerced<String>>()?.0);
            return Ok(());
        }
        if object.as_array_buffer().is_some() {
            self.show_bytes(&bytes_of(object.as_value()).unwrap_or_default());
            return Ok(());
        }
        if let Some((kind, length)) = typed_array(object)? {
            let _ = write!(self.line, "{kind}({length}) ");
            return self.list(length, |place| object.get(place as u32));
        }
        if is_date(object)? {
            let json = object.ctx().json_stringify(object.as_value().clone())?;
            self.line.push_str(&json.map(|json| json.to_string()).transpose()?.unwrap_or_default());
            return Ok(());
        }
        self.line.push('{');
        let mut first = true;
        for pair in object.props::<String, Value<'js>>() {
            let (name, element) = pair?;
            self.line.push_str(if first { " " } else { ", " });
            first = false;
            self.line.push_str(&name);
            self.line.push_str(": ");
            self.show(&element)?;
        }
        self.line.push_str(if first { "}" } else { " }" });
        Ok(())
    }

    fn list(&mut self, length: usize, element: impl Fn(usize) -> Result<Value<'js>>) -> Result<()> {
        self.line.push('[');
        for place in 0..length {
            if self.line.len() > LINE_MAX {
                break;
            }
            self.line.push_str(if place > 0 { ", " } else { " " });
            self.show(&element(place)?)?;
        }
        self.line.push_str(if length == 0 { "]" } else { " ]" });
        Ok(())
    }

    fn show_bytes(&mut self, bytes: &[u8]) {
        self.line.push_str("ArrayBuffer { [Uint8Contents]: <");
        for (place, byte) in bytes.iter().enumerate().take(LINE_MAX) {
            let _ = write!(self.line, "{}{byte:02x}", if place > 0 { " " } else { "" });
        }
        let _ = write!(self.line, ">, byteLength: {} }}", bytes.len());
    }
}

/// The name and the length of a typed array.
fn typed_array(object: &Object<'_>) -> Result<Option<(String, usize)>> {
    // Only typed arrays have this; their prototype answers it for them alone.
    let tag: Value<'_> = object.get(PredefinedAtom::SymbolToStringTag)?;
    let Some(kind) = tag.as_string().map(rquickjs::String::to_string).transpose()? else { return Ok(None) };
    if !kind.ends_with("Array") || !object.contains_key("BYTES_PER_ELEMENT")? {
        return Ok(None);
    }
    Ok(Some((kind, object.get("length")?)))
}

pub(super) fn is_date(object: &Object<'_>) -> Result<bool> {
    Ok(object.get::<_, Value<'_>>("toISOString")?.is_function()
        && object.get::<_, Value<'_>>("toJSON")?.is_function())
}
