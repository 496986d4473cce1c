//! From the arguments of `open` to a request, with xk6-sse's messages for what it does not take.
//!
//! Does not send.

use std::rc::Rc;

use knee_core::unit::Nanos;
use rquickjs::class::Class;
use rquickjs::{Coerced, Ctx, Object, Result, Value};

use crate::module::current::{Room, charge};
use crate::module::go_error;
use crate::module::jar::CookieJar;
use crate::module::params::headers_of;
use crate::state::State;
use knee_k6::duration::SignedDuration;
use knee_k6::http::go_url::GoUrl;
use knee_k6::http::request::{Keep, Origins, Request, Target};
use knee_k6::sse::conversation::REDIRECTS_MAX;

/// The request for `url` and `params`, and whether it asks for an encoding that the script did not ask for.
pub fn request<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    url: Option<&Value<'js>>,
    params: Option<&Value<'js>>,
) -> Result<(Rc<Request>, bool)> {
    let written = url.map(Value::get::<Coerced<String>>).transpose()?.map(|text| text.0).unwrap_or_default();
    let url = GoUrl::parse(written.as_bytes()).map_err(|error| go_error::throw(ctx, &error.to_string()))?;
    let target = Target::new(url, &written, state.http.borrow().proxies.as_ref());
    let mut request = Request {
        memory: Rc::new(state.account.empty()),
        method: "GET".into(),
        target: Rc::new(target),
        name: None,
        headers: vec![("Accept".to_owned(), b"text/event-stream".to_vec())],
        body: None,
        timeout: Nanos::MAX,
        redirects: REDIRECTS_MAX,
        keep: Keep::Nothing,
        jar: Some(state.jar.borrow().clone()),
        cookies: Vec::new(),
        credentials: None,
        is_ntlm: false,
        tags: Vec::new(),
        expected: state.expected.borrow().clone(),
        throw: false,
        compression: Vec::new(),
        origin: Origins {
            scenario: state.place.borrow().scenario.clone(),
            group: state.group.borrow().clone(),
            tags: state.tags.borrow().clone(),
            metadata: state.metadata.borrow().clone(),
        },
    };
    let params = params.filter(|params| !params.is_null() && !params.is_undefined());
    if let Some(params) = params.and_then(Value::as_object) {
        apply(ctx, &mut request, params)?;
    }
    let has = |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let asks = !has("accept-encoding") && !has("range") && &*request.method != "HEAD";
    if asks {
        // Go's client asks for this and decodes it.
        request.headers.push(("Accept-Encoding".to_owned(), b"gzip".to_vec()));
    }
    request.memory = Rc::new(charge(ctx, request.bytes())?);
    Ok((Rc::new(request), asks))
}

/// Takes over what params say.
fn apply<'js>(ctx: &Ctx<'js>, request: &mut Request, params: &Object<'js>) -> Result<()> {
    for pair in params.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        let is_nothing = value.is_null() || value.is_undefined();
        match name.as_str() {
            "headers" if !is_nothing => {
                for (name, value) in headers_of(&value)? {
                    request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                    request.headers.push((name, value));
                }
                // Go's client takes the host from the URL.
                request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case("host"));
            }
            "tags" => apply_tags(ctx, request, &value)?,
            "jar" if !is_nothing => {
                if let Ok(jar) = Class::<CookieJar>::from_value(&value) {
                    request.jar = Some(jar.borrow().jar());
                }
            }
            "method" => {
                let method = value.get::<Coerced<String>>()?.0;
                let method = method.trim();
                request.method = if method.is_empty() { "GET".into() } else { method.into() };
            }
            "body" => {
                let body = value.get::<Coerced<String>>()?.0;
                let body = body.trim();
                request.body = (!body.is_empty()).then(|| body.as_bytes().into());
            }
            "timeout" if !is_nothing => {
                let text = value.get::<Coerced<String>>()?.0;
                let timeout = SignedDuration::parse_go(&text)
                    .map_err(|error| go_error::throw(ctx, &format!("invalid sse.open() timeout: {error}")))?;
                // As in Go's client, no time at all is no limit.
                request.timeout =
                    if timeout > SignedDuration::ZERO { timeout.to_nanos() } else { Nanos::MAX };
            }
            _ => {}
        }
    }
    Ok(())
}

fn apply_tags<'js>(ctx: &Ctx<'js>, request: &mut Request, value: &Value<'js>) -> Result<()> {
    let Some(object) = value.as_object() else { return Ok(()) };
    let mut room = Room::of(ctx)?;
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if value.is_object() || value.is_null() || value.is_undefined() {
            let words = format!(
                "invalid sse.open() metric tags: invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag values"
            );
            return Err(go_error::throw(ctx, &words));
        }
        let text = value.get::<Coerced<String>>()?.0;
        room.take(ctx, name.len() + text.len())?;
        if name == "name" {
            request.name = Some(text.as_str().into());
        }
        request.tags.push((name, text));
    }
    Ok(())
}
