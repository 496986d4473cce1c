//! Idempotency keys make a request safe to repeat: the same key sells once.
//!
//! Does not store keys: each store writes a key atomically with its sale. A refused order stores no key, so a client can
//! repeat it with the same one.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;

use crate::order::Order;
use crate::refusal::Refusal;

const HEADER: &str = "idempotency-key";

/// Maximum length of a key, in characters.
pub const MAX_LENGTH: usize = 200;

/// The `Idempotency-Key` header of a request, unchecked. Other headers are not copied.
#[derive(Debug)]
pub struct Header(Option<HeaderValue>);

impl<S: Sync> FromRequestParts<S> for Header {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.get(HEADER).cloned()))
    }
}

/// A key and the request it was sent with.
#[derive(Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// 1 to [`MAX_LENGTH`] visible ASCII characters.
    pub key: String,
    /// Route and order in canonical form. The same key with another request is a client error.
    pub request: String,
}

impl IdempotencyKey {
    /// Reads the key of a request. None if the request has none.
    ///
    /// # Errors
    /// [`Refusal::BadKey`] when it is empty, too long, or not visible ASCII.
    pub fn read(header: &Header, route: &str, order: &Order) -> Result<Option<Arc<Self>>, Refusal> {
        let Some(value) = &header.0 else { return Ok(None) };
        let key = value.to_str().map_err(|_| Refusal::BadKey)?;
        let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
        if key.is_empty() || key.len() > MAX_LENGTH || !is_visible {
            return Err(Refusal::BadKey);
        }
        let lines: Vec<_> = order.lines().collect();
        Ok(Some(Arc::new(Self { key: key.to_owned(), request: format!("{route} {lines:?}") })))
    }
}
