//! Admission of requests: checks the session and counts the request against the rate limit, both in Redis.
//!
//! Does not create sessions; [`crate::account`] does. Separate switches decide what a Redis failure means for each check.

use std::sync::Arc;

use tokio::time::Instant;

use crate::batcher::Batcher;
use crate::config::ServeArgs;
use crate::config::switch::{Failure, RedisCall, Switches};
use crate::metric::Metrics;
use crate::redis_client::{Fault, RedisClient};
use crate::refusal::Refusal;
use crate::session::{self, Session, SessionId, Tenant};

mod cache;
mod combined;
mod limit;
mod refresh;

pub use limit::WindowCount;

use cache::SessionCache;
use combined::{CheckRequest, CheckResult, CombinedCheck};
use limit::Limiter;
use refresh::Refresher;

/// Most requests per script call: Redis is blocked while a script runs.
const MAX_BATCH: usize = 1024;

/// What sessions and limits are keyed by: the cookie, the address and the route of a request.
#[derive(Debug, Clone)]
pub struct RequestIdentity {
    /// Session id from the cookie.
    pub session: Option<SessionId>,
    /// Client address.
    pub ip: Arc<str>,
    /// Method and route, the unit of the rate limit.
    pub route: &'static str,
}

/// An admitted request.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Its session.
    pub session: Arc<Session>,
    /// Its count in the rate-limit window; `None` if it was not counted.
    pub window: Option<WindowCount>,
}

impl Admitted {
    /// Tenant whose data the request may change.
    ///
    /// # Errors
    /// The session is a placeholder, which belongs to no tenant.
    pub fn writer(&self) -> Result<Tenant, Refusal> {
        if self.session.id.is_empty() {
            return Err(Refusal::Session("a session that was made up changes nothing".to_owned()));
        }
        Ok(self.session.tenant())
    }
}

/// Session check and rate limit of all requests.
pub struct Admission {
    redis: Arc<RedisClient>,
    combined: Arc<CombinedCheck>,
    batcher: Option<Batcher<CheckRequest, Result<CheckResult, Fault>>>,
    limiter: Limiter,
    refresher: Refresher,
    cache: Option<SessionCache>,
    switches: Switches,
    session_idle: u32,
    metrics: Metrics,
}

impl Admission {
    /// Starts the background tasks.
    pub fn start(redis: Arc<RedisClient>, args: &ServeArgs, metrics: Metrics) -> Self {
        let switches = args.switches.clone();
        let combined = Arc::new(CombinedCheck::new(Arc::clone(&redis), &switches, metrics.clone()));
        let batcher = (switches.redis_call == RedisCall::Batch).then(|| {
            let combined = Arc::clone(&combined);
            Batcher::start(MAX_BATCH, move |entries| {
                let combined = Arc::clone(&combined);
                async move { combined.check(entries).await }
            })
        });
        Self {
            combined,
            batcher,
            limiter: Limiter::new(Arc::clone(&redis), &switches),
            refresher: Refresher::start(Arc::clone(&redis), args),
            cache: SessionCache::new(switches.session_cache()),
            session_idle: args.session_idle,
            redis,
            switches,
            metrics,
        }
    }

    /// Finds the session of a request, extends it, and counts the request.
    ///
    /// Futures that wait for Redis alone are boxed. Otherwise a batched request would be as large as the largest of them,
    /// and it is moved several times before it runs.
    ///
    /// # Errors
    /// No session, blocked, over the limit, or Redis fails and the switches fail closed.
    pub async fn admit(&self, identity: &RequestIdentity) -> Result<Admitted, Refusal> {
        let id = identity.session.ok_or(Refusal::SignIn("there is no session cookie"))?;
        let now = session::now();
        let cache = self.cache.as_ref().map(|cache| (cache, cache.begin_read(Instant::now())));
        let known = cache.and_then(|(cache, started)| cache.get(id, started));
        if known.is_some() {
            self.metrics.session_hits.inc();
        }
        let is_known = known.is_some();
        let (found, checked) = match self.switches.redis_call {
            RedisCall::Each => (Box::pin(self.read(id, known)).await, None),
            RedisCall::Script | RedisCall::Batch => self.check(id, identity, known).await,
        };
        let session = self.or_placeholder(found, &identity.ip, now)?;
        session.check(now, &identity.ip, self.session_idle)?;
        if let (Some((cache, started)), false) = (cache, is_known || session.id.is_empty()) {
            cache.insert(started, id, &session);
        }
        if !session.id.is_empty() {
            match self.refresher.defer(id, &session, now) {
                Some(used) => self.used(id, used),
                None => Box::pin(self.refresh(id, now)).await?,
            }
        }
        let checked = match checked {
            Some(checked) => checked,
            None => Box::pin(self.limiter.count(identity, &session.user_id)).await,
        };
        Ok(Admitted { session, window: self.apply_limit(checked)? })
    }

    /// Counts a request without a session.
    ///
    /// # Errors
    /// The address is blocked or over the limit, or Redis fails and the switch fails closed.
    pub async fn admit_anonymous(&self, identity: &RequestIdentity) -> Result<Option<WindowCount>, Refusal> {
        self.apply_limit(self.limiter.count(identity, "-").await)
    }

    /// Drops a session that has ended from memory.
    pub fn forget(&self, id: SessionId) {
        if let Some(cache) = &self.cache {
            cache.forget(id);
        }
        self.refresher.forget(id);
    }

    /// Checks that Redis responds, unless the switches fail open.
    ///
    /// # Errors
    /// Redis does not respond, and requests would be refused.
    pub async fn ping(&self) -> Result<(), Refusal> {
        let answer: Result<(), Fault> = self.redis.send(&redis::cmd("PING")).await;
        let is_needed = self.switches.session_failure == Failure::Closed
            || (self.switches.rate_limit.0.is_some() && self.switches.rate_limit_failure == Failure::Closed);
        match answer {
            Err(fault) if is_needed => Err(Refusal::Session(fault.to_string())),
            _ => Ok(()),
        }
    }

    /// Writes deferred session updates.
    pub async fn finish(&self) {
        self.refresher.flush().await;
    }

    /// Reads the session with commands of its own.
    async fn read(&self, id: SessionId, known: Option<Arc<Session>>) -> Result<Option<Arc<Session>>, Fault> {
        if known.is_some() {
            return Ok(known);
        }
        let text = refresh::read(&self.redis, id, self.switches.session_events).await?;
        Ok(text.as_deref().and_then(combined::parse))
    }

    /// Reads the session and counts the request in one script call, alone or in a batch.
    async fn check(
        &self,
        id: SessionId,
        identity: &RequestIdentity,
        known: Option<Arc<Session>>,
    ) -> (Result<Option<Arc<Session>>, Fault>, Option<Result<CheckResult, Fault>>) {
        if known.is_some() && self.switches.rate_limit.0.is_none() {
            return (Ok(known), Some(Ok(CheckResult::default())));
        }
        let user = known.as_ref().map(|session| Arc::clone(&session.user_id));
        let entry = CheckRequest { session: id, user, ip: Arc::clone(&identity.ip), route: identity.route };
        let checked = if let Some(batcher) = &self.batcher {
            batcher.submit(entry).await
        } else {
            Box::pin(self.combined.check(vec![entry])).await.pop()
        };
        let checked = checked.unwrap_or_else(|| Err(combined::stopping()));
        let found = match (known, &checked) {
            (Some(known), _) => Ok(Some(known)),
            (None, Ok(checked)) => Ok(checked.session.clone()),
            (None, Err(fault)) => Err(fault.clone()),
        };
        (found, Some(checked))
    }

    fn or_placeholder(
        &self,
        found: Result<Option<Arc<Session>>, Fault>,
        ip: &str,
        now: i64,
    ) -> Result<Arc<Session>, Refusal> {
        match found {
            Ok(Some(session)) => Ok(session),
            Ok(None) => Err(Refusal::SignIn("there is no such session")),
            Err(fault) if self.switches.session_failure == Failure::Open => {
                tracing::debug!(reason = %fault, "a session was made up");
                self.metrics.sessions_made_up.inc();
                Ok(Arc::new(Session::placeholder(ip, now)))
            }
            Err(fault) => Err(Refusal::Session(fault.to_string())),
        }
    }

    /// Updates the cached session's time of last use.
    fn used(&self, id: SessionId, used: Option<Arc<Session>>) {
        if let (Some(cache), Some(used)) = (&self.cache, used) {
            cache.touch(id, used);
        }
    }

    async fn refresh(&self, id: SessionId, now: i64) -> Result<(), Refusal> {
        match self.refresher.refresh(id, now).await {
            Ok(()) => Ok(()),
            Err(fault) if self.switches.session_failure == Failure::Open => {
                tracing::debug!(reason = %fault, "a session was not slid on");
                Ok(())
            }
            Err(fault) => Err(Refusal::Session(fault.to_string())),
        }
    }

    /// Admits or refuses by the count in the window.
    fn apply_limit(&self, checked: Result<CheckResult, Fault>) -> Result<Option<WindowCount>, Refusal> {
        let checked = match checked {
            Ok(checked) => checked,
            Err(fault)
                if self.switches.rate_limit_failure == Failure::Open
                    || self.switches.rate_limit.0.is_none() =>
            {
                tracing::debug!(reason = %fault, "a request was not counted");
                self.metrics.uncounted.inc();
                return Ok(None);
            }
            Err(fault) => return Err(Refusal::Limiter(fault.to_string())),
        };
        if checked.is_blocked {
            return Err(Refusal::Blocked);
        }
        match checked.window {
            Some(window) if window.is_over() => Err(window.refusal()),
            window => Ok(window),
        }
    }
}
