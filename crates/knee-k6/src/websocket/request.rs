//! The handshake that a script asks for, and its bytes: fields as k6 writes them.
//!
//! Does not send; see [`super::dial`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use knee_engine::http::origin::Origin;
use knee_engine::http::prepared::{PreparedRequest, RequestWriter};
use knee_engine::http::proxy::rules::ProxyRules;

use crate::http::compose::seconds_now;
use crate::http::cookie::Jar;
use crate::http::go_url::GoUrl;
use crate::http::request::{Origins, canonical, origin_of};

/// The module of k6 that a socket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `k6/ws`: the script waits for the end of the socket.
    Ws,
    /// `k6/websockets`: handlers are called like those of timers.
    WebSockets,
}

/// What k6 offers to a server if a script wants compression.
const DEFLATE: &[u8] = b"permessage-deflate; server_no_context_takeover; client_no_context_takeover";
/// Fields that belong to the handshake, as Go writes them.
const OWN_FIELDS: [&str; 5] =
    ["Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions"];
/// k6's message for what is no URL of a socket.
const MALFORMED: &str = "malformed ws or wss URL";

/// A handshake of a script.
pub struct SocketRequest {
    /// The module that asks.
    pub dialect: Dialect,
    /// The URL as scripts see it.
    pub url: Rc<str>,
    /// The URL as tags show it: without a user.
    pub shown: Rc<str>,
    /// Where it leads, or k6's message about it.
    pub target: Result<SocketTarget, String>,
    /// Header fields as given.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Subprotocols that the script offers, apart from those in its headers.
    pub protocols: Vec<String>,
    /// Whether compression is offered.
    pub offers_deflate: bool,
    /// The cookie jar.
    pub jar: Option<Rc<RefCell<Jar>>>,
    /// Tags besides those of the VU.
    pub tags: Vec<(String, String)>,
    /// Position in the script, for tags.
    pub origin: Origins,
}

/// Where a socket leads.
pub struct SocketTarget {
    /// The URL of the request, with the scheme of HTTP.
    pub url: GoUrl,
    /// Scheme, host and port of the connection.
    pub origin: Arc<Origin>,
}

impl SocketTarget {
    /// The target of a URL, in a run with these proxies. Fails with k6's message.
    pub fn of(written: &str, proxies: Option<&ProxyRules>) -> Result<Self, String> {
        let url = GoUrl::parse(written.as_bytes()).map_err(|error| error.to_string())?;
        let scheme = match url.scheme() {
            "ws" => "http",
            "wss" => "https",
            _ => return Err(MALFORMED.to_owned()),
        };
        if url.user().is_some() {
            return Err(MALFORMED.to_owned());
        }
        let rest = written.get(url.scheme().len()..).unwrap_or_default();
        let url = GoUrl::parse(format!("{scheme}{rest}").as_bytes()).map_err(|error| error.to_string())?;
        let origin = origin_of(&url).map_err(|why| why.words)?;
        let origin = match proxies {
            Some(proxies) => proxies.tunnel(origin),
            None => origin,
        };
        Ok(Self { url, origin: Arc::new(origin) })
    }
}

impl SocketRequest {
    /// The request with this key. Fails with k6's message for a field that belongs to the handshake.
    pub fn prepare(
        &self,
        target: &SocketTarget,
        key: &str,
        user_agent: &str,
    ) -> Result<PreparedRequest, String> {
        let given: Vec<(String, &Vec<u8>)> =
            self.headers.iter().map(|(name, value)| (canonical(name), value)).collect();
        let mut fields: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        fields.insert("Connection", b"Upgrade".to_vec());
        fields.insert("Upgrade", b"websocket".to_vec());
        fields.insert("Sec-WebSocket-Key", key.as_bytes().to_vec());
        fields.insert("Sec-WebSocket-Version", b"13".to_vec());
        if let Some(cookies) = self.cookies(&target.url) {
            fields.insert("Cookie", cookies.into_bytes());
        }
        if !self.protocols.is_empty() {
            fields.insert("Sec-WebSocket-Protocol", self.protocols.join(", ").into_bytes());
        }
        if self.offers_deflate {
            fields.insert("Sec-WebSocket-Extensions", DEFLATE.to_vec());
        }
        let mut host = target.url.host_and_port().into_bytes();
        let mut agent = user_agent.as_bytes().to_vec();
        for (name, value) in &given {
            let is_protocol = name == "Sec-Websocket-Protocol";
            if OWN_FIELDS.contains(&name.as_str()) || (is_protocol && !self.protocols.is_empty()) {
                return Err(format!("websocket: duplicate header not allowed: {name}"));
            }
            match name.as_str() {
                "Host" => host.clone_from(value),
                "User-Agent" => agent.clone_from(value),
                "Sec-Websocket-Protocol" => drop(fields.insert("Sec-WebSocket-Protocol", (*value).clone())),
                _ => drop(fields.insert(name, (*value).clone())),
            }
        }
        let mut writer = RequestWriter::new("GET", &target.url.request_uri(), 512);
        writer.field("Host", &host);
        if !agent.is_empty() {
            writer.field("User-Agent", &agent);
        }
        for (name, value) in &fields {
            writer.field(name, value);
        }
        Ok(writer.finish(b"", false))
    }

    /// The value of `Cookie` by the jar.
    fn cookies(&self, url: &GoUrl) -> Option<String> {
        let jar = self.jar.as_ref()?.borrow();
        let pairs = jar.of(url, seconds_now()).into_iter().map(|cookie| {
            let quote = if cookie.value.contains([' ', ',']) { "\"" } else { "" };
            format!("{}={quote}{}{quote}", cookie.name, cookie.value)
        });
        let pairs: Vec<String> = pairs.collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str, headers: &[(&str, &str)], protocols: &[&str]) -> SocketRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        SocketRequest {
            dialect: Dialect::Ws,
            url: url.into(),
            shown: url.into(),
            target: SocketTarget::of(url, None),
            headers: headers.collect(),
            protocols: protocols.iter().map(|name| (*name).to_owned()).collect(),
            offers_deflate: false,
            jar: None,
            tags: Vec::new(),
            origin: Origins::default(),
        }
    }

    fn text(request: &SocketRequest) -> Result<String, String> {
        let target = request.target.as_ref().map_err(Clone::clone)?;
        let prepared = request.prepare(target, "KEY", "t")?;
        Ok(String::from_utf8_lossy(prepared.as_http1()).into_owned())
    }

    #[test]
    fn fields_are_those_of_k6_in_its_order() {
        // Recorded from k6 v1.8.1.
        let mut asked = request(
            "ws://127.0.0.1:18091/deflate",
            &[("x-a", "b"), ("Cookie", "q=1"), ("Host", "other"), ("Sec-WebSocket-Protocol", "p1, p2")],
            &[],
        );
        asked.offers_deflate = true;
        let expected = "GET /deflate HTTP/1.1\r\nHost: other\r\nUser-Agent: t\r\nConnection: Upgrade\r\n\
            Cookie: q=1\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
            client_no_context_takeover\r\nSec-WebSocket-Key: KEY\r\nSec-WebSocket-Protocol: p1, p2\r\n\
            Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\nX-A: b\r\n\r\n";
        assert_eq!(text(&asked).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_asked_for_has_the_message_of_k6() {
        // Recorded from k6 v1.8.1.
        for (url, words) in [
            ("http://127.0.0.1:1/", "malformed ws or wss URL"),
            ("ws://u:p@127.0.0.1:1/", "malformed ws or wss URL"),
            ("", "malformed ws or wss URL"),
            ("nosuch.invalid/x", "malformed ws or wss URL"),
            ("ws://127.0.0.1:99999/echo", "dial tcp: address 99999: invalid port"),
            ("ws://[::1/echo", "parse \"ws://[::1/echo\": missing ']' in host"),
        ] {
            assert_eq!(text(&request(url, &[], &[])), Err(words.to_owned()), "{url}");
        }
        let words = "websocket: duplicate header not allowed: Upgrade";
        assert_eq!(text(&request("ws://h/", &[("upgrade", "x")], &[])), Err(words.to_owned()));
        let both = request("ws://h/", &[("sec-websocket-protocol", "a")], &["b"]);
        let words = "websocket: duplicate header not allowed: Sec-Websocket-Protocol";
        assert_eq!(text(&both), Err(words.to_owned()));
    }

    #[test]
    fn the_scheme_decides_whether_the_connection_is_encrypted() {
        let origin = |url: &str| SocketTarget::of(url, None).unwrap().origin;
        assert_eq!((origin("ws://h/").tls, origin("ws://h/").port), (false, 80));
        assert_eq!((origin("WSS://h/").tls, origin("wss://h/").port), (true, 443));
    }
}
