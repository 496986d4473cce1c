//! The requests of a one-liner: which fields they have.
//!
//! Does not send. Given headers replace the default ones by name.

use std::sync::Arc;

use url::Url;

use super::credentials::{basic, percent_decode};
use super::origin::Origin;
use super::prepared::{PreparedRequest, RequestWriter};
use super::proxy::{Proxy, Via};

/// What all requests of a run have in common.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// Value of `user-agent`.
    pub user_agent: String,
    /// Whether connections are kept; if not, `connection: close` is sent.
    pub keep_alive: bool,
    /// Value of `accept`.
    pub accept: &'static str,
    /// Whether encoded responses are requested.
    pub accept_encoding: bool,
    /// The proxy of all requests.
    pub proxy: Option<Arc<Proxy>>,
}

impl Defaults {
    /// The origin of connections for requests to `origin`.
    pub fn route(&self, origin: Origin) -> Origin {
        match &self.proxy {
            Some(proxy) => origin.behind(proxy),
            None => origin,
        }
    }

    /// The proxy that sends requests to `url` on.
    fn forwarder(&self, url: &Url) -> Option<&Proxy> {
        let proxy = self.proxy.as_ref()?;
        let origin = Origin::of(url)?.behind(proxy);
        matches!(origin.via, Some(Via::Forward(_))).then_some(&**proxy)
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            user_agent: concat!("knee/", env!("CARGO_PKG_VERSION")).to_owned(),
            keep_alive: true,
            accept: "*/*",
            accept_encoding: true,
            proxy: None,
        }
    }
}

/// Prepares one request.
pub fn prepare(
    method: &str,
    url: &Url,
    headers: &[(String, Vec<u8>)],
    body: Option<&[u8]>,
    defaults: &Defaults,
) -> PreparedRequest {
    let room = 256 + body.map_or(0, <[u8]>::len);
    let forwarder = defaults.forwarder(url);
    let target = match forwarder {
        Some(_) => format!("http://{}{}", host_of(url), path_of(url)),
        None => path_of(url),
    };
    let mut writer = RequestWriter::new(method, target.as_bytes(), room);
    let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !given("host") {
        writer.field("host", host_of(url).as_bytes());
    }
    if !given("user-agent") && !defaults.user_agent.is_empty() {
        writer.field("user-agent", defaults.user_agent.as_bytes());
    }
    if !given("accept") {
        writer.field("accept", defaults.accept.as_bytes());
    }
    if !given("accept-encoding") && defaults.accept_encoding {
        writer.field("accept-encoding", b"gzip, deflate, br, zstd");
    }
    if !given("connection") && !defaults.keep_alive {
        writer.field("connection", b"close");
    }
    if !given("authorization")
        && let Some(credentials) = credentials_of(url)
    {
        writer.field("authorization", credentials.as_bytes());
    }
    if let Some(credentials) = forwarder.and_then(Proxy::authorization)
        && !given("proxy-authorization")
    {
        writer.field("proxy-authorization", credentials.as_bytes());
    }
    if let Some(length) = content_length(method, body)
        && !given("content-length")
    {
        writer.field("content-length", length.to_string().as_bytes());
    }
    for (name, value) in headers {
        writer.field(name, value);
    }
    writer.finish(body.unwrap_or_default(), is_idempotent(method))
}

/// Path and query, for the request line.
fn path_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn content_length(method: &str, body: Option<&[u8]>) -> Option<usize> {
    // Without a body, methods that usually have one send length 0; others send none (RFC 9110, 8.6).
    let usual = matches!(method, "POST" | "PUT" | "PATCH");
    body.map(<[u8]>::len).or(usual.then_some(0))
}

/// Whether a request has the same effect if it is sent twice (RFC 9110, 9.2.2).
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
}

/// The value of a basic `authorization` header for user and password of a URL.
fn credentials_of(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let plain = |text: &str| percent_decode(text);
    let mut pair = plain(url.username());
    pair.push(b':');
    pair.extend(plain(url.password().unwrap_or_default()));
    Some(basic(&pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&str>) -> String {
        through(None, method, url, headers, body)
    }

    fn through(
        proxy: Option<&str>,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> String {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let proxy = proxy.map(|proxy| Arc::new(Proxy::parse(proxy).unwrap()));
        let defaults =
            Defaults { user_agent: "t".into(), accept_encoding: false, proxy, ..Defaults::default() };
        let url = Url::parse(url).unwrap();
        let request = prepare(method, &url, &headers, body.map(str::as_bytes), &defaults);
        String::from_utf8(request.as_http1().to_vec()).unwrap()
    }

    #[test]
    fn a_plain_request_has_the_usual_headers() {
        assert_eq!(
            text("GET", "http://host:81/a%20b?c=d#e", &[], None),
            "GET /a%20b?c=d HTTP/1.1\r\nhost: host:81\r\nuser-agent: t\r\naccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn given_headers_replace_default_ones_in_any_case() {
        let request = text("GET", "http://h/", &[("Host", "other"), ("ACCEPT", "x")], None);
        assert_eq!(request, "GET / HTTP/1.1\r\nuser-agent: t\r\nHost: other\r\nACCEPT: x\r\n\r\n");
    }

    #[test]
    fn a_body_sets_its_length_and_a_post_without_one_sends_zero() {
        assert!(text("POST", "http://h/", &[], Some("hello")).ends_with("content-length: 5\r\n\r\nhello"));
        assert!(text("POST", "http://h/", &[], None).contains("content-length: 0\r\n"));
        assert!(!text("GET", "http://h/", &[], None).contains("content-length"));
        assert!(text("DELETE", "http://h/", &[], Some("x")).contains("content-length: 1\r\n"));
    }

    #[test]
    fn user_and_password_of_the_url_become_basic_authentication() {
        // "u:p w" in base64.
        assert!(text("GET", "http://u:p%20w@h/", &[], None).contains("authorization: Basic dTpwIHc=\r\n"));
    }

    #[test]
    fn a_proxy_that_forwards_gets_the_whole_url_and_its_own_credentials() {
        let sent = |proxy, url| through(Some(proxy), "GET", url, &[], None);
        let plain = sent("u:w@p:1", "http://a:b@h:81/x?y");
        assert!(plain.starts_with("GET http://h:81/x?y HTTP/1.1\r\nhost: h:81\r\n"), "{plain}");
        assert!(plain.contains("proxy-authorization: Basic dTp3\r\n"), "{plain}");
        for (proxy, url) in [("u:w@p:1", "https://h/x"), ("socks5://u:w@p:1", "http://h/x")] {
            let tunnelled = sent(proxy, url);
            assert!(tunnelled.starts_with("GET /x HTTP/1.1\r\n"), "{tunnelled}");
            assert!(!tunnelled.contains("proxy-authorization"), "{tunnelled}");
        }
    }

    #[test]
    fn ipv6_hosts_keep_their_brackets() {
        assert!(text("GET", "http://[::1]:8080/", &[], None).contains("host: [::1]:8080\r\n"));
    }
}
