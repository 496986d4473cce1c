//! The fields of a response that are objects or texts, made from the answer.
//!
//! Each is made anew; the response keeps what a script has read.

use rquickjs::{Array, Ctx, IntoJs, Object, Result, Value};

use knee_core::unit::Nanos;
use knee_k6::http::answer::shown_name;
use knee_k6::http::answer::{Answer, Timings};
use knee_k6::http::cookie;
use knee_k6::http::request::{Keep, canonical};

use crate::module::bytes::buffer_of;
use crate::module::current::state;
use crate::module::define::{Define as _, array_of};

/// The body; null without one.
pub fn body<'js>(ctx: &Ctx<'js>, answer: Option<&Answer>) -> Result<Value<'js>> {
    let null = || Value::new_null(ctx.clone());
    // In k6, a request that could not be made has an empty list as its body.
    let Some(answer) = answer else { return Ok(Array::new(ctx.clone())?.into_value()) };
    // No body is not the same as an empty one.
    if !answer.has_body() {
        return Ok(null());
    }
    match answer.keep {
        Keep::Nothing => Ok(null()),
        Keep::Binary => Ok(buffer_of(ctx, answer.body.bytes())?.into_value()),
        Keep::Text => match std::str::from_utf8(answer.body.bytes()) {
            Ok(text) => text.into_js(ctx),
            Err(_) => String::from_utf8_lossy(answer.body.bytes()).into_js(ctx),
        },
    }
}

/// The headers by name.
pub fn headers<'js>(ctx: &Ctx<'js>, answer: Option<&Answer>) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, value) in answer.iter().flat_map(|answer| answer.headers.iter()) {
        let (name, value) = (shown_name(name), String::from_utf8_lossy(value));
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.push_str(", ");
                known.push_str(&value);
            }
            None => lines.push((name, value.into_owned())),
        }
    }
    lines.iter().try_for_each(|(name, value)| object.put(name.as_str(), value.as_str()))?;
    Ok(object.into_value())
}

/// The timings in milliseconds.
pub fn timings<'js>(ctx: &Ctx<'js>, timings: &Timings) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let put = |name: &str, span: Nanos| object.put(name, span.as_millis_f64());
    put("duration", timings.duration())?;
    put("blocked", timings.blocked)?;
    put("looking_up", timings.looking_up)?;
    put("connecting", timings.connecting)?;
    put("tls_handshaking", timings.tls_handshaking)?;
    put("sending", timings.sending)?;
    put("waiting", timings.waiting)?;
    put("receiving", timings.receiving)?;
    Ok(object.into_value())
}

/// The cookies that came with it, by name.
pub fn cookies<'js>(ctx: &Ctx<'js>, answer: Option<&Answer>) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let Some(answer) = answer else { return Ok(object.into_value()) };
    let lines = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
    let mut by_name: Vec<(String, Vec<Object<'js>>)> = Vec::new();
    for (_, value) in lines {
        let text = String::from_utf8_lossy(value);
        let Some(found) = cookie::parse(&text, &answer.target.url, 0) else { continue };
        let explicit = |name: &str| {
            text.split(';').skip(1).any(|part| part.trim().to_ascii_lowercase().starts_with(name))
        };
        let one = Object::new(ctx.clone())?;
        one.put("name", found.name.as_str())?;
        one.put("value", found.value.as_str())?;
        one.put("domain", if found.subdomains { found.domain.as_str() } else { "" })?;
        one.put("path", if explicit("path=") { found.path.as_str() } else { "" })?;
        one.put("http_only", found.http_only)?;
        one.put("secure", found.secure)?;
        one.put("max_age", found.max_age as f64)?;
        let expires = if explicit("expires=") { found.expires.unwrap_or(0) as f64 * 1e3 } else { 0.0 };
        one.put("expires", expires)?;
        match by_name.iter_mut().find(|(known, _)| *known == found.name) {
            Some((_, list)) => list.push(one),
            None => by_name.push((found.name, vec![one])),
        }
    }
    for (name, list) in by_name {
        object.put(name, array_of(ctx, list.into_iter().map(Ok))?)?;
    }
    Ok(object.into_value())
}

/// What was sent, without what every request has anyway.
pub fn request<'js>(ctx: &Ctx<'js>, answer: &Answer) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    let request = &answer.request;
    object.put("method", &*request.method)?;
    object.put("url", &*request.target.text)?;
    let headers = Object::new(ctx.clone())?;
    for (name, value) in &request.headers {
        headers.put(canonical(name), array_of(ctx, [Ok(&*String::from_utf8_lossy(value))])?)?;
    }
    let agent = state(ctx)?.http.borrow().user_agent.clone();
    if !agent.is_empty() && !headers.contains_key("User-Agent")? {
        headers.put("User-Agent", array_of(ctx, [Ok(agent)])?)?;
    }
    let cookies = Object::new(ctx.clone())?;
    for (name, value, _) in &request.cookies {
        let cookie = Object::new(ctx.clone())?;
        cookie.put("name", name.as_str())?;
        cookie.put("value", value.as_str())?;
        cookie.put("replace", false)?;
        cookies.put(name.as_str(), array_of(ctx, [Ok(cookie)])?)?;
    }
    if !request.cookies.is_empty() {
        let pairs: Vec<String> =
            request.cookies.iter().map(|(name, value, _)| format!("{name}={value}")).collect();
        headers.put("Cookie", array_of(ctx, [Ok(pairs.join("; "))])?)?;
    }
    object.put("headers", headers)?;
    let body = request.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    object.put("body", &*body)?;
    object.put("cookies", cookies)?;
    Ok(object.into_value())
}

/// The stapled certificate status: always empty, because knee does not request it.
pub fn ocsp<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
        object.put(name, 0)?;
    }
    object.put("revocation_reason", "")?;
    object.put("status", "")?;
    Ok(object.into_value())
}
