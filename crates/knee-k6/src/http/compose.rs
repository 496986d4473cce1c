//! What is sent for one hop of a request: the script's headers, and what k6 adds from jar, URL and credentials.
//!
//! Does not send; see [`super::send`].

use std::rc::Rc;

use knee_core::clock;
use knee_engine::http::prepared::PreparedRequest;

use super::auth::{Credentials, Scheme};
use super::hop::Hop;
use super::request::{Line, Request, prepare as write};

/// What is sent for `hop`. A plain `GET` is prepared once for its target.
pub fn prepare(request: &Request, hop: &Hop, user_agent: &str) -> Rc<PreparedRequest> {
    let cookies = cookies(request, hop);
    let plain = hop.is_first && cookies.is_none() && request.is_plain_get();
    if plain && hop.target.url.user().is_none() {
        let build =
            || Rc::new(write("GET", &hop.target.url, &[], &[], None, user_agent, hop.target.forwarder()));
        return hop.target.plain_get.get_or_init(build).clone();
    }
    let body = hop.body(request);
    let authorization = hop.authorization.clone().or_else(|| first_authorization(request, hop));
    let mut extra: Vec<Line<'_>> = Vec::new();
    if let Some(cookies) = &cookies {
        extra.push(("Cookie", cookies.as_bytes()));
    }
    if let Some(authorization) = &authorization {
        extra.push(("Authorization", authorization.as_bytes()));
    }
    let own_referer = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("referer"));
    if let Some(referer) = hop.referer.as_ref().filter(|_| !own_referer) {
        extra.push(("Referer", referer.as_bytes()));
    }
    let encodings: Vec<&str> = request.compression.iter().map(|coding| coding.name()).collect();
    let encodings = encodings.join(", ");
    if !encodings.is_empty() && body.is_some() {
        extra.push(("Content-Encoding", encodings.as_bytes()));
    }
    let goes =
        |name: &str| hop.takes(name) && !(hop.is_reticent && name.eq_ignore_ascii_case("authorization"));
    let mut headers: Vec<_> = request.headers.iter().filter(|(name, _)| goes(name)).cloned().collect();
    // A header that was written by hand is joined by what the jar has.
    let by_hand = headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    if let (Some((_, own)), Some(cookies)) = (by_hand, &cookies) {
        own.extend_from_slice(b"; ");
        own.extend_from_slice(cookies.as_bytes());
    }
    let forwarder = hop.target.forwarder();
    Rc::new(write(&hop.method, &hop.target.url, &headers, &extra, body, user_agent, forwarder))
}

/// The value of `Cookie`: the request's own, and what the jar has.
fn cookies(request: &Request, hop: &Hop) -> Option<String> {
    let jar = request.jar.as_ref().filter(|jar| !jar.borrow().is_empty());
    if jar.is_none() && request.cookies.is_empty() {
        return None;
    }
    let own = &request.cookies;
    let mut pairs: Vec<(String, String)> =
        own.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    if let Some(jar) = jar {
        let jar = jar.borrow();
        let found = jar.of(&hop.target.url, seconds_now()).into_iter();
        let replaced = |name: &str| own.iter().any(|(known, _, replace)| *replace && known == name);
        let found = found.filter(|cookie| !replaced(&cookie.name));
        pairs.extend(found.map(|cookie| (cookie.name.clone(), cookie.value.clone())));
    }
    let quoted = |value: &str| value.contains([' ', ',']);
    let shown: Vec<String> = pairs
        .iter()
        .map(
            |(name, value)| {
                if quoted(value) { format!("{name}=\"{value}\"") } else { format!("{name}={value}") }
            },
        )
        .collect();
    (!shown.is_empty()).then(|| shown.join("; "))
}

/// Basic credentials go along unasked, except for NTLM: those of the URL, and those for a digest with the first request.
fn first_authorization(request: &Request, hop: &Hop) -> Option<String> {
    if hop.is_reticent {
        return None;
    }
    let of_url = || Credentials::of_url(&hop.target.url, Scheme::Basic);
    let given = request.credentials.clone().filter(|_| hop.is_first);
    given.or_else(of_url).map(|credentials| credentials.basic())
}

/// Seconds since the Unix epoch, which is what cookies count in.
pub fn seconds_now() -> i64 {
    i64::try_from(clock::wall().as_nanos() / 1_000_000_000).unwrap_or(i64::MAX)
}
