//! `k6/http`: every verb, `request`, `asyncRequest`, `batch`, `file`, cookie jars, expected statuses.
//!
//! Turns arguments into requests and waits for responses; does not send.

use std::rc::Rc;

use knee_core::clock;
use rquickjs::class::Class;
use rquickjs::function::{Constructor, Opt, Rest, This};
use rquickjs::{
    Array, Coerced, Ctx, Error, Exception, Function, IntoJs as _, Object, Persistent, Promise, Result, Value,
};

use super::batch::batch;
use super::bytes::bytes_of;
use super::current::{Room, charge, cut, state};
use super::define::{Define as _, elements};
use super::expected::{expected_statuses, set_response_callback};
use super::go_error;
use super::jar::CookieJar;
use super::lazy::{Members, lazy};
use super::mark::{Mark, marked};
use super::page;
use super::params::{self, Wanted};
use super::perform::{perform, refuse};
use crate::event_loop::Promised;
use crate::op::Op;
use knee_k6::http::go_url::GoUrl;
use knee_k6::http::request::Request;

/// Verbs with their methods, and whether they take a body.
const VERBS: &[(&str, &str, bool)] = &[
    ("get", "GET", false),
    ("head", "HEAD", false),
    ("post", "POST", true),
    ("put", "PUT", true),
    ("patch", "PATCH", true),
    ("del", "DELETE", true),
    ("options", "OPTIONS", true),
];

/// Constants that scripts read and that mean nothing more here than their names.
const CONSTANTS: &[(&str, &str)] = &[
    ("TLS_1_0", "tls1.0"),
    ("TLS_1_1", "tls1.1"),
    ("TLS_1_2", "tls1.2"),
    ("TLS_1_3", "tls1.3"),
    ("OCSP_STATUS_GOOD", "good"),
    ("OCSP_STATUS_REVOKED", "revoked"),
    ("OCSP_STATUS_SERVER_FAILED", "server_failed"),
    ("OCSP_STATUS_UNKNOWN", "unknown"),
    ("OCSP_REASON_AA_COMPROMISE", "aa_compromise"),
    ("OCSP_REASON_AFFILIATION_CHANGED", "affiliation_changed"),
    ("OCSP_REASON_CA_COMPROMISE", "ca_compromise"),
    ("OCSP_REASON_CERTIFICATE_HOLD", "certificate_hold"),
    ("OCSP_REASON_CESSATION_OF_OPERATION", "cessation_of_operation"),
    ("OCSP_REASON_KEY_COMPROMISE", "key_compromise"),
    ("OCSP_REASON_PRIVILEGE_WITHDRAWN", "privilege_withdrawn"),
    ("OCSP_REASON_REMOVE_FROM_CRL", "remove_from_crl"),
    ("OCSP_REASON_SUPERSEDED", "superseded"),
    ("OCSP_REASON_UNSPECIFIED", "unspecified"),
];

/// Its exports.
pub const EXPORTS: &[&str] = &[
    "get",
    "head",
    "post",
    "put",
    "patch",
    "del",
    "options",
    "request",
    "asyncRequest",
    "batch",
    "file",
    "url",
    "cookieJar",
    "CookieJar",
    "expectedStatuses",
    "setResponseCallback",
    "TLS_1_0",
    "TLS_1_1",
    "TLS_1_2",
    "TLS_1_3",
    "OCSP_STATUS_GOOD",
    "OCSP_STATUS_REVOKED",
    "OCSP_STATUS_SERVER_FAILED",
    "OCSP_STATUS_UNKNOWN",
    "OCSP_REASON_AA_COMPROMISE",
    "OCSP_REASON_AFFILIATION_CHANGED",
    "OCSP_REASON_CA_COMPROMISE",
    "OCSP_REASON_CERTIFICATE_HOLD",
    "OCSP_REASON_CESSATION_OF_OPERATION",
    "OCSP_REASON_KEY_COMPROMISE",
    "OCSP_REASON_PRIVILEGE_WITHDRAWN",
    "OCSP_REASON_REMOVE_FROM_CRL",
    "OCSP_REASON_SUPERSEDED",
    "OCSP_REASON_UNSPECIFIED",
];

/// What a request takes that its script does not wait for: a task, a connection and their buffers.
const BEGUN_BYTES: usize = 16 << 10;

/// Makes the module. Its members are made when a script reads them.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    page::install(ctx)?;
    lazy(ctx, Rc::new(Exported))
}

/// What the module exports.
struct Exported;

impl Members for Exported {
    fn count(&self) -> usize {
        EXPORTS.len()
    }

    fn name(&self, place: usize) -> &str {
        EXPORTS[place]
    }

    fn place(&self, name: &str) -> Option<usize> {
        EXPORTS.iter().position(|known| *known == name)
    }

    fn make<'js>(&self, ctx: &Ctx<'js>, place: usize) -> Result<Value<'js>> {
        member(ctx, EXPORTS[place])
    }
}

/// The member of a name that is exported.
fn member<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>> {
    if let Some((name, method, with_body)) = VERBS.iter().find(|(verb, ..)| *verb == name) {
        return Ok(verb(ctx, method, *with_body)?.with_name(name)?.into_value());
    }
    if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
        return value.into_js(ctx);
    }
    let function = match name {
        "request" => Function::new(ctx.clone(), request)?,
        "asyncRequest" => Function::new(ctx.clone(), async_request)?,
        "batch" => Function::new(ctx.clone(), batch)?,
        "file" => Function::new(ctx.clone(), file)?,
        "url" => Function::new(ctx.clone(), url)?,
        "cookieJar" => Function::new(ctx.clone(), cookie_jar)?,
        "expectedStatuses" => Function::new(ctx.clone(), expected_statuses)?,
        "setResponseCallback" => Function::new(ctx.clone(), set_response_callback)?,
        "CookieJar" => {
            let constructor: Option<Constructor<'js>> = Class::<CookieJar>::create_constructor(ctx)?;
            return constructor.into_js(ctx);
        }
        _ => return Ok(Value::new_undefined(ctx.clone())),
    };
    Ok(function.with_name(name)?.into_value())
}

/// A part of a multipart body.
fn file<'js>(
    ctx: Ctx<'js>,
    data: Value<'js>,
    filename: Opt<Value<'js>>,
    content_type: Opt<Value<'js>>,
) -> Result<Object<'js>> {
    if !data.is_string() && !data.is_array() && bytes_of(&data).is_none() {
        let words = format!("invalid type {}, expected string, []byte or ArrayBuffer", data.type_name());
        return Err(Exception::throw_type(&ctx, &words));
    }
    let given = |value: Opt<Value<'js>>| value.0.filter(|value| !value.is_undefined());
    let text = |value: Value<'js>| Ok::<_, Error>(value.get::<Coerced<String>>()?.0);
    let filename = given(filename).map(text).transpose()?;
    let object = marked(&ctx, Mark::File)?;
    object.put("data", data)?;
    object.put("filename", filename.unwrap_or_else(|| clock::wall().as_nanos().to_string()))?;
    let content_type = given(content_type).map(text).transpose()?;
    object.put("content_type", content_type.unwrap_or_else(|| "application/octet-stream".to_owned()))?;
    Ok(object)
}

/// A template whose text names the request, whatever was put into its gaps.
fn url<'js>(ctx: Ctx<'js>, parts: Array<'js>, values: Rest<Value<'js>>) -> Result<Object<'js>> {
    let mut name = String::new();
    let mut url = String::new();
    let mut room = Room::of(&ctx)?;
    for (place, part) in elements(&parts)?.enumerate() {
        if place > 0 {
            name.push_str("${}");
            let value = values.0.get(place - 1).map(Value::get::<Coerced<String>>).transpose()?;
            let text = value.map_or_else(|| "undefined".to_owned(), |value| value.0);
            room.take(&ctx, text.len())?;
            url.push_str(&text);
        }
        let part = part?.get::<Coerced<String>>()?.0;
        room.take(&ctx, 2 * part.len())?;
        name.push_str(&part);
        url.push_str(&part);
    }
    let parsed = GoUrl::parse(url.as_bytes());
    let parsed = parsed.map_err(|error| go_error::throw(&ctx, &format!("invalid URL: {error}")))?;
    let clean = if parsed.user().is_some() { parsed.masked() } else { url.clone() };
    let object = marked(&ctx, Mark::Url)?;
    object.put("url", url.as_str())?;
    object.put("name", if name == url { clean.as_str() } else { name.as_str() })?;
    object.put("clean_url", clean)?;
    let text = |this: This<Object<'js>>| this.get::<_, Value<'js>>("url");
    object.put("toString", Function::new(ctx, text)?)?;
    Ok(object)
}

fn verb<'js>(ctx: &Ctx<'js>, method: &'static str, with_body: bool) -> Result<Function<'js>> {
    let method: Rc<str> = method.into();
    if with_body {
        let call = move |ctx: Ctx<'js>, url: Value<'js>, body: Opt<Value<'js>>, params: Opt<Value<'js>>| {
            perform(
                &ctx,
                &Wanted {
                    method: method.clone(),
                    url: &url,
                    body: body.0.as_ref(),
                    params: params.0.as_ref(),
                },
            )
        };
        return Function::new(ctx.clone(), call);
    }
    // `http.get(url, null, params)` has no parameters, as in k6: the third argument is not looked at.
    let call = move |ctx: Ctx<'js>, url: Value<'js>, params: Opt<Value<'js>>| {
        let params = params.0;
        perform(&ctx, &Wanted { method: method.clone(), url: &url, body: None, params: params.as_ref() })
    };
    Function::new(ctx.clone(), call)
}

fn request<'js>(
    ctx: Ctx<'js>,
    method: Coerced<String>,
    url: Value<'js>,
    body: Opt<Value<'js>>,
    params: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let method = method.0.into();
    perform(&ctx, &Wanted { method, url: &url, body: body.0.as_ref(), params: params.0.as_ref() })
}

fn async_request<'js>(
    ctx: Ctx<'js>,
    method: Coerced<String>,
    url: Value<'js>,
    body: Opt<Value<'js>>,
    params: Opt<Value<'js>>,
) -> Result<Promise<'js>> {
    let state = state(&ctx)?;
    if state.init.get() {
        return Err(go_error::throw(&ctx, "Making http requests in the init context is not supported"));
    }
    let (promise, resolve, reject) = ctx.promise()?;
    let method = method.0.into();
    let wanted = Wanted { method, url: &url, body: body.0.as_ref(), params: params.0.as_ref() };
    let request: Rc<Request> = match params::request(&state, &wanted)? {
        Ok(request) => request,
        Err(refused) => {
            match refuse(&ctx, &state, &refused) {
                Ok(response) => resolve.call::<_, ()>((response,))?,
                Err(_) => reject.call::<_, ()>((ctx.catch(),))?,
            }
            return Ok(promise);
        }
    };
    let memory = charge(&ctx, BEGUN_BYTES)?;
    let id = state.inbox.number();
    let (resolve, reject) = (Persistent::save(&ctx, resolve), Persistent::save(&ctx, reject));
    state.events.promise(Promised { id, resolve, reject, memory });
    state.ask(Op::Begin(id, request)).ok_or_else(|| cut(&ctx))?;
    Ok(promise)
}

fn cookie_jar<'js>(ctx: Ctx<'js>) -> Result<Class<'js, CookieJar>> {
    let jar = state(&ctx)?.jar.borrow().clone();
    Class::instance(ctx, CookieJar::of(jar))
}
