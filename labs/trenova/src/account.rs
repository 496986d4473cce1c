//! Sign-in and sign-out: creates sessions and ends them.
//!
//! Does not check sessions; [`crate::admission`] does.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::config::ServeArgs;
use crate::password;
use crate::redis_client::{Fault, RedisClient};
use crate::refusal::Refusal;
use crate::session::{self, Session, SessionId};
use crate::store::{Store, User};
use crate::worker::SignIn;

/// Most password checks at a time: each takes a core and 19 MiB.
const MAX_CONCURRENT_HASHES: usize = 2;
/// Most characters stored of a user agent.
const MAX_AGENT_CHARS: usize = 200;

/// Signs users in and out.
pub struct Accounts {
    store: Arc<Store>,
    redis: Arc<RedisClient>,
    hash_slots: Semaphore,
    /// Digest compared if the user does not exist, so that the response time does not reveal it.
    decoy: Arc<str>,
    idle: u32,
    age: u32,
}

impl Accounts {
    /// Sessions expire as the settings say.
    pub fn new(store: Arc<Store>, redis: Arc<RedisClient>, args: &ServeArgs) -> Self {
        let decoy = password::digest("of nobody").unwrap_or_default().into();
        let (idle, age) = (args.session_idle, args.session_age);
        Self { store, redis, hash_slots: Semaphore::new(MAX_CONCURRENT_HASHES), decoy, idle, age }
    }

    /// Creates a session.
    ///
    /// # Errors
    /// Unknown user or wrong password; or a store fails, and no session is created.
    pub async fn sign_in(
        &self,
        with: SignIn,
        ip: &str,
        agent: &str,
    ) -> Result<(SessionId, Session, User), Refusal> {
        let user = self.store.user(&with.email_address).await?;
        let digest: Arc<str> =
            user.as_ref().map_or_else(|| Arc::clone(&self.decoy), |user| user.password.as_str().into());
        let matches = self.verify(with.password, digest).await?;
        let user = user.filter(|_| matches).ok_or(Refusal::Password)?;
        let (id, now) = (SessionId::new(), session::now());
        let session = Session {
            id: id.to_string(),
            user_id: user.id.as_str().into(),
            business_unit_id: Arc::clone(&user.tenant.business_unit),
            organization_id: Arc::clone(&user.tenant.organization),
            status: "active".to_owned(),
            ip: ip.to_owned(),
            user_agent: agent.chars().take(MAX_AGENT_CHARS).collect(),
            last_accessed_at: now,
            expires_at: now + i64::from(self.age),
            revoked_at: None,
            created_at: now,
            updated_at: now,
        };
        self.begin(id, &session).await.map_err(|fault| Refusal::Session(fault.to_string()))?;
        tracing::info!(user = user.id, "signed in");
        Ok((id, session, user))
    }

    async fn verify(&self, given: String, digest: Arc<str>) -> Result<bool, Refusal> {
        let _slot = self.hash_slots.acquire().await.map_err(|_| Refusal::Stopping)?;
        let matches = tokio::task::spawn_blocking(move || password::verify(&given, &digest));
        matches.await.map_err(|_| Refusal::Stopping)
    }

    async fn begin(&self, id: SessionId, session: &Session) -> Result<(), Fault> {
        // Text and numbers always serialize.
        let text = serde_json::to_string(session).unwrap_or_default();
        let all = format!("user-sessions:{}", session.user_id);
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("SET").arg(id.key()).arg(text).arg("EX").arg(self.idle).ignore();
        pipe.cmd("SADD").arg(&all).arg(id.to_string()).ignore();
        pipe.cmd("EXPIRE").arg(&all).arg(self.age).ignore();
        self.redis.send_all(&pipe).await
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Redis does not respond; the session may have ended.
    pub async fn sign_out(&self, id: SessionId, session: &Session) -> Result<(), Refusal> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("DEL").arg(id.key()).arg(id.events_key()).ignore();
        pipe.cmd("SREM").arg(format!("user-sessions:{}", session.user_id)).arg(id.to_string()).ignore();
        let ended: Result<(), Fault> = self.redis.send_all(&pipe).await;
        ended.map_err(|fault| Refusal::Session(fault.to_string()))
    }
}
