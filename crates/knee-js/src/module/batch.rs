//! `http.batch`: several requests side by side.

use std::rc::Rc;

use rquickjs::class::Class;
use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, IntoJs, Object, Result, Value};

use super::current::{cut, state};
use super::define::{Define as _, array_of, elements};
use super::mark::is_url;
use super::params::{self, Refused, Wanted};
use super::perform::settle;
use super::response::Response;
use super::{argument, go_error};
use crate::op::{Op, Reply};
use crate::program::LogLevel;
use crate::state::State;
use knee_engine::secret::in_text;
use knee_k6::go_quote::quoted;
use knee_k6::http::request::Request;

/// Sends all requests of an array or of an object; the responses have the same shape. As in k6, nothing is sent if one
/// of the requests cannot be made.
pub fn batch<'js>(ctx: Ctx<'js>, wanted: Rest<Value<'js>>) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Using batch in the init context is not supported"));
    }
    let wanted = match wanted.0.as_slice() {
        [wanted] => wanted,
        [] => return Err(go_error::throw(&ctx, "no argument was provided to http.batch()")),
        _ => {
            return Err(go_error::throw(&ctx, "http.batch() accepts only an array or an object of requests"));
        }
    };
    let (keys, values) = listed(&ctx, wanted)?;
    let name = |place: usize| keys.as_ref().map_or_else(|| place.to_string(), |keys| keys[place].clone());
    let mut requests = Vec::with_capacity(values.len());
    let ready = || if state.breathe() { Err(cut(&ctx)) } else { Ok(()) };
    for (place, value) in values.iter().enumerate() {
        ready()?;
        match one(&ctx, &name(place), value)? {
            Ok(request) => requests.push(request),
            Err(refused) => {
                let responses = not_sent(&ctx, &state, place, &refused)?;
                return shaped(ctx, keys, values.len(), responses);
            }
        }
    }
    let Some(Reply::Answers(answers)) = state.ask(Op::FetchAll(requests)) else { return Err(cut(&ctx)) };
    let settle = |answer| ready().and_then(|()| settle(&ctx, &state, answer));
    let responses = answers.into_iter().map(settle).collect::<Result<Vec<_>>>()?;
    shaped(ctx, keys, values.len(), responses)
}

/// The responses up to the request that could not be made; those before it say nothing.
fn not_sent<'js>(ctx: &Ctx<'js>, state: &State, place: usize, refused: &Refused) -> Result<Vec<Value<'js>>> {
    if refused.throw {
        return Err(go_error::throw(ctx, &refused.words));
    }
    let words = in_text(&refused.words);
    state.program.say_with(LogLevel::Warn, "A batch request failed", &[("error", &words)]);
    let nothing = Refused { words: String::new(), code: 0, throw: false };
    let all = std::iter::repeat_n(&nothing, place).chain([refused]);
    all.map(|one| Class::instance(ctx.clone(), Response::refused(one))?.into_js(ctx)).collect()
}

/// `responses` as an array, or as an object with these keys.
fn shaped<'js>(
    ctx: Ctx<'js>,
    keys: Option<Vec<String>>,
    count: usize,
    responses: Vec<Value<'js>>,
) -> Result<Value<'js>> {
    if let Some(keys) = keys {
        let object = Object::new(ctx)?;
        keys.iter().zip(responses).try_for_each(|(key, response)| object.put(key.as_str(), response))?;
        return Ok(object.into_value());
    }
    let none = Value::new_null(ctx.clone());
    let responses = responses.into_iter().chain(std::iter::repeat(none)).take(count);
    Ok(array_of(&ctx, responses.map(Ok))?.into_value())
}

type Listed<'js> = (Option<Vec<String>>, Vec<Value<'js>>);

fn listed<'js>(ctx: &Ctx<'js>, wanted: &Value<'js>) -> Result<Listed<'js>> {
    if let Some(array) = wanted.as_array() {
        return Ok((None, elements(array)?.collect::<Result<_>>()?));
    }
    let words = format!("invalid http.batch() argument type {}", argument::kind(wanted));
    let object = wanted.as_object().ok_or_else(|| go_error::throw(ctx, &words))?;
    let pairs: Vec<(String, Value<'js>)> = object.props().collect::<Result<_>>()?;
    let (keys, values) = pairs.into_iter().unzip();
    Ok((Some(keys), values))
}

type Made = std::result::Result<Rc<Request>, Refused>;

/// A request of a batch: a URL, `[method, url, body, params]`, or an object with those keys.
fn one<'js>(ctx: &Ctx<'js>, name: &str, value: &Value<'js>) -> Result<Made> {
    let state = state(ctx)?;
    let throw = state.http.borrow().throw;
    let refused = |words: String| Ok(Err(Refused { words, code: 0, throw }));
    let none = Value::new_undefined(ctx.clone());
    let (mut method, url, mut body, params) = match (value.as_array(), value.as_object()) {
        (Some(array), _) if array.len() < 2 => {
            return refused(format!("invalid batch request '{}'", go_syntax(value)?));
        }
        (Some(array), _) => {
            let at = |place| array.get::<Value<'js>>(place);
            (Some(at(0)?), at(1)?, at(2)?, at(3)?)
        }
        (None, Some(object)) if !is_url(object) => {
            if !object.contains_key("url")? {
                return refused(format!("batch request {name} doesn't have a url key"));
            }
            let at = |name| object.get::<_, Value<'js>>(name);
            let method = object.contains_key("method")?.then(|| at("method")).transpose()?;
            (method, at("url")?, at("body")?, at("params")?)
        }
        _ => (None, value.clone(), none.clone(), none.clone()),
    };
    let text = match method.take() {
        None => "GET".to_owned(),
        Some(given) => match given.as_string() {
            Some(text) if value.is_array() => text.to_string()?,
            Some(text) => text.to_string()?.to_uppercase(),
            None => return refused(format!("invalid method type '{}'", go_syntax(&given)?)),
        },
    };
    // As k6 has it, an object cannot give a GET a body; an array can.
    if !value.is_array() && matches!(text.as_str(), "GET" | "HEAD") {
        body = none;
    }
    params::request(
        &state,
        &Wanted { method: text.into(), url: &url, body: Some(&body), params: Some(&params) },
    )
}

/// A value as Go writes it in its own syntax (`%#v`), roughly if it is an object.
fn go_syntax(value: &Value<'_>) -> Result<String> {
    if let Some(array) = value.as_array() {
        let one = |value: Result<Value<'_>>| {
            let value = value?;
            let is_none = value.is_null() || value.is_undefined();
            if is_none { Ok("interface {}(nil)".to_owned()) } else { go_syntax(&value) }
        };
        let values = array.iter().map(one).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[]interface {{}}{{{}}}", values.join(", ")));
    }
    if let Some(text) = value.as_string() {
        return Ok(quoted(text.to_string()?.as_bytes()));
    }
    if value.is_null() || value.is_undefined() {
        return Ok("<nil>".to_owned());
    }
    if value.is_object() {
        return Ok(format!("{}{{}}", argument::kind(value)));
    }
    Ok(value.get::<Coerced<String>>()?.0)
}
