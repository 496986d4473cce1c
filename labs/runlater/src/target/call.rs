//! One call and its answer.
//!
//! What a call asks for in its query goes before what the target was started with.

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

use super::ledger::Ledger;
use super::{Problem, TargetArgs, span};

/// The largest body of a call that is read, in bytes.
const BODY_MAX: usize = 1024 * 1024;

type Answer = Response<Full<Bytes>>;

/// What all calls share.
pub struct Desk {
    /// The counts.
    pub ledger: Ledger,
    usual: Wish,
    spread: Duration,
    error_rate: f64,
    error_status: StatusCode,
    body: Bytes,
    secret: Option<Hmac<Sha256>>,
    draws: AtomicU64,
}

/// How a call is to be answered.
#[derive(Debug, Clone)]
struct Wish {
    delay: Duration,
    status: StatusCode,
    /// Whether a status was asked for by the call: then there are no errors by chance.
    is_exact: bool,
    retry_after: Option<HeaderValue>,
}

impl Desk {
    /// As the arguments say.
    ///
    /// # Errors
    /// `--retry-after` cannot be a header.
    pub fn new(args: &TargetArgs) -> Result<Self, Problem> {
        let retry_after = args.retry_after.as_deref().map(|text| {
            HeaderValue::from_str(text).map_err(|_| Problem::RetryAfter(text.escape_debug().to_string()))
        });
        Ok(Self {
            ledger: Ledger::new(args.remember),
            usual: Wish {
                delay: args.delay,
                status: status(args.status),
                is_exact: false,
                retry_after: retry_after.transpose()?,
            },
            spread: args.delay_spread,
            error_rate: args.error_rate,
            error_status: status(args.error_status),
            body: Bytes::from(args.body.clone()),
            // A key of any length will do.
            secret: args.secret.as_ref().and_then(|secret| Hmac::new_from_slice(secret.as_bytes()).ok()),
            draws: AtomicU64::new(args.seed << 32),
        })
    }

    /// Answers a call, or what is asked about calls.
    ///
    /// # Errors
    /// Never.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let path = request.uri().path();
        if path == "/counts" {
            return Ok(told(StatusCode::OK, &json!(self.ledger.counts())));
        }
        if path == "/health" {
            return Ok(Response::new(Full::from("ok")));
        }
        if let Some(id) = path.strip_prefix("/seen/") {
            return Ok(self.seen(id, request.uri().query()).await);
        }
        Ok(self.call(request).await)
    }

    /// The calls for an execution; with `?wait=` for so long until there is one.
    async fn seen(&self, id: &str, query: Option<&str>) -> Answer {
        let Ok(id) = Uuid::from_str(id) else {
            return refusal(StatusCode::BAD_REQUEST, "an execution is named by its UUID");
        };
        let mut asked = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let seen = match asked.find(|(name, _)| name == "wait").map(|(_, value)| span(&value)) {
            None => self.ledger.seen(id),
            Some(Ok(patience)) => self.ledger.wait(id, patience).await,
            Some(Err(reason)) => return refusal(StatusCode::BAD_REQUEST, &reason),
        };
        match seen {
            Some(seen) => told(StatusCode::OK, &json!(seen)),
            None => refusal(StatusCode::NOT_FOUND, "there was no call for this execution"),
        }
    }

    async fn call(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let _open = self.ledger.call(execution(&head.headers));
        let wish = match self.usual.clone().with(head.uri.query()) {
            Ok(wish) => wish,
            Err(reason) => return self.refuse(StatusCode::BAD_REQUEST, &reason),
        };
        let body = match whole(body).await {
            Ok(body) => body,
            Err(reason) => return self.refuse(StatusCode::BAD_REQUEST, &reason),
        };
        if self.secret.as_ref().is_some_and(|secret| !is_signed(secret, &head.headers, &body)) {
            return self.refuse(StatusCode::UNAUTHORIZED, "the signature is missing or wrong");
        }
        let is_error = !wish.is_exact && self.draw() < self.error_rate;
        let delay = wish.delay + self.spread.mul_f64(self.draw());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.ledger.answered(is_error, false);
        let mut answer = Response::new(Full::new(self.body.clone()));
        *answer.status_mut() = if is_error { self.error_status } else { wish.status };
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        if let Some(value) = wish.retry_after.filter(|_| answer.status().as_u16() >= 400) {
            answer.headers_mut().insert(RETRY_AFTER, value);
        }
        answer
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        self.ledger.answered(false, true);
        refusal(status, reason)
    }

    /// A number from 0 to 1, without 1: each one the hash of a count (splitmix64), so that a seed decides all of them.
    fn draw(&self) -> f64 {
        let mut x = self.draws.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Wish {
    /// With what a query asks for. Names that mean nothing here are the caller's own.
    fn with(mut self, query: Option<&str>) -> Result<Self, String> {
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "delay" => self.delay = span(&value)?,
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

/// A status whose range was checked before.
fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The execution that a call is for.
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

/// Whether the signature of a body is the one that the secret makes; compared in constant time.
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

fn told(status: StatusCode, body: &serde_json::Value) -> Answer {
    let mut answer = Response::new(Full::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn refusal(status: StatusCode, reason: &str) -> Answer {
    told(status, &json!({"error": {"code": "refused", "message": reason}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Wish {
        let (delay, status) = (Duration::from_millis(100), StatusCode::OK);
        Wish { delay, status, is_exact: false, retry_after: None }
    }

    #[test]
    fn a_call_can_ask_for_its_own_answer() {
        let wish = usual().with(Some("delay=7ms&status=429&retry_after=3&mine=1")).unwrap();
        assert_eq!((wish.delay.as_millis(), wish.status.as_u16(), wish.is_exact), (7, 429, true));
        assert_eq!(wish.retry_after.unwrap(), "3");
        let wish = usual().with(None).unwrap();
        assert_eq!((wish.delay.as_millis(), wish.status.as_u16(), wish.is_exact), (100, 200, false));
        for query in ["delay=never", "status=99", "status=600", "status=ok", "retry_after=%0a"] {
            assert!(usual().with(Some(query)).is_err(), "{query}");
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
