//! Redirects: which one is followed, where it leads, and what is sent there (RFC 9110, section 15.4).
//!
//! Pure: neither sends nor counts. Scripts follow redirects in their own way, as k6 does.

use std::task::{Context, Poll};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use url::Url;

use super::failure::Failure;
use super::origin::{Origin, RedirectScope};
use super::peer::Peer;
use super::prepared::PreparedRequest;
use super::request::{Defaults, prepare};
use super::response::{ResponseHead, Sink};
use super::sampling::Look;

/// What following the redirects of a request needs.
#[derive(Clone, Copy)]
pub struct FollowRedirects<'a> {
    /// Method of the first request.
    pub method: &'a str,
    /// URL of the first request.
    pub url: &'a Url,
    /// Headers of the first request.
    pub headers: &'a [(String, Vec<u8>)],
    /// Body of the first request.
    pub body: Option<&'a [u8]>,
    /// Where redirects can lead.
    pub scope: &'a RedirectScope,
}

/// Passes a response on and keeps the redirect that is to be followed.
pub struct RedirectSink<'a, S> {
    sink: &'a mut S,
    /// The redirect of the last response, if it is one.
    pub redirect: Option<Redirect>,
    /// How many redirects are followed after this response.
    pub left: u32,
    /// Looks at the response, if that is sampled.
    pub look: Option<Look>,
}

impl<'a, S> RedirectSink<'a, S> {
    /// Keeps redirects if `left` is over 0.
    pub const fn new(sink: &'a mut S, left: u32, look: Option<Look>) -> Self {
        Self { sink, redirect: None, left, look }
    }
}

/// A redirect to be followed.
#[derive(Debug)]
pub struct Redirect {
    status: u16,
    location: Vec<u8>,
}

/// The request that follows a redirect.
#[derive(Debug)]
pub struct Hop {
    /// Its origin.
    pub origin: Origin,
    /// What is sent.
    pub request: PreparedRequest,
}

/// The way of one request over its redirects.
pub struct Trail<'a> {
    follow: FollowRedirects<'a>,
    /// URL and method of the last hop; `None` before the first redirect, so that requests without one copy nothing.
    last: Option<(Url, String)>,
}

impl<'a> Trail<'a> {
    /// The way of a request that had no redirect yet.
    pub const fn new(follow: FollowRedirects<'a>) -> Self {
        Self { follow, last: None }
    }

    /// The request that follows `redirect`; `None` if its target is not under load.
    pub fn next(&mut self, redirect: &Redirect, defaults: &Defaults) -> Result<Option<Hop>, Failure> {
        let follow = self.follow;
        let (url, method) = self.last.get_or_insert_with(|| (follow.url.clone(), follow.method.to_owned()));
        let Some((next, origin)) = redirect.target(url, follow.scope)? else { return Ok(None) };
        redirect.rewrite(method);
        let body = if method == follow.method { follow.body } else { None };
        let next = with_credentials(next, follow.url);
        let headers = next_headers(follow, &next, body.is_none());
        let request = prepare(method, &next, &headers, body, defaults);
        *url = next;
        Ok(Some(Hop { origin: defaults.route(origin), request }))
    }
}

/// Headers for the next hop: credentials are sent only to their own origin, and headers that
/// describe a body only with the body.
fn next_headers(follow: FollowRedirects<'_>, next: &Url, bodiless: bool) -> Vec<(String, Vec<u8>)> {
    const SECRET: &[&str] = &["authorization", "cookie", "host"];
    const OF_BODY: &[&str] = &["content-length", "content-type", "content-encoding", "transfer-encoding"];
    let among = |names: &[&str], name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let same = next.origin() == follow.url.origin();
    let fits = |name: &str| (same || !among(SECRET, name)) && !(bodiless && among(OF_BODY, name));
    follow.headers.iter().filter(|(name, _)| fits(name)).cloned().collect()
}

/// `next` with user and password of `first`, if it has the same origin and none itself.
fn with_credentials(mut next: Url, first: &Url) -> Url {
    if next.origin() == first.origin() && next.username().is_empty() && next.password().is_none() {
        // These fail only for URLs without a host, which never have the same origin.
        let _ = next.set_username(first.username());
        let _ = next.set_password(first.password());
    }
    next
}

impl Redirect {
    /// The target of the redirect from `url`; `None` if it is not under load.
    fn target(&self, url: &Url, scope: &RedirectScope) -> Result<Option<(Url, Origin)>, Failure> {
        let location = String::from_utf8_lossy(&self.location);
        let next = url.join(&location).map_err(|error| {
            Failure::new(Fault::BadRedirect, format!("{}: {error}", crate::secret::redacted(&location)))
        })?;
        let origin = Origin::of(&next).filter(|origin| scope.contains(origin));
        Ok(origin.map(|origin| (next, origin)))
    }

    /// The method of the next request (RFC 9110, 15.4).
    fn rewrite(&self, method: &mut String) {
        let to_get = match self.status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        };
        if to_get {
            "GET".clone_into(method);
        }
    }
}

impl<S: Sink> Sink for RedirectSink<'_, S> {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        if self.left > 0 && matches!(head.status, 301 | 302 | 303 | 307 | 308) {
            let location = head.fields.get("location");
            self.redirect = location.map(|value| Redirect { status: head.status, location: value.to_vec() });
        }
        if let Some(look) = &mut self.look {
            look.head(head);
        }
        self.sink.head(head)
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if let Some(look) = &mut self.look {
            look.body(bytes);
        }
        self.sink.body(bytes)
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.sink.end()
    }

    fn read_at(&mut self, at: Nanos) {
        self.sink.read_at(at);
    }

    fn reached(&mut self, peer: Option<Peer>) {
        self.sink.reached(peer);
    }

    fn poll_wants(&mut self, ctx: &mut Context<'_>) -> Poll<bool> {
        self.sink.poll_wants(ctx)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const LOCATIONS: &[&str] = &[
        "/next?a=b#c",
        "../up",
        "//127.0.0.1:8080/x",
        "http://127.0.0.1:8080/",
        "http://user:word@127.0.0.1:8080/%41?q",
        "http://127.0.0.1:8081/",
        "https://[::1]:443/",
        "http://2130706433:8080/",
        "http://xn--bcher-kva.example/",
        "mailto:a@b",
        "data:text/plain,x",
        "http://127.0.0.1:8080@other.invalid/",
        "\\\\127.0.0.1:8080\\x",
    ];

    /// Bytes that parsers tend to handle wrongly.
    const TRICKY: &[&str] =
        &["\0", "\r\n", "%", "%zz", "@", ":", "[", "]", "//", "\\", "?", "#", "\u{ff0e}", "\u{ad}", "é"];

    #[test]
    fn locations_changed_at_random_never_panic_and_lead_only_to_what_is_under_load() {
        let seed = std::env::var("KNEE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        println!("KNEE_TEST_SEED={seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        let first = Url::parse("http://me:pass@127.0.0.1:8080/a/b?c").unwrap();
        let mut scope = RedirectScope::default();
        scope.add(&Origin::of(&first).unwrap());
        let headers = [("Cookie".to_owned(), b"secret".to_vec())];
        let follow = FollowRedirects {
            method: "POST",
            url: &first,
            headers: &headers,
            body: Some(b"x"),
            scope: &scope,
        };
        for round in 0..20_000 {
            let mut location = LOCATIONS[random.random_range(0..LOCATIONS.len())].as_bytes().to_vec();
            for _ in 0..random.random_range(0..4) {
                let at = random.random_range(0..=location.len());
                match random.random_range(0..3) {
                    0 if at < location.len() => location[at] = random.random(),
                    1 => location.truncate(at),
                    _ => {
                        let tricky = TRICKY[random.random_range(0..TRICKY.len())].bytes();
                        location.splice(at..at, tricky);
                    }
                }
            }
            let status = [301, 302, 303, 307, 308][random.random_range(0..5)];
            let shown = location.escape_ascii().to_string();
            let Ok(Some(hop)) = Trail::new(follow).next(&Redirect { status, location }, &Defaults::default())
            else {
                continue;
            };
            assert_eq!((hop.origin.host.as_str(), hop.origin.port), ("127.0.0.1", 8_080), "{round}: {shown}");
            // What the server wrote adds no line to the head.
            let text = String::from_utf8(hop.request.as_http1().to_vec()).unwrap();
            let head = text.split("\r\n\r\n").next().unwrap();
            assert!(head.lines().count() <= 8 && !head.contains('\0'), "{round}: {shown}: {head}");
        }
    }
}
