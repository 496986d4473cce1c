//! `http.batch`: several requests side by side.

use std::rc::Rc;

use rquickjs::{Coerced, Ctx, Object, Result, Value};

use super::current::{cut, state};
use super::define::{Define as _, array_of, elements};
use super::mark::is_url;
use super::params::{self, Wanted};
use super::perform::{refuse, settle};
use super::{argument, go_error};
use crate::op::{Op, Reply};
use knee_k6::http::request::Request;

/// Sends all requests of an array or of an object; the responses have the same shape.
pub fn batch<'js>(ctx: Ctx<'js>, wanted: Value<'js>) -> Result<Value<'js>> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Using batch in the init context is not supported"));
    }
    let (keys, values) = listed(&ctx, &wanted)?;
    let ready = || if state.breathe() { Err(cut(&ctx)) } else { Ok(()) };
    let each = |value| ready().and_then(|()| one(&ctx, value));
    let made = values.iter().map(each).collect::<Result<Vec<Made>>>()?;
    let requests = made.iter().filter_map(|made| made.as_ref().ok().cloned()).collect();
    let Some(Reply::Answers(answers)) = state.ask(Op::FetchAll(requests)) else { return Err(cut(&ctx)) };
    let mut answers = answers.into_iter();
    let mut settle = |made: &Made| match made {
        Err(refused) => refuse(&ctx, &state, refused),
        Ok(_) => match answers.next() {
            Some(answer) => settle(&ctx, &state, answer),
            None => Err(cut(&ctx)),
        },
    };
    let settle = |made| ready().and_then(|()| settle(made));
    let answers = made.iter().map(settle).collect::<Result<Vec<_>>>()?;
    if let Some(keys) = keys {
        let object = Object::new(ctx)?;
        keys.iter().zip(answers).try_for_each(|(key, answer)| object.put(key.as_str(), answer))?;
        return Ok(object.into_value());
    }
    Ok(array_of(&ctx, answers.into_iter().map(Ok))?.into_value())
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

type Made = std::result::Result<Rc<Request>, params::Refused>;

/// A request of a batch: a URL, `[method, url, body, params]`, or an object with those keys.
fn one<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Made> {
    let state = state(ctx)?;
    let method = |value: Option<Value<'js>>| -> Result<Rc<str>> {
        let given = value.filter(|value| !value.is_undefined() && !value.is_null());
        let text = given.map(|value| value.get::<Coerced<String>>()).transpose()?;
        Ok(text.map_or_else(|| "GET".into(), |text| text.0.into()))
    };
    let (method, url, body, params) = match (value.as_array(), value.as_object()) {
        (Some(array), _) => {
            let at = |place| array.get::<Value<'js>>(place);
            (method(Some(at(0)?))?, at(1)?, at(2)?, at(3)?)
        }
        (None, Some(object)) if !is_url(object) => {
            let at = |name| object.get::<_, Value<'js>>(name);
            (method(Some(at("method")?))?, at("url")?, at("body")?, at("params")?)
        }
        _ => {
            let none = Value::new_undefined(ctx.clone());
            (method(None)?, value.clone(), none.clone(), none)
        }
    };
    // As k6 has it, a body of a GET in a batch is ignored.
    let body = Some(&body).filter(|_| !matches!(&*method, "GET" | "HEAD"));
    params::request(&state, &Wanted { method, url: &url, body, params: Some(&params) })
}
