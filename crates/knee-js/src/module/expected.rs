//! Which statuses a script expects: `http.expectedStatuses` and response callbacks.

use std::rc::Rc;

use knee_k6::http::request::Expected;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Object, Result, Value};

use super::current::state;
use super::go_error;
use super::mark::{Mark, mark_of, marked};

/// Statuses and ranges of them, as an object that requests understand.
pub fn expected_statuses<'js>(ctx: Ctx<'js>, statuses: Rest<Value<'js>>) -> Result<Object<'js>> {
    if statuses.0.is_empty() {
        return Err(go_error::throw(&ctx, "no arguments"));
    }
    let mut ranges = Vec::new();
    for (place, status) in statuses.0.iter().enumerate() {
        let pair = match (status.as_number(), status.as_object()) {
            (Some(number), _) if number.fract() == 0.0 => Some((number, number)),
            (_, Some(object)) => {
                let end = |name: &str| object.get::<_, Option<f64>>(name).ok().flatten();
                end("min").zip(end("max"))
            }
            _ => None,
        };
        let words = format!(
            "argument number {} to expectedStatuses was neither an integer nor an object like {{min:100, max:329}}",
            place + 1
        );
        let (from, to) = pair.ok_or_else(|| go_error::throw(&ctx, &words))?;
        ranges.push((from as u16, to as u16));
    }
    marked(&ctx, Mark::Expected(Rc::new(Expected::Ranges(ranges))))
}

/// Sets the statuses that requests expect unless they say otherwise.
pub fn set_response_callback<'js>(ctx: Ctx<'js>, callback: Value<'js>) -> Result<()> {
    let words = "unsupported argument, expected http.expectedStatuses";
    let expected = expected_of(&callback).map_err(|_| go_error::throw(&ctx, words))?;
    state(&ctx)?.expected.replace(expected);
    Ok(())
}

/// Expected statuses of a response callback; `null` expects none.
pub fn expected_of(callback: &Value<'_>) -> std::result::Result<Rc<Expected>, String> {
    if callback.is_null() {
        return Ok(Rc::new(Expected::Unasked));
    }
    match callback.as_object().and_then(mark_of) {
        Some(Mark::Expected(expected)) => Ok(expected),
        _ => Err("unsupported responseCallback".to_owned()),
    }
}
