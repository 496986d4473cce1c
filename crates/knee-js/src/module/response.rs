//! k6's response object: builds each part when a script reads it.
//!
//! Building every part of every response would cost more than sending the request; a script reads
//! two or three of them.

#![allow(missing_docs, reason = "the macro makes constants that are not part of the interface")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::peer::Peer;
use rquickjs::class::{Trace, Tracer};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, IntoJs, JsLifetime, Object, Result, Value};

use super::bytes::buffer_of;
use super::current::state;
use super::define::{Define as _, array_of};
use super::params::Refused;
use super::{argument, go_error, html};
use knee_k6::html::{Selection, Target};
use knee_k6::http::answer::{Answer, shown_name};
use knee_k6::http::cookie;
use knee_k6::http::error_code;
use knee_k6::http::request::{Keep, canonical};

mod json;

/// A response.
#[derive(JsLifetime)]
#[rquickjs::class]
pub struct Response<'js> {
    shown: Shown,
    /// Parts that were made, or that the script has set.
    parts: RefCell<Parts<'js>>,
}

/// The source of a response's parts.
type Shown = Rc<Source>;

/// Origin of a response.
enum Source {
    Answer(Box<Answer>),
    Refused { words: String, code: u16 },
}

/// Parts of a response that are objects, so that reading one twice gives the same one.
#[derive(Default, Trace, JsLifetime)]
struct Parts<'js> {
    body: Option<Value<'js>>,
    json: Option<Value<'js>>,
    headers: Option<Value<'js>>,
    timings: Option<Value<'js>>,
    cookies: Option<Value<'js>>,
    request: Option<Value<'js>>,
}

impl<'js> Trace<'js> for Response<'js> {
    fn trace<'a>(&self, tracer: Tracer<'a, 'js>) {
        // The collector runs between two steps of a script, when no part is being made.
        if let Ok(parts) = self.parts.try_borrow() {
            parts.trace(tracer);
        }
    }
}

impl Response<'_> {
    /// The response of a request that was sent.
    pub fn new(answer: Box<Answer>) -> Self {
        Self { shown: Rc::new(Source::Answer(answer)), parts: RefCell::default() }
    }

    /// The response of a request that could not be.
    pub fn refused(refused: &Refused) -> Self {
        let source = Source::Refused { words: refused.words.clone(), code: refused.code };
        Self { shown: Rc::new(source), parts: RefCell::default() }
    }

    fn peer(&self) -> Option<Peer> {
        self.answer().and_then(|answer| answer.peer)
    }

    fn answer(&self) -> Option<&Answer> {
        match &*self.shown {
            Source::Answer(answer) => Some(answer),
            Source::Refused { .. } => None,
        }
    }
}

impl<'js> Response<'js> {
    /// The body as text, read as `what`; includes a body that the script has set.
    fn text_of_body(&self, ctx: &Ctx<'js>, what: &str) -> Result<Cow<'_, str>> {
        let null = || {
            let words = format!(
                "the body is null so we can't transform it to {what} - this likely was because of a request error getting the response"
            );
            go_error::throw(ctx, &words)
        };
        // Reading what the script has set can run code of the script, which can set it again.
        let replaced = self.parts.borrow().body.clone();
        if let Some(replaced) = replaced {
            if replaced.is_null() || replaced.is_undefined() {
                return Err(null());
            }
            let bytes = argument::bytes_argument(ctx, &replaced)?;
            return Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()));
        }
        let answer = self.answer().filter(|answer| answer.has_body());
        answer.map(|answer| String::from_utf8_lossy(answer.body.bytes())).ok_or_else(null)
    }

    /// The body as a page.
    pub fn page(&self, ctx: &Ctx<'js>) -> Result<Selection> {
        html::read(ctx, &self.text_of_body(ctx, "HTML")?, &self.url())
    }

    fn body_value(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let null = || Value::new_null(ctx.clone());
        // No body is not the same as an empty one.
        let Some(answer) = self.answer().filter(|answer| answer.has_body()) else { return Ok(null()) };
        match answer.keep {
            Keep::Nothing => Ok(null()),
            Keep::Binary => Ok(buffer_of(ctx, answer.body.bytes().to_vec())?.into_value()),
            Keep::Text => match std::str::from_utf8(answer.body.bytes()) {
                Ok(text) => text.into_js(ctx),
                Err(_) => String::from_utf8_lossy(answer.body.bytes()).into_js(ctx),
            },
        }
    }

    fn headers_value(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        let mut lines: Vec<(String, String)> = Vec::new();
        for (name, value) in self.answer().iter().flat_map(|answer| answer.headers.iter()) {
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

    fn timings_value(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let timings = self.answer().map(|answer| answer.timings).unwrap_or_default();
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

    fn cookies_value(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        let Some(answer) = self.answer() else { return Ok(object.into_value()) };
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

    /// What was sent, without what every request has anyway; null if nothing was.
    fn request_value(&self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        let answer = match &*self.shown {
            Source::Answer(answer) => answer,
            Source::Refused { .. } => return Ok(Value::new_null(ctx.clone())),
        };
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
}

/// A part that is made once and kept.
macro_rules! part {
    ($self:ident, $ctx:ident, $part:ident, $make:ident) => {{
        let known = $self.parts.borrow().$part.clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = $self.$make(&$ctx)?;
        let before = $self.parts.borrow_mut().$part.replace(made.clone());
        drop(before);
        Ok(made)
    }};
}

#[rquickjs::methods]
impl<'js> Response<'js> {
    /// Status; 0 without a complete response.
    #[qjs(get, enumerable)]
    pub fn status(&self) -> u16 {
        self.answer().map_or(0, |answer| answer.status)
    }

    /// Status with its words.
    #[qjs(get, enumerable, rename = "status_text")]
    pub fn status_text(&self) -> String {
        let answer = self.answer().filter(|answer| answer.status > 0);
        answer.map(|answer| format!("{} {}", answer.status, answer.reason)).unwrap_or_default()
    }

    /// The body.
    #[qjs(get, enumerable)]
    pub fn body(&self, ctx: Ctx<'js>) -> Result<Value<'js>> {
        part!(self, ctx, body, body_value)
    }

    /// Scripts can replace the body.
    #[qjs(set, rename = "body")]
    pub fn set_body(&self, value: Value<'js>) {
        let mut parts = self.parts.borrow_mut();
        parts.body = Some(value);
        parts.json = None;
    }

    /// Headers by name.
    #[qjs(get, enumerable)]
    pub fn headers(&self, ctx: Ctx<'js>) -> Result<Value<'js>> {
        part!(self, ctx, headers, headers_value)
    }

    /// Timings in milliseconds.
    #[qjs(get, enumerable)]
    pub fn timings(&self, ctx: Ctx<'js>) -> Result<Value<'js>> {
        part!(self, ctx, timings, timings_value)
    }

    /// Cookies that came with it, by name.
    #[qjs(get, enumerable)]
    pub fn cookies(&self, ctx: Ctx<'js>) -> Result<Value<'js>> {
        part!(self, ctx, cookies, cookies_value)
    }

    /// The request.
    #[qjs(get, enumerable)]
    pub fn request(&self, ctx: Ctx<'js>) -> Result<Value<'js>> {
        part!(self, ctx, request, request_value)
    }

    /// The URL of the last hop.
    #[qjs(get, enumerable)]
    pub fn url(&self) -> String {
        match &*self.shown {
            Source::Answer(answer) => answer.url().to_owned(),
            Source::Refused { .. } => String::new(),
        }
    }

    /// The error; empty if there is none.
    #[qjs(get, enumerable)]
    pub fn error(&self) -> String {
        match &*self.shown {
            Source::Answer(answer) => {
                answer.error.as_ref().map(|(words, _)| words.clone()).unwrap_or_default()
            }
            Source::Refused { words, .. } => words.clone(),
        }
    }

    /// k6's error code; 0 if there is no error.
    #[qjs(get, enumerable, rename = "error_code")]
    pub fn error_code(&self) -> u16 {
        match &*self.shown {
            Source::Answer(answer) => {
                answer.error.as_ref().map_or_else(|| error_code::of_status(answer.status), |(_, code)| *code)
            }
            Source::Refused { code, .. } => *code,
        }
    }

    /// The protocol.
    #[qjs(get, enumerable)]
    pub fn proto(&self) -> &'static str {
        self.answer().map_or("", Answer::protocol)
    }

    /// Address of the server.
    #[qjs(get, enumerable, rename = "remote_ip")]
    pub fn remote_ip(&self) -> String {
        self.peer().map(|peer| peer.address.ip().to_string()).unwrap_or_default()
    }

    /// Port of the server.
    #[qjs(get, enumerable, rename = "remote_port")]
    pub fn remote_port(&self) -> u16 {
        self.peer().map_or(0, |peer| peer.address.port())
    }

    /// Version of TLS.
    #[qjs(get, enumerable, rename = "tls_version")]
    pub fn tls_version(&self) -> &'static str {
        self.peer().and_then(|peer| peer.tls).map_or("", |tls| tls.version)
    }

    /// Cipher suite of TLS.
    #[qjs(get, enumerable, rename = "tls_cipher_suite")]
    pub fn tls_cipher_suite(&self) -> &'static str {
        self.peer().and_then(|peer| peer.tls).map_or("", |tls| tls.suite)
    }

    /// The stapled certificate status: always empty, because knee does not request it.
    #[qjs(get, enumerable)]
    pub fn ocsp(&self, ctx: Ctx<'js>) -> Result<Object<'js>> {
        let object = Object::new(ctx)?;
        for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
            object.put(name, 0)?;
        }
        object.put("revocation_reason", "")?;
        object.put("status", "")?;
        Ok(object)
    }

    /// The body as JSON, or what a path leads to in it.
    pub fn json(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>) -> Result<Value<'js>> {
        if let Some(path) = path.0 {
            let path = path.get::<Coerced<String>>()?.0;
            return json::select(&ctx, &self.text_of_body(&ctx, "JSON")?, &path);
        }
        if let Some(known) = &self.parts.borrow().json {
            return Ok(known.clone());
        }
        let value = json::parse(&ctx, &self.text_of_body(&ctx, "JSON")?)?;
        self.parts.borrow_mut().json = Some(value.clone());
        Ok(value)
    }

    /// The body as a page, or what a selector finds in it.
    pub fn html(&self, ctx: Ctx<'js>, selector: Opt<Coerced<String>>) -> Result<Value<'js>> {
        let page = self.page(&ctx)?;
        html::show(
            &ctx,
            match selector.0 {
                Some(selector) => page.find(&Target::of_selector(&selector.0)),
                None => page,
            },
        )
    }

    /// As k6's response serialises.
    #[qjs(rename = "toJSON")]
    pub fn to_json(&self, ctx: Ctx<'js>) -> Result<Object<'js>> {
        let object = Object::new(ctx.clone())?;
        object.put("remote_ip", self.remote_ip())?;
        object.put("remote_port", self.remote_port())?;
        object.put("url", self.url())?;
        object.put("status", self.status())?;
        object.put("status_text", self.status_text())?;
        object.put("proto", self.proto())?;
        object.put("headers", self.headers(ctx.clone())?)?;
        object.put("cookies", self.cookies(ctx.clone())?)?;
        object.put("body", self.body(ctx.clone())?)?;
        object.put("timings", self.timings(ctx.clone())?)?;
        object.put("tls_version", self.tls_version())?;
        object.put("tls_cipher_suite", self.tls_cipher_suite())?;
        object.put("ocsp", self.ocsp(ctx.clone())?)?;
        object.put("error", self.error())?;
        object.put("error_code", self.error_code())?;
        object.put("request", self.request(ctx)?)?;
        Ok(object)
    }
}
