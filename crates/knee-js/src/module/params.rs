//! From the arguments of a call to a request.

use std::cell::RefCell;
use std::rc::Rc;

use knee_core::unit::Nanos;
use rquickjs::class::Class;
use rquickjs::{Coerced, Object, Result, Value};

use super::current::{Room, charge};
use super::expected::expected_of;
use super::jar::CookieJar;
use super::mark::is_url;
use super::text::Text;
use super::{argument, body};
use crate::state::State;
use knee_k6::duration::SignedDuration;
use knee_k6::http::auth::{Credentials, Scheme};
use knee_k6::http::cookie::Jar;
use knee_k6::http::decode::Coding;
use knee_k6::http::request::{Keep, Origins, Request, Unsendable};

/// Time limit of a request unless it says otherwise.
const TIMEOUT: Nanos = Nanos::from_secs(60);

/// The arguments of a call.
pub struct Wanted<'a, 'js> {
    /// The method.
    pub method: Rc<str>,
    /// The URL: text, or what http.url made.
    pub url: &'a Value<'js>,
    /// The body.
    pub body: Option<&'a Value<'js>>,
    /// Everything else.
    pub params: Option<&'a Value<'js>>,
}

/// A request that could not be made.
pub struct Refused {
    /// Why.
    pub words: String,
    /// k6's error code.
    pub code: u16,
    /// Whether it is thrown.
    pub throw: bool,
}

/// The request that the arguments of a call ask for. Arguments of the wrong type are thrown; a
/// URL that leads nowhere is refused, which is a response.
pub fn request<'js>(
    state: &State,
    wanted: &Wanted<'_, 'js>,
) -> Result<std::result::Result<Rc<Request>, Refused>> {
    let defaults = state.http.borrow().clone();
    let params = wanted.params.filter(|params| !params.is_null() && !params.is_undefined());
    // As k6 has it, params that are no object are no params.
    let params = params.and_then(Value::as_object);
    // As k6 has it, a request that cannot even be made is thrown if the options say so, not the request.
    let refused = |words, code| Ok(Err(Refused { words, code, throw: defaults.throw }));
    let (url, name) = match url_of(wanted.url)? {
        Ok(url) => url,
        Err(words) => return refused(words, 1020),
    };
    let target = match state.targets.find(url.as_str(), defaults.proxies.as_ref()) {
        Ok(target) => target,
        Err(Unsendable { words, code }) => return refused(words, code),
    };
    let throw = params.map(|params| params.get::<_, Option<bool>>("throw")).transpose()?.flatten();
    let throw = throw.unwrap_or(defaults.throw);
    let mut request = Request {
        memory: Rc::new(state.account.empty()),
        method: wanted.method.clone(),
        target,
        name: name.map(Into::into),
        headers: Vec::new(),
        body: None,
        timeout: TIMEOUT,
        redirects: defaults.redirects,
        keep: if defaults.discard_bodies { Keep::Nothing } else { Keep::Text },
        jar: Some(state.jar.borrow().clone()),
        cookies: Vec::new(),
        credentials: None,
        is_ntlm: false,
        tags: Vec::new(),
        expected: state.expected.borrow().clone(),
        throw,
        compression: Vec::new(),
        origin: Origins {
            scenario: state.place.borrow().scenario.clone(),
            group: state.group.borrow().clone(),
            tags: state.tags.borrow().clone(),
            metadata: state.metadata.borrow().clone(),
        },
    };
    if let Some(params) = params
        && let Err(words) = apply(&mut request, params)?
    {
        return refused(words, 0);
    }
    if let Some(body) = wanted.body
        && let Err(words) = body::put(&mut request, body)?
    {
        return refused(words, 0);
    }
    request.memory = Rc::new(charge(wanted.url.ctx(), request.bytes())?);
    Ok(Ok(Rc::new(request)))
}

/// A URL as the script wrote it; mostly it is a text, which need not be copied.
enum Written<'js> {
    Lent(Text<'js>),
    Made(String),
}

impl Written<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Lent(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// The URL as text, and the name it brings along; or the words for what is no URL.
fn url_of<'js>(url: &Value<'js>) -> Result<Made<(Written<'js>, Option<String>)>> {
    if let Some(text) = url.as_string() {
        return Ok(Ok((Written::Lent(Text::of(text.clone())?), None)));
    }
    let template = url.as_object().filter(|url| is_url(url));
    let Some(template) = template else { return Ok(Err(format!("invalid URL: '#{}'", go_value(url)?))) };
    let (name, clean): (String, String) = (template.get("name")?, template.get("clean_url")?);
    // A template without gaps names nothing.
    Ok(Ok((Written::Made(template.get("url")?), Some(name).filter(|name| *name != clean))))
}

/// A value as Go prints it, roughly if it is no plain one.
fn go_value(value: &Value<'_>) -> Result<String> {
    if value.is_null() || value.is_undefined() {
        return Ok("<nil>".to_owned());
    }
    if value.is_object() {
        return Ok(argument::kind(value).to_owned());
    }
    Ok(value.get::<Coerced<String>>()?.0)
}

/// Takes over what params say; or the words for what makes no sense.
fn apply<'js>(request: &mut Request, params: &Object<'js>) -> Result<Made<()>> {
    for pair in params.props::<String, Value<'js>>() {
        let (name, value) = pair?;
        let matters = matches!(name.as_str(), "responseCallback" | "jar" | "timeout");
        if value.is_undefined() || (value.is_null() && !matters) {
            continue;
        }
        let made = match name.as_str() {
            "tags" => apply_tags(request, &value)?,
            "timeout" => timeout_of(&value)?.map(|timeout| request.timeout = timeout),
            "responseType" => keep_of(&value)?.map(|keep| request.keep = keep),
            "responseCallback" => expected_of(&value).map(|expected| request.expected = expected),
            "compression" => compression_of(&value)?.map(|codings| request.compression = codings),
            "auth" => {
                apply_auth(request, &value)?;
                Ok(())
            }
            _ => {
                apply_plain(request, &name, &value)?;
                Ok(())
            }
        };
        if made.is_err() {
            return Ok(made);
        }
    }
    Ok(Ok(()))
}

/// Something that params make, or the words for what makes no sense.
type Made<T> = std::result::Result<T, String>;

/// The params that always make sense.
fn apply_plain(request: &mut Request, name: &str, value: &Value<'_>) -> Result<()> {
    match name {
        "headers" => request.headers = headers_of(value)?,
        "cookies" => request.cookies = cookies_of(value)?,
        "redirects" => {
            let number = value.get::<Coerced<f64>>()?.0;
            request.redirects = if number.is_nan() { 0 } else { number.max(0.0) as u32 };
        }
        "jar" => request.jar = jar_of(value),
        _ => {}
    }
    Ok(())
}

/// Name and value of every header; a host can be given as any other.
pub fn headers_of(value: &Value<'_>) -> Result<Vec<(String, Vec<u8>)>> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    let mut room = Room::of(value.ctx())?;
    let mut headers = Vec::new();
    for pair in object.props::<String, Coerced<String>>() {
        let (name, Coerced(text)) = pair?;
        room.take(value.ctx(), name.len() + text.len())?;
        headers.push((name, text.into_bytes()));
    }
    Ok(headers)
}

fn cookies_of(value: &Value<'_>) -> Result<Vec<(String, String, bool)>> {
    let Some(object) = value.as_object() else { return Ok(Vec::new()) };
    let mut room = Room::of(value.ctx())?;
    let mut cookies = Vec::new();
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        let (text, replace) = match value.as_object() {
            Some(object) => {
                let text = object.get::<_, Coerced<String>>("value")?.0;
                (text, object.get::<_, Option<bool>>("replace")?.unwrap_or(false))
            }
            None => (value.get::<Coerced<String>>()?.0, false),
        };
        room.take(value.ctx(), name.len() + text.len())?;
        cookies.push((name, text, replace));
    }
    Ok(cookies)
}

fn apply_tags(request: &mut Request, value: &Value<'_>) -> Result<Made<()>> {
    let Some(object) = value.as_object() else { return Ok(Ok(())) };
    let mut room = Room::of(value.ctx())?;
    for pair in object.props::<String, Value<'_>>() {
        let (name, value) = pair?;
        if value.is_object() || value.is_null() || value.is_undefined() {
            return Ok(Err(format!(
                "invalid HTTP request metric tags: invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag values"
            )));
        }
        let text = value.get::<Coerced<String>>()?.0;
        room.take(value.ctx(), name.len() + text.len())?;
        if name == "name" {
            request.name = Some(text.as_str().into());
        }
        request.tags.push((name, text));
    }
    Ok(Ok(()))
}

/// Milliseconds as a number, or text such as `1m30s`.
pub fn timeout_of(value: &Value<'_>) -> Result<Made<Nanos>> {
    if let Some(millis) = value.as_number() {
        return Ok(Ok(Nanos::from_secs_f64(millis.max(0.0) / 1e3)));
    }
    let Some(text) = value.as_string() else {
        let kind = argument::kind(value);
        return Ok(Err(format!("invalid timeout value: unable to use type {kind} as a duration value")));
    };
    let text = text.to_string()?;
    let timeout = SignedDuration::parse(&text);
    Ok(timeout.map(SignedDuration::to_nanos).map_err(|error| format!("invalid timeout value: {error}")))
}

fn keep_of(value: &Value<'_>) -> Result<Made<Keep>> {
    let text = value.get::<Coerced<String>>()?.0;
    Ok(match text.as_str() {
        "text" => Ok(Keep::Text),
        "binary" => Ok(Keep::Binary),
        "none" => Ok(Keep::Nothing),
        _ => Err(format!("{text} does not belong to ResponseType values")),
    })
}

fn jar_of(value: &Value<'_>) -> Option<Rc<RefCell<Jar>>> {
    let class = Class::<CookieJar>::from_value(value).ok()?;
    Some(class.borrow().jar())
}

fn apply_auth(request: &mut Request, value: &Value<'_>) -> Result<()> {
    let scheme = match value.get::<Coerced<String>>()?.0.as_str() {
        "digest" => Scheme::Digest,
        "ntlm" => {
            request.is_ntlm = true;
            return Ok(());
        }
        _ => Scheme::Basic,
    };
    request.credentials = Credentials::of_url(&request.target.url, scheme);
    Ok(())
}

fn compression_of(value: &Value<'_>) -> Result<Made<Vec<Coding>>> {
    let text = value.get::<Coerced<String>>()?.0;
    let words = |name: &str| {
        format!("unknown compression algorithm {name}, supported algorithms are [gzip deflate zstd br]")
    };
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(|name| Coding::by_name(name).ok_or_else(|| words(name))).collect())
}
