//! Messages of scripts as JSON, in the way in which k6 makes it.

use rquickjs::{Ctx, Exception, Function, Result, Value};

use crate::module::current::worked;

/// Numbers that JSON lacks become texts, which protobuf's JSON has for them.
const TEXTS_FOR_NUMBERS: &str = r"(value) => JSON.stringify(value, (_, part) =>
  typeof part === 'number' && !Number.isFinite(part) ? String(part) : part)";

/// The JSON of a request; or k6's words for what has none.
pub fn of_request<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<std::result::Result<String, String>> {
    if value.is_null() || value.is_undefined() {
        return Err(Exception::throw_type(ctx, "Cannot convert undefined or null to object"));
    }
    let json = match plain(ctx, value.clone()) {
        Ok(json) => json.unwrap_or_default(),
        Err(error) if error.is_exception() => {
            let thrown = ctx.catch();
            let words = thrown.as_exception().and_then(Exception::message).unwrap_or_default();
            if words.contains("circular") {
                let words = "unable to normalize number strings: cyclic reference to an object found";
                return Ok(Err(words.to_owned()));
            }
            if words.contains("BigInt") {
                let words =
                    "unable to serialise request object to protocol buffer: proto: a BigInt has no JSON";
                return Ok(Err(words.to_owned()));
            }
            return Err(ctx.throw(thrown));
        }
        Err(error) => return Err(error),
    };
    if !json.contains("null") {
        return Ok(Ok(json));
    }
    // Rare: something can be a number that JSON has no text for.
    let stringify: Function<'js> = ctx.eval(TEXTS_FOR_NUMBERS)?;
    Ok(Ok(stringify.call((value,))?))
}

/// The JSON of a value as `JSON.stringify` makes it; `None` if it has none.
pub fn plain<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Option<String>> {
    let Some(text) = ctx.json_stringify(value)? else { return Ok(None) };
    let text = text.to_string()?;
    worked(ctx, text.len())?;
    Ok(Some(text))
}
