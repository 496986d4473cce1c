//! API keys: `ID.SECRET`, of which only a digest of the secret is kept.
//!
//! Does not say what a key may do: it belongs to one organization, and all of that is open to it.

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

/// How long a key that was deleted may still be taken for one, with `key-cache`.
const KEPT: Duration = Duration::from_secs(5);
/// How much longer while it is looked up again.
const LOOKUP: Duration = Duration::from_secs(1);
/// Keys kept at a time.
const KEPT_MAX: usize = 10_000;
/// How old what is written of the last use may become.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_secs(300);

/// Longest part of a key that is looked up.
const PART_MAX: usize = 100;

/// The keys of this process.
pub struct Keys {
    store: Arc<Store>,
    touch: ApikeyTouch,
    kept: Option<RwLock<HashMap<String, Kept>>>,
}

struct Kept {
    row: KeyRow,
    until: Instant,
    /// Not even while it is looked up again it is taken for a key after this.
    end: Instant,
}

impl Keys {
    /// Looks keys up in a store.
    pub fn new(store: Arc<Store>, switches: &Switches) -> Self {
        let kept = switches.key_cache.is_on().then(RwLock::default);
        Self { store, touch: switches.apikey_touch, kept }
    }

    /// The organization whose key a request has.
    ///
    /// # Errors
    /// It has none, or a wrong one; PostgreSQL fails; no connection is free.
    pub async fn prove(&self, headers: &HeaderMap, now: Timestamp) -> Result<Uuid, Refusal> {
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
        if let Some(kept) = &self.kept {
            let fresh = kept.read().get(id).filter(|kept| kept.until > now).map(|kept| kept.row.clone());
            if fresh.is_some() {
                return Ok(fresh);
            }
            // One looks it up; the others do with what is there a little longer.
            if let Some(kept) = kept.write().get_mut(id) {
                if kept.until > now {
                    return Ok(Some(kept.row.clone()));
                }
                kept.until = kept.end.min(now + LOOKUP);
            }
        }
        let row = self.store.key(id).await?;
        if let Some(kept) = &self.kept {
            let mut kept = kept.write();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            match &row {
                Some(row) => {
                    // Somebody may have written a use since it was looked up.
                    let used = kept.get(id).and_then(|kept| kept.row.last_used_at);
                    let mut row = row.clone();
                    row.last_used_at = row.last_used_at.max(used);
                    kept.insert(id.to_owned(), Kept { row, until: now + KEPT, end: now + KEPT + LOOKUP });
                }
                None => drop(kept.remove(id)),
            }
        }
        Ok(row)
    }

    /// Whether nobody else is writing that a key was used: those who come meanwhile need not.
    fn is_first(&self, id: &str, now: Timestamp) -> bool {
        let Some(kept) = &self.kept else { return true };
        let mut kept = kept.write();
        let Some(kept) = kept.get_mut(id) else { return true };
        let is_first = is_stale(kept.row.last_used_at, now);
        kept.row.last_used_at = kept.row.last_used_at.max(Some(now));
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

/// A key as its id and its secret; none if it is no key.
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
pub fn draw() -> Result<String, getrandom::Error> {
    Ok(format!("pk_live_{}.sk_live_{}", random::<18>()?, random::<24>()?))
}

/// A new secret for signatures.
///
/// # Errors
/// The system has no random numbers.
pub fn draw_webhook_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok(format!("whsec_{}", signature::hex(&bytes)))
}

/// Four characters for three bytes.
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
        let key = draw().unwrap();
        let (id, secret) = split(&key).unwrap();
        assert_eq!((id.len(), secret.len()), ("pk_live_".len() + 24, "sk_live_".len() + 32));
        assert_ne!(draw().unwrap(), key);
        assert_eq!(draw_webhook_secret().unwrap().len(), "whsec_".len() + 48);
    }

    #[test]
    fn what_is_no_key_is_not_looked_up() {
        for key in
            ["", ".", "a.", ".b", "a", "a.b.c", "a b.c", "ä.b", "a.\"", &format!("a.{}", "x".repeat(101))]
        {
            assert_eq!(split(key), None, "{key}");
        }
        assert_eq!(split("pk_live_a-b.sk"), Some(("pk_live_a-b", "sk")));
    }
}
