//! Keys that make a request safe to repeat: the same key sells once.
//!
//! Does not keep them; each store keeps its own beside what it sold, in the same step. A refused order leaves no key,
//! so it may be tried again with the same one.

use std::sync::Arc;

use axum::http::HeaderMap;

use crate::order::Order;
use crate::refusal::Refusal;

const HEADER: &str = "idempotency-key";

/// Most characters of a key.
pub const LONGEST: usize = 200;

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
    pub fn read(headers: &HeaderMap, route: &str, order: &Order) -> Result<Option<Arc<Self>>, Refusal> {
        let Some(value) = headers.get(HEADER) else { return Ok(None) };
        let key = value.to_str().map_err(|_| Refusal::BadKey)?;
        let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
        if key.is_empty() || key.len() > LONGEST || !is_visible {
            return Err(Refusal::BadKey);
        }
        let lines: Vec<_> = order.lines().collect();
        Ok(Some(Arc::new(Self { key: key.to_owned(), request: format!("{route} {lines:?}") })))
    }
}
