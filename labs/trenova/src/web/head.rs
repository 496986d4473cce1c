//! Request and response headers: cookies, content types, route names, common headers.
//!
//! Does not read bodies.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;

use crate::admission::WindowCount;
use crate::config::ServeArgs;
use crate::refusal::Refusal;
use crate::session::SessionId;

/// Name of the session cookie.
const NAME: &str = "trenova_session";
/// Longest valid id.
const MAX_ID_BYTES: usize = 100;

/// All routes that can be metric labels.
const ROUTES: [&str; 12] = [
    "/api/v1/workers/select-options",
    "/api/v1/workers/select-options/",
    "/api/v1/workers",
    "/api/v1/workers/{id}",
    "/api/v1/auth/login",
    "/api/v1/auth/logout",
    "/api/v1/auth/me",
    "/",
    "/health",
    "/ready",
    "/metrics",
    "/openapi.json",
];

/// Attributes of the session cookie.
#[derive(Debug, Clone)]
pub struct Cookie {
    age: u32,
    secure: &'static str,
}

impl Cookie {
    /// Configured by the settings.
    pub fn new(args: &ServeArgs) -> Self {
        Self { age: args.session_age, secure: if args.secure_cookie.is_on() { "; Secure" } else { "" } }
    }

    /// The cookie of a session.
    pub fn begin(&self, id: SessionId) -> HeaderValue {
        self.value(&id.to_string(), self.age)
    }

    /// The header that deletes the cookie.
    pub fn end(&self) -> HeaderValue {
        self.value("", 0)
    }

    fn value(&self, id: &str, age: u32) -> HeaderValue {
        let text = format!("{NAME}={id}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{}", self.secure);
        // ASCII letters and digits are always a valid header value.
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// Session id from the cookies; the first if there are several.
pub fn session(headers: &HeaderMap) -> Option<SessionId> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME)?.1.parse().ok()
}

/// An id from a path. A malformed id is reported as unknown.
pub fn id(id: Result<Path<String>, PathRejection>) -> Result<String, Refusal> {
    let Ok(Path(id)) = id else {
        return Err(Refusal::BadQuery("an id is text in UTF-8".to_owned()));
    };
    let is_id =
        id.len() <= MAX_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_id { Ok(id) } else { Err(Refusal::NoWorker) }
}

/// Checks that the content type is JSON in UTF-8.
pub fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let not_json = Refusal::Kind("the content-type has to be application/json");
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(Refusal::Kind("a body may have no content-encoding"));
    }
    let Some(Ok(kind)) = headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str) else {
        return Err(not_json);
    };
    let mut parts = kind.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(not_json);
    }
    let is_utf8 = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    if parts.all(is_utf8) { Ok(()) } else { Err(Refusal::Kind("the charset has to be utf-8")) }
}

/// Adds the rate-limit headers to a response.
pub fn with_limit_headers(mut response: Response, window: Option<WindowCount>) -> Response {
    if let Some(window) = window {
        limit_headers(response.headers_mut(), window.limit, window.remaining(), window.reset_ms);
    }
    response
}

/// Sets the rate-limit headers.
pub fn limit_headers(headers: &mut HeaderMap, limit: u32, remaining: u64, reset_ms: u64) {
    headers.insert(HeaderName::from_static("x-ratelimit-limit"), limit.into());
    headers.insert(HeaderName::from_static("x-ratelimit-remaining"), remaining.into());
    headers.insert(HeaderName::from_static("x-ratelimit-reset"), reset_ms.div_ceil(1000).into());
    headers.insert(HeaderName::from_static("x-ratelimit-strategy"), HeaderValue::from_static("fixed_window"));
}

/// Sets the security headers that every response has.
pub fn secure(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Static name of a route.
pub fn route(path: &str) -> &'static str {
    ROUTES.into_iter().find(|route| *route == path).unwrap_or("none")
}

/// Method name as a label. Clients can send any method, so unknown ones become `other`.
pub fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_a_label() {
        let source = include_str!("../web.rs");
        for route in source.split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(super::route(route), route);
        }
    }

    #[test]
    fn a_session_is_found_among_other_cookies_if_it_is_well_formed() {
        let id = SessionId::new();
        let headers = |cookies: &[String]| {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
            }
            headers
        };
        let mine = format!("{NAME}={id}");
        assert_eq!(session(&headers(&[format!("a=b;  {mine}; c")])), Some(id));
        assert_eq!(session(&headers(&["a=b".to_owned(), mine.clone()])), Some(id));
        for text in ["", NAME, &mine[..mine.len() - 1], &format!("x{mine}"), &format!("{NAME}=*")] {
            assert_eq!(session(&headers(&[text.to_owned()])), None, "{text}");
        }
    }
}
