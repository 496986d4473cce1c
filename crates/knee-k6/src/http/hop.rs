//! The requests of a chain of redirects, as Go's client makes one from the other.
//!
//! Does not send and does not count them.

use std::rc::Rc;

use super::answer::Answer;
use super::go_url::GoUrl;
use super::request::{Request, Target};
use crate::go_quote::quoted;

/// One request of a chain.
pub struct Hop {
    /// Its method.
    pub method: Rc<str>,
    /// Its URL.
    pub target: Rc<Target>,
    /// Whether it is the first one.
    pub is_first: bool,
    /// What goes along of the script's request.
    kept: Kept,
    /// The reply to a challenge of digest authentication or NTLM.
    pub authorization: Option<String>,
    /// Whether credentials are kept back until the server asks for NTLM.
    pub is_reticent: bool,
    /// The URL that redirected here.
    pub referer: Option<String>,
}

/// What of a request goes along after redirects.
#[derive(Clone, Copy)]
struct Kept {
    /// The body.
    body: bool,
    /// Credentials that the script wrote into headers.
    secrets: bool,
    /// Its `Host`.
    host: bool,
}

impl Hop {
    /// The first request.
    pub fn first(request: &Request, target: Rc<Target>) -> Self {
        Self {
            method: request.method.clone(),
            target,
            is_first: true,
            kept: Kept { body: true, secrets: true, host: true },
            authorization: None,
            is_reticent: false,
            referer: None,
        }
    }

    /// The body to send.
    pub fn body<'a>(&self, request: &'a Request) -> Option<&'a [u8]> {
        request.body.as_deref().filter(|_| self.kept.body)
    }

    /// Whether a header of the script goes along.
    pub fn takes(&self, name: &str) -> bool {
        const SECRET: [&str; 6] = [
            "authorization",
            "www-authenticate",
            "cookie",
            "cookie2",
            "proxy-authorization",
            "proxy-authenticate",
        ];
        const OF_BODY: [&str; 5] =
            ["content-type", "content-length", "content-encoding", "content-language", "content-location"];
        let one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        (self.kept.secrets || !one_of(&SECRET))
            && (self.kept.body || !one_of(&OF_BODY))
            && (self.kept.host || !name.eq_ignore_ascii_case("host"))
    }

    /// Where `answer` redirects to; `None` if it does not. Fails for a `Location` that is no URL.
    pub fn next(&self, first: &GoUrl, answer: &Answer) -> Result<Option<Self>, String> {
        if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = answer.headers.get("location").filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let wrong = |error| format!("failed to parse Location header {}: {error}", quoted(location));
        let reference = GoUrl::parse(location).map_err(wrong)?;
        let is_relative = reference.scheme().is_empty();
        let url = self.target.url.resolve(&reference);
        let keeps = matches!(answer.status, 307 | 308);
        let stays = keeps || matches!(&*self.method, "GET" | "HEAD");
        let written = url.to_string();
        Ok(Some(Self {
            method: if stays { self.method.clone() } else { "GET".into() },
            is_first: false,
            kept: Kept {
                body: self.kept.body && keeps,
                secrets: self.kept.secrets && can_have_secrets(first, &url),
                host: self.kept.host && is_relative,
            },
            authorization: None,
            is_reticent: false,
            referer: referer(&self.target.url, &url),
            target: Rc::new(Target::new(url, &written, self.target.proxies.as_ref())),
        }))
    }
}

/// Whether headers with credentials for `first` go to `next`: the same host, or one below it.
fn can_have_secrets(first: &GoUrl, next: &GoUrl) -> bool {
    let (host, next_host) = (first.hostname(), next.hostname());
    let below = || next_host.strip_suffix(&host).is_some_and(|rest| rest.ends_with('.'));
    first.same_host(next) || host == next_host || (!next_host.contains([':', '%']) && below())
}

/// The `Referer` of a redirect: without credentials, and none from https to http.
fn referer(last: &GoUrl, next: &GoUrl) -> Option<String> {
    let is_downgrade = last.scheme() == "https" && next.scheme() == "http";
    (!is_downgrade).then(|| last.without_user().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_headers_go_to_the_same_host_and_below_it() {
        let url = |text: &str| GoUrl::parse(text.as_bytes()).unwrap();
        for (first, next, go) in [
            ("http://h/", "http://h/a", true),
            ("http://h:1/", "https://h:2/", true),
            ("http://a.test/", "http://b.a.test/", true),
            ("http://b.a.test/", "http://a.test/", false),
            ("http://a.test/", "http://nota.test/", false),
            ("http://[::1]/", "http://[::1%25a.::1]/", false),
        ] {
            assert_eq!(can_have_secrets(&url(first), &url(next)), go, "{first} {next}");
        }
    }

    #[test]
    fn a_referer_has_no_credentials_and_does_not_leave_tls() {
        let url = |text: &str| GoUrl::parse(text.as_bytes()).unwrap();
        let (plain, secret) = (url("http://h/"), url("https://u:p@h/a?b#c"));
        assert_eq!(referer(&secret, &secret).unwrap(), "https://h/a?b#c");
        assert_eq!(referer(&secret, &plain), None);
    }
}
