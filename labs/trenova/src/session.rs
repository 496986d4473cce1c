//! Sessions as stored in Redis, and when they are valid.
//!
//! Does not talk to Redis; [`crate::admission`] does.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Bytes of a session id, too many to guess.
const ID_BYTES: usize = 32;

/// The secret in the session cookie.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; ID_BYTES]);

impl SessionId {
    /// A new random id.
    pub fn new() -> Self {
        let mut bytes = [0; ID_BYTES];
        bytes[..16].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        bytes[16..].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        Self(bytes)
    }

    /// Redis key of the session.
    pub fn key(&self) -> String {
        format!("session:{self}")
    }

    /// Redis key of the session's events.
    pub fn events_key(&self) -> String {
        format!("session-events:{self}")
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 2 * ID_BYTES];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays out of logs.
        f.write_str("SessionId")
    }
}

impl FromStr for SessionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.as_bytes();
        if text.len() != 2 * ID_BYTES {
            return Err(());
        }
        let mut bytes = [0; ID_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn digit(byte: u8) -> Result<u8, ()> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(()),
    }
}

/// The tenant: whose data a request may see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The organization.
    pub organization: Arc<str>,
    /// The business unit it belongs to.
    pub business_unit: Arc<str>,
}

impl Tenant {
    /// Organization and business unit.
    pub fn texts(&self) -> [&str; 2] {
        [&self.organization, &self.business_unit]
    }
}

/// A session, stored as JSON in Redis. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The secret, as in the cookie.
    pub id: String,
    /// User.
    pub user_id: Arc<str>,
    /// Business unit.
    pub business_unit_id: Arc<str>,
    /// Organization.
    pub organization_id: Arc<str>,
    /// `active`; any other value makes the session invalid.
    pub status: String,
    /// Client address; requests from other addresses are refused.
    pub ip: String,
    /// User agent.
    pub user_agent: String,
    /// Last recorded use.
    pub last_accessed_at: i64,
    /// Expiry, regardless of use.
    pub expires_at: i64,
    /// When it was revoked, if it was.
    pub revoked_at: Option<i64>,
    /// Time of the sign-in.
    pub created_at: i64,
    /// Last write.
    pub updated_at: i64,
}

impl Session {
    /// Checks that the session is valid now, for a request from this address.
    ///
    /// # Errors
    /// Revoked, expired, idle for more than `idle` seconds, or from another address.
    pub fn check(&self, now: i64, ip: &str, idle: u32) -> Result<(), Refusal> {
        if self.status != "active" || self.revoked_at.is_some() {
            return Err(Refusal::SignIn("the session was ended"));
        }
        if now >= self.expires_at || now - self.last_accessed_at > i64::from(idle) {
            return Err(Refusal::SignIn("the session is over"));
        }
        if self.ip != ip {
            return Err(Refusal::SignIn("the session belongs to another address"));
        }
        Ok(())
    }

    /// A copy with `now` as the time of last use.
    #[must_use]
    pub fn used(&self, now: i64) -> Self {
        Self { last_accessed_at: now, updated_at: now, ..self.clone() }
    }

    /// The session's tenant.
    pub fn tenant(&self) -> Tenant {
        Tenant {
            organization: Arc::clone(&self.organization_id),
            business_unit: Arc::clone(&self.business_unit_id),
        }
    }

    /// The placeholder used when failing open, as published: its organization does not exist.
    pub fn placeholder(ip: &str, now: i64) -> Self {
        Self {
            id: String::new(),
            user_id: "usr_unknown".into(),
            business_unit_id: "bu_unknown".into(),
            organization_id: "org_unknown".into(),
            status: "active".to_owned(),
            ip: ip.to_owned(),
            user_agent: String::new(),
            last_accessed_at: now,
            expires_at: i64::MAX,
            revoked_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session() -> Session {
        Session { expires_at: 5000, ..Session::placeholder("127.0.0.1", 1000) }
    }

    #[test]
    fn a_session_is_valid_for_its_address_until_idle_expired_or_revoked() {
        let check = |session: Session, now, ip| session.check(now, ip, 100).is_ok();
        assert!(check(session(), 1000, "127.0.0.1"));
        assert!(check(session(), 1100, "127.0.0.1"), "idle for as long as it may");
        assert!(!check(session(), 1101, "127.0.0.1"), "idle for longer");
        assert!(!check(session().used(4999), 5000, "127.0.0.1"), "used, but over");
        assert!(!check(session(), 1000, "127.0.0.2"));
        assert!(!check(Session { revoked_at: Some(999), ..session() }, 1000, "127.0.0.1"));
        assert!(!check(Session { status: "revoked".to_owned(), ..session() }, 1000, "127.0.0.1"));
    }

    #[test]
    fn redis_stores_the_published_field_names() {
        let json = serde_json::to_value(session()).unwrap();
        for name in ["id", "userId", "businessUnitId", "organizationId", "status", "ip", "userAgent"] {
            assert!(json.get(name).is_some(), "{name}");
        }
        assert_eq!(json["lastAccessedAt"], 1000);
        assert_eq!(serde_json::from_value::<Session>(json).unwrap(), session());
    }

    #[test]
    fn ids_differ_and_are_not_shown_in_debug_output() {
        let (one, other) = (SessionId::new(), SessionId::new());
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "SessionId");
    }

    proptest! {
        #[test]
        fn an_id_parses_as_it_was_written_and_nothing_else_does(text in "[0-9a-fA-F]{60,68}") {
            match text.parse::<SessionId>() {
                Ok(id) => prop_assert_eq!(id.to_string(), text),
                Err(()) => prop_assert!(text.len() != 64 || text.bytes().any(|byte| byte.is_ascii_uppercase())),
            }
        }
    }
}
