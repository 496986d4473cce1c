//! A prepared request as HTTP/2 has it.
//!
//! Leaves out what belongs to one connection (RFC 9113, 8.2.2), and splits cookies, which compresses better
//! (RFC 9113, 8.2.3); Go does both.

use http::header::{COOKIE, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Uri};
use knee_core::outcome::Fault;

use super::super::failure::Failure;
use super::super::prepared::PreparedRequest;

/// Fields of a connection, in small letters; `host` becomes the authority.
const LEFT_OUT: [&str; 6] =
    ["host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// The head of a request; `default_authority` is used if it has no `host`.
pub fn head_of(
    request: &PreparedRequest,
    is_secure: bool,
    default_authority: &str,
) -> Result<Request<()>, Failure> {
    let mut headers = HeaderMap::with_capacity(16);
    let mut host = None;
    for (name, value) in request.fields() {
        let name = HeaderName::from_bytes(name).map_err(wrong)?;
        if name == "host" {
            host = Some(value);
        }
        if LEFT_OUT.contains(&name.as_str()) || name == "te" && value != b"trailers" {
            continue;
        }
        if name == COOKIE {
            for crumb in value.split(|byte| *byte == b';') {
                headers.append(COOKIE, HeaderValue::from_bytes(crumb.trim_ascii()).map_err(wrong)?);
            }
            continue;
        }
        headers.append(name, HeaderValue::from_bytes(value).map_err(wrong)?);
    }
    let authority = match host {
        Some(host) => Authority::try_from(host).map_err(wrong)?,
        None => Authority::try_from(default_authority).map_err(wrong)?,
    };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(if is_secure { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = Some(authority);
    parts.path_and_query = Some(PathAndQuery::try_from(request.target()).map_err(wrong)?);
    let mut head = Request::new(());
    *head.method_mut() = Method::from_bytes(request.method()).map_err(wrong)?;
    *head.uri_mut() = Uri::from_parts(parts).map_err(wrong)?;
    *head.headers_mut() = headers;
    Ok(head)
}

/// A request that cannot be written.
fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::new(Fault::GeneratorOther, format!("the request cannot be sent over HTTP/2: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::prepared::RequestWriter;

    #[test]
    fn a_request_keeps_its_fields_apart_from_those_of_the_connection() {
        let mut writer = RequestWriter::new("POST", b"/a?b=c", 100);
        for (name, value) in [
            ("Host", "example.test:8443"),
            ("Connection", "keep-alive"),
            ("X-Name", "value"),
            ("Cookie", "a=1; b=2"),
            ("TE", "gzip"),
        ] {
            writer.field(name, value.as_bytes());
        }
        let head = head_of(&writer.finish(b"", false), true, "other").unwrap();
        assert_eq!(head.uri(), "https://example.test:8443/a?b=c");
        assert_eq!(head.method(), Method::POST);
        let fields: Vec<_> = head
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        assert_eq!(fields, ["x-name=value", "cookie=a=1", "cookie=b=2"]);
    }

    #[test]
    fn a_request_that_http2_cannot_carry_is_a_failure_of_the_generator() {
        let mut writer = RequestWriter::new("GET", b"/", 100);
        writer.field("bad name", b"value");
        let failure = head_of(&writer.finish(b"", true), true, "a").unwrap_err();
        assert_eq!(failure.fault, Fault::GeneratorOther);
        assert!(failure.message.unwrap().starts_with("the request cannot be sent over HTTP/2"));
    }
}
