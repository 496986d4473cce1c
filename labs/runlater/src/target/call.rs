//! One call and the stub's response.
//!
//! Query parameters of a call override the target's flags.

use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use sha2::Sha256;
use uuid::Uuid;

use super::call_log::CallLog;
use super::{Problem, TargetArgs, parse_duration};

/// Most bytes read of a call's body.
const BODY_MAX: usize = 1024 * 1024;

type StubResponse = Response<Full<Bytes>>;

/// State shared by all calls.
pub struct StubServer {
    /// The calls received.
    pub call_log: CallLog,
    default_plan: ResponsePlan,
    spread: Duration,
    error_rate: f64,
    error_status: StatusCode,
    body: Bytes,
    secret: Option<Hmac<Sha256>>,
    draws: AtomicU64,
}

/// How to respond to a call.
#[derive(Debug, Clone)]
struct ResponsePlan {
    delay: Duration,
    status: StatusCode,
    /// Whether the call asked for a status: then there are no random errors.
    is_exact: bool,
    retry_after: Option<HeaderValue>,
}

impl StubServer {
    /// Configured by the arguments.
    ///
    /// # Errors
    /// `--retry-after` is not a valid header value.
    pub fn new(args: &TargetArgs) -> Result<Self, Problem> {
        let retry_after = args.retry_after.as_deref().map(|text| {
            HeaderValue::from_str(text).map_err(|_| Problem::RetryAfter(text.escape_debug().to_string()))
        });
        Ok(Self {
            call_log: CallLog::new(args.remember),
            default_plan: ResponsePlan {
                delay: args.delay,
                status: status(args.status),
                is_exact: false,
                retry_after: retry_after.transpose()?,
            },
            spread: args.delay_spread,
            error_rate: args.error_rate,
            error_status: status(args.error_status),
            body: Bytes::from(args.body.clone()),
            // HMAC accepts keys of any length.
            secret: args.secret.as_ref().and_then(|secret| Hmac::new_from_slice(secret.as_bytes()).ok()),
            draws: AtomicU64::new(args.seed << 32),
        })
    }

    /// Responds to a call, or to a query about calls.
    ///
    /// # Errors
    /// Never.
    pub async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<StubResponse, Infallible> {
        let path = request.uri().path();
        if path == "/counts" {
            return Ok(json_response(StatusCode::OK, &json!(self.call_log.counts())));
        }
        if path == "/health" {
            return Ok(Response::new(Full::from("ok")));
        }
        if let Some(id) = path.strip_prefix("/seen/") {
            return Ok(self.seen(id, request.uri().query()).await);
        }
        Ok(self.call(request).await)
    }

    /// Calls for an execution; `?wait=` waits for the first one.
    async fn seen(&self, id: &str, query: Option<&str>) -> StubResponse {
        let Ok(id) = Uuid::from_str(id) else {
            return refusal(StatusCode::BAD_REQUEST, "an execution is named by its UUID");
        };
        let mut asked = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let seen = match asked.find(|(name, _)| name == "wait").map(|(_, value)| parse_duration(&value)) {
            None => self.call_log.seen(id),
            Some(Ok(timeout)) => self.call_log.wait(id, timeout).await,
            Some(Err(reason)) => return refusal(StatusCode::BAD_REQUEST, &reason),
        };
        match seen {
            Some(seen) => json_response(StatusCode::OK, &json!(seen)),
            None => refusal(StatusCode::NOT_FOUND, "there was no call for this execution"),
        }
    }

    async fn call(&self, request: Request<Incoming>) -> StubResponse {
        let (head, body) = request.into_parts();
        let _open = self.call_log.call(execution(&head.headers));
        let plan = match self.default_plan.clone().with(head.uri.query()) {
            Ok(plan) => plan,
            Err(reason) => return self.refuse(StatusCode::BAD_REQUEST, &reason),
        };
        let body = match whole(body).await {
            Ok(body) => body,
            Err(reason) => return self.refuse(StatusCode::BAD_REQUEST, &reason),
        };
        if self.secret.as_ref().is_some_and(|secret| !is_signed(secret, &head.headers, &body)) {
            return self.refuse(StatusCode::UNAUTHORIZED, "the signature is missing or wrong");
        }
        let is_error = !plan.is_exact && self.next_random() < self.error_rate;
        let delay = plan.delay + self.spread.mul_f64(self.next_random());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.call_log.answered(is_error, false);
        let mut answer = Response::new(Full::new(self.body.clone()));
        *answer.status_mut() = if is_error { self.error_status } else { plan.status };
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        if let Some(value) = plan.retry_after.filter(|_| answer.status().as_u16() >= 400) {
            answer.headers_mut().insert(RETRY_AFTER, value);
        }
        answer
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> StubResponse {
        self.call_log.answered(false, true);
        refusal(status, reason)
    }

    /// A number in [0, 1): the hash of a counter (splitmix64), so that the seed determines the sequence.
    fn next_random(&self) -> f64 {
        let mut x = self.draws.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl ResponsePlan {
    /// Applies the query's parameters. Unknown names are ignored.
    fn with(mut self, query: Option<&str>) -> Result<Self, String> {
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "delay" => self.delay = parse_duration(&value)?,
                "status" => {
                    let known = value.parse().ok().filter(|status| (200..=599).contains(status));
                    self.status = status(known.ok_or("a status is from 200 to 599")?);
                    self.is_exact = true;
                }
                "retry_after" => {
                    let header = HeaderValue::from_str(&value).map_err(|_| "no Retry-After")?;
                    self.retry_after = Some(header);
                }
                _ => {}
            }
        }
        Ok(self)
    }
}

/// A status code in the valid range.
fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Execution id from the headers.
fn execution(headers: &HeaderMap) -> Option<Uuid> {
    Uuid::from_str(headers.get("x-runlater-execution-id")?.to_str().ok()?).ok()
}

async fn whole(body: Incoming) -> Result<Bytes, String> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let read = Limited::new(body, BODY_MAX).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| format!("the body: {error}"))
}

/// Verifies the signature of a body, in constant time.
fn is_signed(secret: &Hmac<Sha256>, headers: &HeaderMap, body: &[u8]) -> bool {
    let signature = headers.get("x-runlater-signature").and_then(|value| value.to_str().ok());
    let Some(bytes) = signature.and_then(|text| unhex(text.strip_prefix("sha256=")?)) else {
        return false;
    };
    secret.clone().chain_update(body).verify_slice(&bytes).is_ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
    text.as_bytes().chunks(2).map(pair).collect()
}

fn json_response(status: StatusCode, body: &serde_json::Value) -> StubResponse {
    let mut answer = Response::new(Full::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn refusal(status: StatusCode, reason: &str) -> StubResponse {
    json_response(status, &json!({"error": {"code": "refused", "message": reason}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_plan() -> ResponsePlan {
        let (delay, status) = (Duration::from_millis(100), StatusCode::OK);
        ResponsePlan { delay, status, is_exact: false, retry_after: None }
    }

    #[test]
    fn a_call_can_set_its_own_response() {
        let plan = default_plan().with(Some("delay=7ms&status=429&retry_after=3&mine=1")).unwrap();
        assert_eq!((plan.delay.as_millis(), plan.status.as_u16(), plan.is_exact), (7, 429, true));
        assert_eq!(plan.retry_after.unwrap(), "3");
        let plan = default_plan().with(None).unwrap();
        assert_eq!((plan.delay.as_millis(), plan.status.as_u16(), plan.is_exact), (100, 200, false));
        for query in ["delay=never", "status=99", "status=600", "status=ok", "retry_after=%0a"] {
            assert!(default_plan().with(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn a_signature_is_the_hmac_of_the_body_in_hexadecimal() {
        // RFC 4231, test case 2.
        let secret = Hmac::new_from_slice(b"Jefe").unwrap();
        let body = b"what do ya want for nothing?";
        let right = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-runlater-signature", HeaderValue::from_str(value).unwrap());
            headers
        };
        assert!(is_signed(&secret, &with(&format!("sha256={right}")), body));
        assert!(!is_signed(&secret, &with(&format!("sha256={right}")), b"another body"));
        for wrong in ["", right, "sha256=", "sha256=5b", "sha256=5bd", "sha256=zz", "sha512=00"] {
            assert!(!is_signed(&secret, &with(wrong), body), "{wrong}");
        }
        assert!(!is_signed(&secret, &HeaderMap::new(), body));
    }
}
