//! Keys that make a request safe to repeat: the same key sells once.
//!
//! Does not keep them; each store keeps its own beside what it sold, in the same step. A refused order leaves no key,
//! so it may be tried again with the same one.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;

use crate::order::Order;
use crate::refusal::Refusal;

const HEADER: &str = "idempotency-key";

/// Most characters of a key.
pub const LONGEST: usize = 200;

/// The header of a request as it came; the other headers are nobody's business here, and are not copied.
#[derive(Debug)]
pub struct Header(Option<HeaderValue>);

impl<S: Sync> FromRequestParts<S> for Header {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.get(HEADER).cloned()))
    }
}

/// A key, and what was asked for with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Once {
    /// From 1 to [`LONGEST`] visible characters of ASCII.
    pub key: String,
    /// Route and order in one form: the same key with another one is a mistake of the buyer.
    pub request: String,
}

impl Once {
    /// The key of a request, when it has one.
    ///
    /// # Errors
    /// [`Refusal::BadKey`] when it is empty, too long, or not visible ASCII.
    pub fn read(header: &Header, route: &str, order: &Order) -> Result<Option<Arc<Self>>, Refusal> {
        let Some(value) = &header.0 else { return Ok(None) };
        let key = value.to_str().map_err(|_| Refusal::BadKey)?;
        let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
        if key.is_empty() || key.len() > LONGEST || !is_visible {
            return Err(Refusal::BadKey);
        }
        let lines: Vec<_> = order.lines().collect();
        Ok(Some(Arc::new(Self { key: key.to_owned(), request: format!("{route} {lines:?}") })))
    }
}
