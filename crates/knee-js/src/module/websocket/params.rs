//! From the arguments of a call to a handshake, with k6's messages for what it does not take.
//!
//! Does not begin the handshake.

use rquickjs::class::Class;
use rquickjs::{Coerced, Ctx, Error, Object, Result, Value};

use crate::module::current::Room;
use crate::module::define::elements;
use crate::module::go_error;
use crate::module::jar::CookieJar;
use crate::module::params::headers_of;
use crate::state::State;
use knee_k6::go_quote::quoted;
use knee_k6::http::go_url::GoUrl;
use knee_k6::http::request::Origins;
use knee_k6::websocket::request::{Dialect, SocketRequest, SocketTarget};

/// The handshake for `url, protocols, params`.
pub fn request<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    dialect: Dialect,
    given: &[Value<'js>],
) -> Result<SocketRequest> {
    let given = |place: usize| given.get(place).filter(|value| !value.is_null() && !value.is_undefined());
    let written = match (given(0), dialect) {
        (Some(url), _) => url.get::<Coerced<String>>()?.0,
        (None, Dialect::Ws) => String::new(),
        (None, Dialect::WebSockets) => return Err(go_error::throw(ctx, "WebSocket requires a url")),
    };
    let url = GoUrl::parse(written.as_bytes());
    let seen = match (&url, dialect) {
        (Ok(url), Dialect::WebSockets) => url.to_string(),
        _ => written.clone(),
    };
    let masked = url.as_ref().ok().filter(|url| url.user().is_some()).map(GoUrl::masked);
    let shown = masked.unwrap_or_else(|| seen.clone());
    if dialect == Dialect::WebSockets {
        check(&written, url.as_ref()).map_err(|words| go_error::throw(ctx, &words))?;
    }
    let mut request = SocketRequest {
        dialect,
        url: seen.into(),
        shown: shown.into(),
        target: SocketTarget::of(&written, state.http.borrow().proxies.as_deref()),
        headers: Vec::new(),
        protocols: protocols_of(ctx, given(1))?,
        offers_deflate: false,
        jar: Some(state.jar.borrow().clone()),
        tags: Vec::new(),
        origin: Origins {
            scenario: state.place.borrow().scenario.clone(),
            group: state.group.borrow().clone(),
            tags: state.tags.borrow().clone(),
            metadata: state.metadata.borrow().clone(),
        },
    };
    if let Some(params) = given(2).and_then(Value::as_object) {
        apply(ctx, &mut request, params)?;
    }
    Ok(request)
}

/// Refuses URLs that `k6/websockets` does not take.
fn check(
    written: &str,
    url: std::result::Result<&GoUrl, &impl std::fmt::Display>,
) -> std::result::Result<(), String> {
    let text = quoted(written.as_bytes());
    let url = url
        .map_err(|error| format!("WebSocket requires valid url, but got {text} which resulted in {error}"))?;
    if !matches!(url.scheme(), "ws" | "wss") {
        let scheme = quoted(url.scheme().as_bytes());
        return Err(format!("WebSocket requires url with scheme ws or wss, but got {scheme}"));
    }
    let fragment = url.fragment();
    if fragment.is_empty() {
        return Ok(());
    }
    Err(format!("WebSocket requires no url fragment, but got {}", quoted(fragment.as_bytes())))
}

/// A subprotocol, or a list of them. As in k6, everything else is none.
fn protocols_of<'js>(ctx: &Ctx<'js>, value: Option<&Value<'js>>) -> Result<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if value.is_string() {
        return Ok(vec![value.get::<Coerced<String>>()?.0]);
    }
    let Some(list) = value.as_array() else { return Ok(Vec::new()) };
    let mut room = Room::of(ctx)?;
    let mut protocols = Vec::new();
    for protocol in elements(list)? {
        let text = protocol?.get::<Coerced<String>>()?.0;
        room.take(ctx, text.len())?;
        protocols.push(text);
    }
    Ok(protocols)
}

/// Takes over what params say.
fn apply<'js>(ctx: &Ctx<'js>, request: &mut SocketRequest, params: &Object<'js>) -> Result<()> {
    let is_strict = request.dialect == Dialect::WebSockets;
    for pair in params.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        match name.as_str() {
            "headers" => request.headers = headers_of(&value)?,
            "tags" => request.tags = tags_of(ctx, request.dialect, &value)?,
            "jar" => {
                if let Ok(jar) = Class::<CookieJar>::from_value(&value) {
                    request.jar = Some(jar.borrow().jar());
                }
            }
            "compression" => {
                let text = value.get::<Coerced<String>>()?.0;
                request.offers_deflate = is_deflate(ctx, text.trim(), is_strict)?;
            }
            _ if is_strict => {
                return Err(go_error::throw(ctx, &format!("unknown WebSocket's option {name}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_deflate(ctx: &Ctx<'_>, name: &str, is_strict: bool) -> Result<bool> {
    match name {
        "deflate" => Ok(true),
        "" if !is_strict => Ok(false),
        _ => {
            let words =
                format!("unsupported compression algorithm '{name}', supported algorithm is 'deflate'");
            Err(go_error::throw(ctx, &words))
        }
    }
}

fn tags_of<'js>(ctx: &Ctx<'js>, dialect: Dialect, value: &Value<'js>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    let mut room = Room::of(ctx)?;
    let mut tags = Vec::new();
    for pair in object.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        if value.is_object() || value.is_null() || value.is_undefined() {
            return Err(wrong_tag(ctx, dialect, &name));
        }
        let text = value.get::<Coerced<String>>()?.0;
        room.take(ctx, name.len() + text.len())?;
        tags.push((name, text));
    }
    Ok(tags)
}

fn wrong_tag(ctx: &Ctx<'_>, dialect: Dialect, name: &str) -> Error {
    let place = match dialect {
        Dialect::Ws => "invalid ws.connect() metric tags",
        Dialect::WebSockets => "invalid WebSocket tags option",
    };
    let words = format!(
        "{place}: invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag values"
    );
    go_error::throw(ctx, &words)
}
