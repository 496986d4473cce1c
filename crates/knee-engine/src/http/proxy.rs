//! Proxies: what the URL of one says, and how requests go through it.
//!
//! Plain data. Does not choose a proxy ([`rules`] does) and does not connect ([`tunnel`] goes through one).

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::credentials::{basic, percent_decode};

pub mod rules;

mod connect;

pub mod nested;

mod socks;

pub mod tunnel;

mod wire;

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proxy {
    /// How it is spoken to.
    pub kind: ProxyKind,
    /// Its name or address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether it is asked for a tunnel to servers without TLS too, as versions of HTTP need it that a proxy does not
    /// forward.
    pub only_tunnels: bool,
    login: Option<Login>,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProxyKind {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS version 5 (RFC 1928). The proxy resolves names.
    Socks,
}

/// User and password.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Login {
    user: Vec<u8>,
    password: Vec<u8>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

/// The way of a connection through a proxy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// Requests name their whole URL, and the proxy sends them on: one connection for all servers.
    Forward(Arc<Proxy>),
    /// The proxy connects to the server and passes bytes on.
    Tunnel(Arc<Proxy>),
}

impl Via {
    /// The proxy.
    pub const fn proxy(&self) -> &Arc<Proxy> {
        match self {
            Self::Forward(proxy) | Self::Tunnel(proxy) => proxy,
        }
    }
}

/// Why text names no proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// It has no host, or is no URL.
    #[error("it is no URL with a host")]
    NoUrl,
    /// Its scheme is none of a proxy.
    #[error("`{0}` is no kind of proxy")]
    Kind(String),
}

impl Proxy {
    /// Reads the URL of a proxy. Without a scheme it is `http`, as for Go and curl.
    ///
    /// # Errors
    ///
    /// If there is no host, or a scheme other than `http`, `https`, `socks5` and `socks5h`.
    pub fn parse(text: &str) -> Result<Self, ProxyError> {
        let has_host = |url: &Url| url.host_str().is_some_and(|host| !host.is_empty());
        let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
        let url = url.ok().filter(has_host);
        let url = url.ok_or(ProxyError::NoUrl)?;
        let (kind, usual) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "https" => (ProxyKind::Https, 443),
            "socks5" | "socks5h" => (ProxyKind::Socks, 1080),
            other => return Err(ProxyError::Kind(other.to_owned())),
        };
        let host = url.host_str().unwrap_or_default();
        let has_login = !url.username().is_empty() || url.password().is_some();
        Ok(Self {
            kind,
            host: host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase(),
            port: url.port().unwrap_or(usual),
            only_tunnels: false,
            login: has_login.then(|| Login {
                user: percent_decode(url.username()),
                password: percent_decode(url.password().unwrap_or_default()),
            }),
        })
    }

    /// The value of `proxy-authorization`, if the URL has a user.
    pub fn authorization(&self) -> Option<String> {
        let Login { user, password } = self.login.as_ref()?;
        Some(basic(&[user, &b":"[..], password].concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_url_or_a_host_with_a_port() {
        for (text, kind, host, port) in [
            ("http://p:3128", ProxyKind::Http, "p", 3128),
            ("http://P.test", ProxyKind::Http, "p.test", 80),
            ("https://p/", ProxyKind::Https, "p", 443),
            ("socks5://p", ProxyKind::Socks, "p", 1080),
            ("socks5h://[::1]:9", ProxyKind::Socks, "::1", 9),
            ("p:3128", ProxyKind::Http, "p", 3128),
            ("127.0.0.1:3128", ProxyKind::Http, "127.0.0.1", 3128),
            ("u:w@p:1", ProxyKind::Http, "p", 1),
        ] {
            let proxy = Proxy::parse(text).unwrap();
            assert_eq!((proxy.kind, &*proxy.host, proxy.port), (kind, host, port), "{text}");
        }
        for text in ["", "http://", ":80", "a b"] {
            assert_eq!(Proxy::parse(text), Err(ProxyError::NoUrl), "{text}");
        }
        assert_eq!(Proxy::parse("ftp://p"), Err(ProxyError::Kind("ftp".to_owned())));
    }

    #[test]
    fn user_and_password_are_sent_and_never_shown() {
        let proxy = Proxy::parse("http://u:p%20w@p:1").unwrap();
        // "u:p w" in base64.
        assert_eq!(proxy.authorization().unwrap(), "Basic dTpwIHc=");
        assert!(!format!("{proxy:?}").contains("p w"));
        assert_eq!(Proxy::parse("p:1").unwrap().authorization(), None);
    }
}
