//! API keys of the form `ID.SECRET`; only a digest of the secret is stored.
//!
//! Has no permissions: a key gives full access to its organization.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;
use uuid::Uuid;

use crate::config::Switches;
use crate::config::switch::ApikeyTouch;
use crate::refusal::Refusal;
use crate::signature;
use crate::store::Store;
use crate::store::key::KeyRow;

/// How long a key is cached, with `key-cache`: a deleted key stays valid for as long.
const CACHE_TIME: Duration = Duration::from_secs(5);
/// Extra validity while one request looks the key up again.
const LOOKUP_TIME: Duration = Duration::from_secs(1);
/// Most cached keys.
const CACHE_MAX: usize = 10_000;
/// Least time between writes of the last use.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_secs(300);

/// Most characters of each part of a key.
const PART_MAX: usize = 100;

/// Authenticates requests, with a cache of keys.
pub struct Keys {
    store: Arc<Store>,
    touch: ApikeyTouch,
    cached: Option<RwLock<HashMap<String, CachedKey>>>,
}

struct CachedKey {
    row: KeyRow,
    until: Instant,
    /// Expiry, even while the key is being looked up.
    end: Instant,
}

impl Keys {
    /// Configured by the switches.
    pub fn new(store: Arc<Store>, switches: &Switches) -> Self {
        let cached = switches.key_cache.is_on().then(RwLock::default);
        Self { store, touch: switches.apikey_touch, cached }
    }

    /// Organization of a request's key.
    ///
    /// # Errors
    /// The key is missing or wrong; PostgreSQL fails; no connection is free.
    pub async fn authenticate(&self, headers: &HeaderMap, now: Timestamp) -> Result<Uuid, Refusal> {
        let (id, secret) = parts(headers).ok_or(Refusal::Unauthorized)?;
        let row = self.row(id).await?.ok_or(Refusal::Unauthorized)?;
        let digest = signature::digest(secret);
        if !bool::from(digest.as_bytes().ct_eq(row.hash.as_bytes())) {
            return Err(Refusal::Unauthorized);
        }
        let is_stale = is_stale(row.last_used_at, now);
        if self.touch == ApikeyTouch::Always || (is_stale && self.is_first(id, now)) {
            self.store.touch(row.id, now).await?;
        }
        Ok(row.organization)
    }

    async fn row(&self, id: &str) -> Result<Option<KeyRow>, Refusal> {
        let now = Instant::now();
        if let Some(cached) = &self.cached {
            let fresh =
                cached.read().get(id).filter(|cached| cached.until > now).map(|cached| cached.row.clone());
            if fresh.is_some() {
                return Ok(fresh);
            }
            // One request looks it up; the others use the cached key a little longer.
            if let Some(cached) = cached.write().get_mut(id) {
                if cached.until > now {
                    return Ok(Some(cached.row.clone()));
                }
                cached.until = cached.end.min(now + LOOKUP_TIME);
            }
        }
        let row = self.store.key(id).await?;
        if let Some(cached) = &self.cached {
            let mut cached = cached.write();
            if cached.len() >= CACHE_MAX {
                cached.clear();
            }
            match &row {
                Some(row) => {
                    // Another request may have recorded a use since the lookup.
                    let used = cached.get(id).and_then(|cached| cached.row.last_used_at);
                    let mut row = row.clone();
                    row.last_used_at = row.last_used_at.max(used);
                    cached.insert(
                        id.to_owned(),
                        CachedKey { row, until: now + CACHE_TIME, end: now + CACHE_TIME + LOOKUP_TIME },
                    );
                }
                None => drop(cached.remove(id)),
            }
        }
        Ok(row)
    }

    /// Whether this request must record the use; parallel requests need not.
    fn is_first(&self, id: &str, now: Timestamp) -> bool {
        let Some(cached) = &self.cached else { return true };
        let mut cached = cached.write();
        let Some(cached) = cached.get_mut(id) else { return true };
        let is_first = is_stale(cached.row.last_used_at, now);
        cached.row.last_used_at = cached.row.last_used_at.max(Some(now));
        is_first
    }
}

fn is_stale(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| last.duration_until(now) >= TOUCH_EVERY)
}

/// The two parts of `Authorization: Bearer ID.SECRET`.
fn parts(headers: &HeaderMap) -> Option<(&str, &str)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    split(key.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"))
}

/// Splits a key into id and secret; `None` if it is malformed.
pub fn split(key: &str) -> Option<(&str, &str)> {
    let is_part = |part: &str| {
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !part.is_empty() && part.len() <= PART_MAX && part.bytes().all(is_safe)
    };
    key.split_once('.').filter(|(id, secret)| is_part(id) && is_part(secret))
}

/// A new key.
///
/// # Errors
/// The system has no random numbers.
pub fn generate() -> Result<String, getrandom::Error> {
    Ok(format!("pk_live_{}.sk_live_{}", random::<18>()?, random::<24>()?))
}

/// A new secret for signatures.
///
/// # Errors
/// The system has no random numbers.
pub fn generate_webhook_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok(format!("whsec_{}", signature::hex(&bytes)))
}

/// Random base64 text, four characters per three bytes.
fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_two_parts_of_the_published_lengths_and_is_never_the_same() {
        let key = generate().unwrap();
        let (id, secret) = split(&key).unwrap();
        assert_eq!((id.len(), secret.len()), ("pk_live_".len() + 24, "sk_live_".len() + 32));
        assert_ne!(generate().unwrap(), key);
        assert_eq!(generate_webhook_secret().unwrap().len(), "whsec_".len() + 48);
    }

    #[test]
    fn a_malformed_key_is_not_looked_up() {
        for key in
            ["", ".", "a.", ".b", "a", "a.b.c", "a b.c", "ä.b", "a.\"", &format!("a.{}", "x".repeat(101))]
        {
            assert_eq!(split(key), None, "{key}");
        }
        assert_eq!(split("pk_live_a-b.sk"), Some(("pk_live_a-b", "sk")));
    }
}
