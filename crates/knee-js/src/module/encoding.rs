//! `k6/encoding`: `b64encode`, `b64decode`.
//!
//! Turns arguments into bytes and back; base64 itself is [`knee_k6::encoding`]'s.

use rquickjs::function::Opt;
use rquickjs::{Ctx, Function, IntoJs, Object, Result, Value};

use super::argument::{bytes_argument, text};
use super::bytes::buffer_of;
use super::define::Define as _;
use super::go_error;
use knee_k6::encoding::Alphabet;

/// Its exports.
pub const EXPORTS: &[&str] = &["b64encode", "b64decode"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("b64encode", Function::new(ctx.clone(), encode)?.with_name("b64encode")?)?;
    object.put("b64decode", Function::new(ctx.clone(), decode)?.with_name("b64decode")?)?;
    Ok(object)
}

fn encode<'js>(ctx: Ctx<'js>, input: Opt<Value<'js>>, encoding: Opt<Value<'js>>) -> Result<String> {
    let input = input.0.unwrap_or_else(|| Value::new_undefined(ctx.clone()));
    let bytes = bytes_argument(&ctx, &input)?;
    Ok(alphabet(encoding)?.encode(&bytes))
}

fn decode<'js>(
    ctx: Ctx<'js>,
    input: Opt<Value<'js>>,
    encoding: Opt<Value<'js>>,
    format: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let text = text(input)?;
    let bytes = alphabet(encoding)?.decode(text.as_bytes());
    let bytes = bytes.map_err(|error| go_error::throw(&ctx, &error.to_string()))?;
    if self::text(format)? == "s" {
        return String::from_utf8_lossy(&bytes).into_js(&ctx);
    }
    Ok(buffer_of(&ctx, &bytes)?.into_value())
}

fn alphabet(name: Opt<Value<'_>>) -> Result<Alphabet> {
    text(name).map(|name| Alphabet::by_name(&name))
}
