//! Heads of requests and answers: cookies, kinds of bodies, names of routes, what every answer says.
//!
//! Does not read bodies.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;

use crate::config::ServeArgs;
use crate::pass::Counted;
use crate::refusal::Refusal;
use crate::session::SessionId;

/// Name of the session's cookie.
const NAME: &str = "trenova_session";
/// Longest id that can be one.
const LONGEST_ID: usize = 100;

/// Every route; others than these are no label.
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

/// How the session's cookie is set.
#[derive(Debug, Clone)]
pub struct Cookie {
    age: u32,
    secure: &'static str,
}

impl Cookie {
    /// As the settings say.
    pub fn new(args: &ServeArgs) -> Self {
        Self { age: args.session_age, secure: if args.secure_cookie.is_on() { "; Secure" } else { "" } }
    }

    /// The cookie of a session.
    pub fn begin(&self, id: SessionId) -> HeaderValue {
        self.value(&id.to_string(), self.age)
    }

    /// What makes a browser forget it.
    pub fn end(&self) -> HeaderValue {
        self.value("", 0)
    }

    fn value(&self, id: &str, age: u32) -> HeaderValue {
        let text = format!("{NAME}={id}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{}", self.secure);
        // Digits and letters: always a value.
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// The session that a request says it is of; the first one if there are several.
pub fn session(headers: &HeaderMap) -> Option<SessionId> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME)?.1.parse().ok()
}

/// An id from a path. What can be none is the id of nobody.
pub fn id(id: Result<Path<String>, PathRejection>) -> Result<String, Refusal> {
    let Ok(Path(id)) = id else {
        return Err(Refusal::BadQuery("an id is text in UTF-8".to_owned()));
    };
    let is_id = id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_id { Ok(id) } else { Err(Refusal::NoWorker) }
}

/// Whether a body is said to be JSON in UTF-8, as it has to be.
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

/// An answer with its request's place in the window.
pub fn counted(mut response: Response, counted: Option<Counted>) -> Response {
    if let Some(counted) = counted {
        limits(response.headers_mut(), counted.limit, counted.remaining(), counted.reset_ms);
    }
    response
}

/// What is said of a window.
pub fn limits(headers: &mut HeaderMap, limit: u32, remaining: u64, reset_ms: u64) {
    headers.insert(HeaderName::from_static("x-ratelimit-limit"), limit.into());
    headers.insert(HeaderName::from_static("x-ratelimit-remaining"), remaining.into());
    headers.insert(HeaderName::from_static("x-ratelimit-reset"), reset_ms.div_ceil(1000).into());
    headers.insert(HeaderName::from_static("x-ratelimit-strategy"), HeaderValue::from_static("fixed_window"));
}

/// What every answer says to browsers.
pub fn secure(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// A route's name that lives as long as the program.
pub fn route(path: &str) -> &'static str {
    ROUTES.into_iter().find(|route| *route == path).unwrap_or("none")
}

/// Names that may become labels: a caller can make up as many methods as it likes.
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
    fn a_session_is_found_among_other_cookies_and_only_if_it_can_be_one() {
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
