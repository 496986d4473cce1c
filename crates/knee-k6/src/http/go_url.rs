//! URLs as Go's `net/url` reads and writes them, because k6 sends what Go makes of a URL.
//!
//! Keeps what the script wrote: nothing is normalized but what Go normalizes. Does not look up hosts.

use std::fmt;

use self::escape::{Part, escape, escaped, unescape};
pub use self::form::{GoUrl, User};
use self::parse::{cut, parse};
use crate::go_quote::quoted;

mod escape;
mod form;
mod parse;

/// Why text is no URL, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {words}", quoted(.text))]
pub struct NoUrl {
    /// The text, without its fragment unless that is wrong.
    text: Vec<u8>,
    words: String,
}

impl GoUrl {
    /// Reads a URL, absolute or relative.
    pub fn parse(text: &[u8]) -> Result<Self, NoUrl> {
        let (start, fragment) = cut(text, b'#');
        let mut url = parse(start).map_err(|words| NoUrl { text: start.to_vec(), words })?;
        url.fragment = escaped(fragment.unwrap_or_default(), Part::Fragment)
            .map_err(|words| NoUrl { text: text.to_vec(), words })?;
        Ok(url)
    }

    /// The URL that `reference` means on a page of this one.
    pub fn join(&self, reference: &[u8]) -> Result<Self, NoUrl> {
        Ok(self.resolve(&Self::parse(reference)?))
    }

    /// RFC 3986, 5.2, with Go's deviations.
    #[must_use]
    pub fn resolve(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            url.path = resolve_path(&reference.path, "");
            return url;
        }
        if !reference.opaque.is_empty() {
            return url;
        }
        if reference.path.is_empty() && !reference.empty_query && reference.query.is_empty() {
            url.query.clone_from(&self.query);
            if reference.fragment.is_empty() {
                url.fragment.clone_from(&self.fragment);
            }
        }
        if reference.path.is_empty() && !self.opaque.is_empty() {
            url.opaque.clone_from(&self.opaque);
            return url;
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.path = resolve_path(&self.path, &reference.path);
        url
    }

    /// The scheme, in lower case; empty for a relative URL.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user, if the URL names one, be it by an empty name.
    pub fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// The same URL without a user.
    #[must_use]
    pub fn without_user(&self) -> Self {
        Self { user: None, ..self.clone() }
    }

    /// Host and port as the `Host` header has them, without the zone of an address.
    pub fn host_and_port(&self) -> String {
        let text = String::from_utf8_lossy(&self.host);
        let (host, port) = split_port(&text);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let host = match host.rsplit_once('%') {
            Some((address, _zone)) if address.starts_with('[') => format!("{address}]"),
            _ => in_ascii(host),
        };
        host + &port
    }

    /// The host as names are looked up: in ASCII where it can be, without brackets and port.
    pub fn hostname(&self) -> String {
        let text = String::from_utf8_lossy(&self.host);
        let (host, _) = split_port(&text);
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.map_or_else(|| in_ascii(host), str::to_owned)
    }

    /// The port as written; `None` without one.
    pub fn port(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.host);
        split_port(&text).1.filter(|port| !port.is_empty()).map(str::to_owned)
    }

    /// Host and port as written, without escapes.
    pub fn host(&self) -> String {
        String::from_utf8_lossy(&self.host).into_owned()
    }

    /// The query as written.
    pub fn query(&self) -> String {
        String::from_utf8_lossy(&self.query).into_owned()
    }

    /// The fragment without escapes.
    pub fn fragment(&self) -> String {
        // What was escaped can be read again.
        let fragment = unescape(self.fragment.as_bytes(), Part::Fragment).unwrap_or_default();
        String::from_utf8_lossy(&fragment).into_owned()
    }

    /// Whether there is a host or a port.
    pub fn has_host(&self) -> bool {
        !self.host.is_empty()
    }

    /// Whether two URLs have the same host and port as written.
    pub fn same_host(&self, other: &Self) -> bool {
        self.host == other.host
    }

    /// The path without escapes.
    pub fn path(&self) -> String {
        // What was escaped can be read again.
        let path = unescape(self.path.as_bytes(), Part::Path).unwrap_or_default();
        String::from_utf8_lossy(&path).into_owned()
    }

    /// Replaces the query.
    pub fn set_query(&mut self, query: String) {
        self.query = query.into_bytes();
    }

    /// Path and query as a request line has them.
    pub fn request_uri(&self) -> Vec<u8> {
        let mut uri = match (self.opaque.is_empty(), self.path.as_str()) {
            (false, _) => self.opaque.clone(),
            (true, "") => b"/".to_vec(),
            (true, path) => path.as_bytes().to_vec(),
        };
        self.push_query(&mut uri);
        uri
    }

    fn push_query(&self, out: &mut Vec<u8>) {
        if self.empty_query || !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
    }

    /// The URL with `user` in place of its own.
    fn written(&self, user: &str) -> String {
        let mut out = Vec::with_capacity(64);
        if !self.scheme.is_empty() {
            out.extend_from_slice(self.scheme.as_bytes());
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.push_authority(&mut out, user);
            if !self.path.is_empty() && !self.path.starts_with('/') && !self.host.is_empty() {
                out.push(b'/');
            }
            let first = self.path.split('/').next().unwrap_or_default();
            if out.is_empty() && first.contains(':') {
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(self.path.as_bytes());
        } else {
            out.extend_from_slice(&self.opaque);
        }
        self.push_query(&mut out);
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(self.fragment.as_bytes());
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    fn push_authority(&self, out: &mut Vec<u8>, user: &str) {
        if self.scheme.is_empty() && self.host.is_empty() && self.user.is_none() {
            return;
        }
        if self.without_host && self.host.is_empty() && self.user.is_none() {
            return;
        }
        if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
            out.extend_from_slice(b"//");
        }
        out.extend_from_slice(user.as_bytes());
        out.extend_from_slice(escape(&self.host, Part::Host).as_bytes());
    }

    /// The URL as tags show it: with `****` for a user, and for a password.
    pub fn masked(&self) -> String {
        self.written(match &self.user {
            None => "",
            Some(User { password: None, .. }) => "****@",
            Some(User { password: Some(_), .. }) => "****:****@",
        })
    }

    /// The URL as k6's messages show it: with `***` for a password.
    pub fn without_password(&self) -> String {
        let Some(User { name, password: Some(_) }) = &self.user else { return self.to_string() };
        self.written(&format!("{}:***@", String::from_utf8_lossy(name)))
    }
}

impl fmt::Display for GoUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| {
            let password =
                user.password.as_ref().map(|password| format!(":{}", escape(password, Part::User)));
            format!("{}{}@", escape(&user.name, Part::User), password.unwrap_or_default())
        });
        formatter.write_str(&self.written(&user.unwrap_or_default()))
    }
}

/// Host and port of a host that was parsed.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        _ => (host, None),
    }
}

/// A host name in ASCII; as it is if it is that, or cannot be.
fn in_ascii(host: &str) -> String {
    if host.is_ascii() {
        return host.to_owned();
    }
    url::Host::parse(host).map_or_else(|_| host.to_owned(), |host| host.to_string())
}

/// `reference` on a page at `base`, without dots.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        let folder = base.rfind('/').map_or("", |last| &base[..=last]);
        format!("{folder}{reference}")
    };
    if full.is_empty() {
        return full;
    }
    let mut out = String::from("/");
    let mut first = true;
    for element in full.split('/') {
        match element {
            "." => first = false,
            ".." => {
                out.truncate(out[1..].rfind('/').map_or(1, |slash| slash + 1));
                first = out.len() == 1;
            }
            element => {
                if !first {
                    out.push('/');
                }
                out.push_str(element);
                first = false;
            }
        }
    }
    if full.ends_with("/.") || full.ends_with("/..") || full == "." || full == ".." {
        out.push('/');
    }
    if out.starts_with("//") { out.split_off(1) } else { out }
}

#[cfg(test)]
mod tests;
