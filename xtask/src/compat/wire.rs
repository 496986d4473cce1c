//! A request as one line of text, without what chance decides.
//!
//! Left out: `Host`, lengths of bodies that are shown, the name that a program gives itself, the key of a socket.
//! Masked: boundaries of multipart bodies and what a client makes up for a digest or for NTLM. Bodies are shown without their
//! coding. The parts of a multipart body and the pairs of a cookie are sorted: k6 sends them in an order of chance.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::server::{Request, decode, shown_ntlm};

/// Bodies are shown up to this many bytes.
const SHOWN_MAX: usize = 400;

/// Parts of a digest that the client makes up, or that follow from those.
const MADE_UP: [&str; 3] = ["cnonce", "response", "nc"];

/// The line.
pub fn line(request: &Request) -> String {
    let boundary = boundary(request);
    let mut headers: Vec<String> =
        request.headers.iter().filter_map(|header| shown(request, header)).collect();
    headers.sort();
    let mut line = format!("{} {}", request.method, request.target);
    if !headers.is_empty() {
        let _ = write!(line, " [{}]", headers.join("; "));
    }
    if !request.body.is_empty() {
        let coding = request.header("content-encoding").unwrap_or_default();
        let _ = write!(line, " {}", body(&decode(coding, &request.body), boundary.as_deref()));
    }
    match boundary {
        Some(boundary) => line.replace(&boundary, "BOUNDARY"),
        None => line,
    }
}

/// A header line, if it says anything.
fn shown(request: &Request, (name, value): &(String, String)) -> Option<String> {
    let value = match name.to_ascii_lowercase().as_str() {
        "host" | "connection" | "sec-websocket-key" => return None,
        "content-length" if !request.body.is_empty() => return None,
        "user-agent" if value.starts_with("Grafana k6/") || value.starts_with("knee/") => return None,
        "cookie" => {
            let mut pairs: Vec<&str> = value.split("; ").collect();
            pairs.sort_unstable();
            pairs.join("; ")
        }
        "authorization" if value.starts_with("Digest ") => digest(&value["Digest ".len()..]),
        "authorization" if value.starts_with("NTLM ") || value.starts_with("Negotiate ") => ntlm(value),
        _ => value.clone(),
    };
    Some(format!("{name}: {value}"))
}

/// A digest, its parts sorted and what was made up masked.
fn digest(value: &str) -> String {
    let part = |part: &str| {
        let (name, value) = part.trim().split_once('=').unwrap_or((part, ""));
        let value = if MADE_UP.contains(&name) { "MASKED" } else { value.trim_matches('"') };
        format!("{name}={value}")
    };
    let mut parts: Vec<String> = value.split(',').map(part).collect();
    parts.sort();
    format!("Digest {}", parts.join(", "))
}

/// A message of NTLM by what it says.
fn ntlm(value: &str) -> String {
    let (scheme, token) = value.split_once(' ').unwrap_or_default();
    format!("{scheme} {}", shown_ntlm(&STANDARD.decode(token).unwrap_or_default()))
}

/// What separates the parts of a multipart body.
fn boundary(request: &Request) -> Option<String> {
    let kind = request.header("content-type")?.strip_prefix("multipart/")?;
    Some(kind.split_once("boundary=")?.1.trim_matches('"').to_owned())
}

fn body(bytes: &[u8], boundary: Option<&str>) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.replace('\\', "\\\\").replace('\r', "\\r").replace('\n', "\\n"),
        Err(_) => bytes.escape_ascii().to_string(),
    };
    let text = boundary.map(|boundary| sorted(&text, boundary)).unwrap_or(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], bytes.len()),
        None => text,
    }
}

/// The parts of a multipart body in an order of their own.
fn sorted(text: &str, boundary: &str) -> String {
    let separator = format!("--{boundary}");
    let mut parts: Vec<&str> = text.split(&separator).collect();
    let inner = parts.len().saturating_sub(1);
    if let Some(parts) = parts.get_mut(1..inner) {
        parts.sort_unstable();
    }
    parts.join(&separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &str) -> Request {
        Request {
            method: "POST".into(),
            target: "/a?b".into(),
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.into(),
            arrived: None,
            place: 0,
        }
    }

    #[test]
    fn a_line_says_what_matters_and_not_which_program_asked() {
        let headers = [("Host", "x:1"), ("User-Agent", "knee/0.1"), ("Content-Length", "2"), ("X-A", "1")];
        assert_eq!(line(&request(&headers, "hi")), "POST /a?b [X-A: 1] hi");
        assert_eq!(line(&request(&headers[2..3], "")), "POST /a?b [Content-Length: 2]");
        assert_eq!(line(&request(&[("User-Agent", "mine")], "")), "POST /a?b [User-Agent: mine]");
    }

    #[test]
    fn multipart_bodies_are_the_same_whatever_their_boundary_and_order() {
        let of = |boundary: &str, parts: [&str; 2]| {
            let kind = format!("multipart/form-data; boundary={boundary}");
            let body = parts.map(|part| format!("--{boundary}\r\n{part}\r\n")).concat();
            line(&request(&[("Content-Type", &kind)], &format!("{body}--{boundary}--\r\n")))
        };
        assert_eq!(of("abc", ["1", "2"]), of("xyzzy", ["2", "1"]));
        assert_ne!(of("abc", ["1", "2"]), of("abc", ["1", "3"]));
    }

    #[test]
    fn digests_are_the_same_whatever_the_client_made_up() {
        let of = |value: &str| line(&request(&[("Authorization", value)], ""));
        let one = of("Digest username=\"u\", cnonce=\"1\", nc=00000001, response=\"2\"");
        assert_eq!(one, of("Digest nc=00000001, username=\"u\", response=\"4\", cnonce=\"3\""));
        assert_ne!(one, of("Digest nc=00000001, username=\"v\", response=\"4\", cnonce=\"3\""));
    }

    #[test]
    fn messages_of_ntlm_are_shown_by_what_they_say() {
        let of = |value: &str| line(&request(&[("Authorization", value)], ""));
        let first = STANDARD.encode(b"NTLMSSP\0\x01\0\0\0ab");
        assert_eq!(of(&format!("NTLM {first}")), "POST /a?b [Authorization: NTLM offers ab]");
        assert_eq!(of("NTLM !"), "POST /a?b [Authorization: NTLM message 0]");
    }
}
