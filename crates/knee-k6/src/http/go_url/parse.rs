//! Reads the parts of a URL as Go's `net/url` does, with Go's messages.
//!
//! Resolves and writes nothing.

use std::net::Ipv6Addr;

use super::escape::{Part, escaped, unescape};
use super::form::{GoUrl, Parsed, User};
use crate::go_quote::quoted;

/// Text before and after the first `sign`.
pub fn cut(text: &[u8], sign: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == sign) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    }
}

/// A URL without its fragment.
pub fn parse(text: &[u8]) -> Parsed<GoUrl> {
    if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text == b"*" {
        return Ok(GoUrl { path: "*".to_owned(), ..GoUrl::default() });
    }
    let (scheme, rest) = split_scheme(text)?;
    let mut url = GoUrl { scheme, ..GoUrl::default() };
    let (rest, query) = cut(rest, b'?');
    url.empty_query = query.is_some_and(<[u8]>::is_empty);
    url.query = query.unwrap_or_default().to_vec();
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    if rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///")) {
        let end = rest[2..].iter().position(|byte| *byte == b'/').map_or(rest.len(), |place| place + 2);
        (url.user, url.host) = parse_authority(&rest[2..end])?;
        path = &rest[end..];
    } else if !url.scheme.is_empty() && rest.starts_with(b"/") {
        url.without_host = true;
    }
    url.path = escaped(path, Part::Path)?;
    Ok(url)
}

/// The scheme in lower case, and what follows its colon.
fn split_scheme(text: &[u8]) -> Parsed<(String, &[u8])> {
    let none = Ok((String::new(), text));
    for (place, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if place > 0 => {}
            b':' if place == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => {
                let scheme = String::from_utf8_lossy(&text[..place]).to_ascii_lowercase();
                return Ok((scheme, &text[place + 1..]));
            }
            _ => return none,
        }
    }
    none
}

fn parse_authority(authority: &[u8]) -> Parsed<(Option<User>, Vec<u8>)> {
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
        return Ok((None, parse_host(authority)?));
    };
    let (user, host) = (&authority[..at], parse_host(&authority[at + 1..])?);
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) = cut(user, b':');
    let name = unescape(name, Part::User)?;
    let password = password.map(|password| unescape(password, Part::User)).transpose()?;
    Ok((Some(User { name, password }), host))
}

/// Host and port, without escapes.
fn parse_host(host: &[u8]) -> Parsed<Vec<u8>> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    let colon = host.iter().rposition(|byte| *byte == b':');
    check_port(&host[colon.unwrap_or(host.len())..])?;
    unescape(host, Part::Host)
}

/// An IPv6 address in brackets, with a port or without.
fn parse_literal(host: &[u8]) -> Parsed<Vec<u8>> {
    let Some(end) = host.iter().rposition(|byte| *byte == b']') else {
        return Err("missing ']' in host".to_owned());
    };
    let (literal, port) = (&host[1..end], &host[end + 1..]);
    check_port(port)?;
    let zone = literal.windows(3).position(|escape| escape == b"%25").unwrap_or(literal.len());
    let mut address = unescape(&literal[..zone], Part::Host)?;
    address.extend(unescape(&literal[zone..], Part::Zone)?);
    let text = String::from_utf8_lossy(&address);
    let digits = text.split('%').next().unwrap_or_default();
    if digits.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    if digits.parse::<Ipv6Addr>().is_err() || text.ends_with('%') {
        return Err(format!("invalid host: ParseAddr({}): unable to parse IP", quoted(&address)));
    }
    Ok([b"[", &address[..], b"]", port].concat())
}

/// A colon and digits, or nothing.
fn check_port(port: &[u8]) -> Parsed<()> {
    match port.split_first() {
        None => Ok(()),
        Some((b':', digits)) if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        Some(_) => Err(format!("invalid port {} after host", quoted(port))),
    }
}
