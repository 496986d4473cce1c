//! One request of a script, and its bytes on the wire.
//!
//! Header names and URLs are written as Go's client writes them, because scripts and their servers
//! have only ever met that. Does not send.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;
use knee_engine::http::origin::Origin;
use knee_engine::http::prepared::{PreparedRequest, RequestWriter};
use knee_engine::http::proxy::rules::ProxyRules;
use knee_engine::http::proxy::{Proxy, Via};

use crate::account::{Account, Charge};

use super::auth::Credentials;
use super::cookie::Jar;
use super::decode::Coding;
use super::go_url::GoUrl;
use crate::go_quote::quoted;

/// A URL of requests, with everything that can be computed beforehand.
#[derive(Debug)]
pub struct Target {
    /// The URL.
    pub url: GoUrl,
    /// Scheme, host and port of its connections, or why there can be none.
    pub origin: Result<Arc<Origin>, Unsendable>,
    /// The URL as the script wrote it.
    pub written: Rc<str>,
    /// The URL as Go writes it, which responses show.
    pub text: Rc<str>,
    /// The URL as tags show it: without credentials.
    pub shown: Rc<str>,
    /// A plain `GET`, prepared, which most requests of most scripts are.
    pub plain_get: OnceCell<Rc<PreparedRequest>>,
    /// Where a `GET` without a name of its own is counted.
    pub get_endpoint: Cell<Option<EndpointId>>,
    /// The proxies of the run, for what this target redirects to.
    pub proxies: Option<Arc<ProxyRules>>,
}

/// Why a request cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsendable {
    /// k6's message.
    pub words: String,
    /// k6's error code.
    pub code: u16,
}

impl Target {
    /// The target of a URL that was `written` so, in a run with these proxies.
    pub fn new(url: GoUrl, written: &str, proxies: Option<&Arc<ProxyRules>>) -> Self {
        let route = |origin| match proxies {
            Some(proxies) => proxies.route(origin),
            None => origin,
        };
        let text = url.to_string();
        let same = |text: String, known: &Rc<str>| if *text == **known { known.clone() } else { text.into() };
        let written: Rc<str> = written.into();
        let shown = url.masked();
        let text = same(text, &written);
        Self {
            origin: origin_of(&url).map(route).map(Arc::new),
            shown: same(shown, &text),
            text,
            written,
            url,
            plain_get: OnceCell::new(),
            get_endpoint: Cell::new(None),
            proxies: proxies.cloned(),
        }
    }

    /// The proxy that sends its requests on.
    pub fn forwarder(&self) -> Option<&Proxy> {
        match &self.origin.as_ref().ok()?.via {
            Some(Via::Forward(proxy)) => Some(proxy),
            Some(Via::Tunnel(_)) | None => None,
        }
    }
}

/// The server of `url`; or what Go's client says without one.
pub fn origin_of(url: &GoUrl) -> Result<Origin, Unsendable> {
    let refused = |words: String, code| Err(Unsendable { words, code });
    let (tls, default) = match url.scheme() {
        "http" => (false, 80),
        "https" => (true, 443),
        other => return refused(format!("unsupported protocol scheme {}", quoted(other.as_bytes())), 1000),
    };
    if !url.has_host() {
        return refused("http: no Host in request URL".to_owned(), 1000);
    }
    let port = match url.port().map(|port| port.parse().map_err(|_| port)) {
        None => default,
        Some(Ok(port)) => port,
        Some(Err(port)) => return refused(format!("dial tcp: address {port}: invalid port"), 1210),
    };
    Ok(Origin { tls, host: url.hostname().to_ascii_lowercase(), port, via: None })
}

/// Handling of a response body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// A string.
    #[default]
    Text,
    /// An `ArrayBuffer`.
    Binary,
    /// Nothing.
    Nothing,
}

/// Which statuses are expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Those in one of these ranges.
    Ranges(Vec<(u16, u16)>),
    /// The script asked for none: no `expected_response` tag, and no request is failed.
    Unasked,
}

impl Default for Expected {
    fn default() -> Self {
        Self::Ranges(vec![(200, 399)])
    }
}

impl Expected {
    /// Whether `status` is; `None` if the script asked for none.
    pub fn holds(&self, status: u16) -> Option<bool> {
        match self {
            Self::Ranges(ranges) => Some(ranges.iter().any(|(from, to)| (*from..=*to).contains(&status))),
            Self::Unasked => None,
        }
    }
}

/// One request of a script.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method, in upper case.
    pub method: Rc<str>,
    /// The target URL.
    pub target: Rc<Target>,
    /// The `name` tag, if the script gave one.
    pub name: Option<Rc<str>>,
    /// Headers as given.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Option<Rc<[u8]>>,
    /// Time limit from the call to the last byte, redirects included.
    pub timeout: Nanos,
    /// Most redirects to follow.
    pub redirects: u32,
    /// Handling of the body.
    pub keep: Keep,
    /// The cookie jar.
    pub jar: Option<Rc<RefCell<Jar>>>,
    /// Cookies of this request alone: name, value, and whether it replaces that of the jar.
    pub cookies: Vec<(String, String, bool)>,
    /// Credentials.
    pub credentials: Option<Credentials>,
    /// Whether it is authenticated by NTLM, if the server asks for that and there are credentials.
    pub is_ntlm: bool,
    /// Tags besides those of the VU.
    pub tags: Vec<(String, String)>,
    /// Which statuses are expected.
    pub expected: Rc<Expected>,
    /// Whether a failure is thrown.
    pub throw: bool,
    /// Encodings of the body, in order.
    pub compression: Vec<Coding>,
    /// Position in the script, for tags.
    pub origin: Origins,
    /// The memory that it takes in its VU, until its last response is gone.
    pub memory: Rc<Charge>,
}

/// Position of a request in the script: the tags of its samples.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The scenario; empty outside of scenarios.
    pub scenario: Rc<str>,
    /// Names of the groups that were open.
    pub group: Rc<str>,
    /// Tags of the VU.
    pub tags: Rc<[(String, String)]>,
    /// Metadata of the VU's samples, besides tags.
    pub metadata: Rc<[(String, String)]>,
}

/// Bytes of a request. Its texts are counted on their own.
const REQUEST_BYTES: usize = 1 << 10;

impl Request {
    /// The account of its VU.
    pub fn account(&self) -> &Account {
        self.memory.account()
    }

    /// Bytes that it takes, apart from what it shares with every request of its VU.
    pub fn bytes(&self) -> usize {
        let pairs = |pairs: &[(String, String)]| -> usize {
            pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
        };
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let cookies: usize = self.cookies.iter().map(|(name, value, _)| name.len() + value.len()).sum();
        let body = self.body.as_ref().map_or(0, |body| body.len());
        let url = self.target.written.len();
        let own = url + headers + cookies + body + pairs(&self.tags);
        // Tags of the VU are shared until the script changes them, which it can do for each request.
        REQUEST_BYTES
            + own
            + self.origin.group.len()
            + pairs(&self.origin.tags)
            + pairs(&self.origin.metadata)
    }

    /// Whether its bytes are those of every plain `GET` to its target.
    pub fn is_plain_get(&self) -> bool {
        self.headers.is_empty()
            && self.body.is_none()
            && self.cookies.is_empty()
            && self.credentials.is_none()
            && &*self.method == "GET"
    }
}

/// A header line to be sent.
pub type Line<'a> = (&'a str, &'a [u8]);

/// Prepares a request. `given` are the script's headers, `extra` computed ones (`Cookie`, `Authorization`,
/// `Content-Encoding`), which give way to given ones. A `forwarder` gets the whole URL, and its own credentials.
pub fn prepare(
    method: &str,
    url: &GoUrl,
    given: &[(String, Vec<u8>)],
    extra: &[Line<'_>],
    body: Option<&[u8]>,
    user_agent: &str,
    forwarder: Option<&Proxy>,
) -> PreparedRequest {
    let room = 192 + body.map_or(0, <[u8]>::len);
    let has = |name: &str| given.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let find = |name: &str| given.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let own_host = find("host").map(|(_, host)| host.clone()).filter(|host| !host.is_empty());
    let host = own_host.unwrap_or_else(|| url.host_and_port().into_bytes());
    let mut uri = url.request_uri();
    if forwarder.is_some() {
        uri = [b"http://", &host[..], &uri].concat();
    }
    let mut writer = RequestWriter::new(method, &uri, room);
    writer.field("Host", &host);
    if !has("user-agent") && !user_agent.is_empty() {
        writer.field("User-Agent", user_agent.as_bytes());
    }
    let length = body.map(<[u8]>::len).or(usually_has_body(method).then_some(0));
    if let Some(length) = length {
        writer.field("Content-Length", length.to_string().as_bytes());
    }
    for (name, value) in given {
        let framing = ["host", "content-length", "transfer-encoding"];
        if !framing.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            writer.field(&canonical(name), value);
        }
    }
    extra.iter().filter(|(name, _)| !has(name)).for_each(|(name, value)| writer.field(name, value));
    // Go sends both if the script gave one too.
    if let Some(credentials) = forwarder.and_then(Proxy::authorization) {
        writer.field("Proxy-Authorization", credentials.as_bytes());
    }
    let is_repeatable = is_replayable(method) || has("idempotency-key") || has("x-idempotency-key");
    writer.finish(body.unwrap_or_default(), is_repeatable)
}

fn usually_has_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Whether Go's client sends a request again after the server closed a kept connection. It leaves out PUT and DELETE,
/// which are idempotent too.
fn is_replayable(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// A header name with its words in capitals, as Go writes and reads them; names with bytes that
/// are not allowed in a name stay as they are.
pub fn canonical(name: &str) -> String {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return name.to_owned();
    }
    let mut start = true;
    let word = |byte: u8| {
        let out = if start { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        start = byte == b'-';
        char::from(out)
    };
    name.bytes().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(method: &str, url: &str, given: &[(&str, &str)], body: Option<&str>) -> String {
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let url = GoUrl::parse(url.as_bytes()).unwrap();
        let request = prepare(method, &url, &given, &[], body.map(str::as_bytes), "t", None);
        String::from_utf8(request.as_http1().to_vec()).unwrap()
    }

    #[test]
    fn a_plain_request_has_host_and_user_agent() {
        assert_eq!(
            text("GET", "http://h:81/a?b=c#d", &[], None),
            "GET /a?b=c HTTP/1.1\r\nHost: h:81\r\nUser-Agent: t\r\n\r\n"
        );
    }

    #[test]
    fn header_names_are_written_as_go_writes_them() {
        assert!(text("GET", "http://h/", &[("x-REQUEST-id", "1")], None).contains("X-Request-Id: 1\r\n"));
        assert_eq!(canonical("not a name"), "not a name");
    }

    #[test]
    fn a_line_break_in_a_value_cannot_begin_another_header() {
        let request = text("GET", "http://h/", &[("a", "1\r\nEvil: 2")], None);
        assert!(request.contains("A: 1  Evil: 2\r\n"), "{request}");
    }

    #[test]
    fn a_request_is_sent_again_if_go_would() {
        let prepared = |method: &str, given: &[(&str, &str)]| {
            let given: Vec<_> =
                given.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
            let url = GoUrl::parse(b"http://h/").unwrap();
            prepare(method, &url, &given, &[], None, "t", None).is_repeatable()
        };
        for (method, again) in [
            ("GET", true),
            ("HEAD", true),
            ("OPTIONS", true),
            ("PUT", false),
            ("DELETE", false),
            ("POST", false),
        ] {
            assert_eq!(prepared(method, &[]), again, "{method}");
        }
        assert!(prepared("POST", &[("idempotency-key", "1")]));
        assert!(prepared("PUT", &[("X-Idempotency-Key", "1")]));
    }

    #[test]
    fn a_proxy_that_forwards_gets_the_whole_url_and_its_own_credentials() {
        let proxy = Proxy::parse("u:w@p:1").unwrap();
        let url = GoUrl::parse(b"http://h:81/a?b").unwrap();
        let given = [("Proxy-Authorization".to_owned(), b"x".to_vec())];
        let sent = |given: &[_]| {
            let request = prepare("GET", &url, given, &[], None, "t", Some(&proxy));
            String::from_utf8(request.as_http1().to_vec()).unwrap()
        };
        let expected = "GET http://h:81/a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: t\r\n\
            Proxy-Authorization: x\r\nProxy-Authorization: Basic dTp3\r\n\r\n";
        assert_eq!(sent(&given), expected);
        // Go takes the host of the header.
        let host = [("Host".to_owned(), b"other".to_vec())];
        assert!(sent(&host).starts_with("GET http://other/a?b HTTP/1.1\r\nHost: other\r\n"));
    }

    #[test]
    fn a_post_without_a_body_says_so() {
        assert!(text("POST", "http://h/", &[], None).contains("Content-Length: 0\r\n"));
        assert!(text("DELETE", "http://h/", &[], Some("x")).ends_with("Content-Length: 1\r\n\r\nx"));
    }
}
