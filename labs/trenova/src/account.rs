//! Signing in and out: the only ways a session begins, and the one way its owner ends it.
//!
//! Does not decide what a session is good for; [`crate::pass`] does.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::config::ServeArgs;
use crate::link::{Fault, Link};
use crate::password;
use crate::refusal::Refusal;
use crate::session::{self, Session, SessionId};
use crate::store::{Store, User};
use crate::worker::SignIn;

/// Passwords that are looked at at a time: each takes a core and 19 MiB.
const AT_A_TIME: usize = 2;
/// Most characters that are kept of what a program calls itself.
const LONGEST_AGENT: usize = 200;

/// Who may sign in.
pub struct Accounts {
    store: Arc<Store>,
    link: Arc<Link>,
    seats: Semaphore,
    /// Of nobody: compared when there is no such user, so that an answer takes as long.
    decoy: Arc<str>,
    idle: u32,
    age: u32,
}

impl Accounts {
    /// Keeps sessions as long as the settings say.
    pub fn new(store: Arc<Store>, link: Arc<Link>, args: &ServeArgs) -> Self {
        let decoy = password::digest("of nobody").unwrap_or_default().into();
        let (idle, age) = (args.session_idle, args.session_age);
        Self { store, link, seats: Semaphore::new(AT_A_TIME), decoy, idle, age }
    }

    /// Begins a session.
    ///
    /// # Errors
    /// There is no such user or the password is another one; a store fails, and nobody is signed in.
    pub async fn sign_in(
        &self,
        with: SignIn,
        ip: &str,
        agent: &str,
    ) -> Result<(SessionId, Session, User), Refusal> {
        let user = self.store.user(&with.email_address).await?;
        let digest: Arc<str> =
            user.as_ref().map_or_else(|| Arc::clone(&self.decoy), |user| user.password.as_str().into());
        let fits = self.fits(with.password, digest).await?;
        let user = user.filter(|_| fits).ok_or(Refusal::Password)?;
        let (id, now) = (SessionId::new(), session::now());
        let session = Session {
            id: id.to_string(),
            user_id: user.id.as_str().into(),
            business_unit_id: Arc::clone(&user.tenant.business_unit),
            organization_id: Arc::clone(&user.tenant.organization),
            status: "active".to_owned(),
            ip: ip.to_owned(),
            user_agent: agent.chars().take(LONGEST_AGENT).collect(),
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

    async fn fits(&self, given: String, digest: Arc<str>) -> Result<bool, Refusal> {
        let _seat = self.seats.acquire().await.map_err(|_| Refusal::Stopping)?;
        let fits = tokio::task::spawn_blocking(move || password::fits(&given, &digest));
        fits.await.map_err(|_| Refusal::Stopping)
    }

    async fn begin(&self, id: SessionId, session: &Session) -> Result<(), Fault> {
        // A session is text and numbers, which always become JSON.
        let text = serde_json::to_string(session).unwrap_or_default();
        let all = format!("user-sessions:{}", session.user_id);
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("SET").arg(id.key()).arg(text).arg("EX").arg(self.idle).ignore();
        pipe.cmd("SADD").arg(&all).arg(id.to_string()).ignore();
        pipe.cmd("EXPIRE").arg(&all).arg(self.age).ignore();
        self.link.ask_all(&pipe).await
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Redis gives no answer: whether it is over is not known.
    pub async fn sign_out(&self, id: SessionId, session: &Session) -> Result<(), Refusal> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("DEL").arg(id.key()).arg(id.events_key()).ignore();
        pipe.cmd("SREM").arg(format!("user-sessions:{}", session.user_id)).arg(id.to_string()).ignore();
        let ended: Result<(), Fault> = self.link.ask_all(&pipe).await;
        ended.map_err(|fault| Refusal::Session(fault.to_string()))
    }
}
