//! Who may pass: each request's session and its place in the rate limit, both in Redis.
//!
//! Does not make sessions; [`crate::account`] does. What a failing Redis means is a switch of its own for both.

use std::sync::Arc;

use tokio::time::Instant;

use crate::config::ServeArgs;
use crate::config::switch::{Failure, RedisCall, Switches};
use crate::group::Group;
use crate::link::{Fault, Link};
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::session::{self, Session, SessionId, Tenant};

mod joint;
mod limit;
mod memory;
mod refresh;

pub use limit::Counted;

use joint::{Entry, Joint, Seen};
use limit::Limiter;
use memory::Memory;
use refresh::Refresher;

/// Most requests of one script call: Redis serves nobody else meanwhile.
const MOST: usize = 1024;

/// Who asks, for what.
#[derive(Debug, Clone)]
pub struct Caller {
    /// What the cookie says.
    pub session: Option<SessionId>,
    /// From which address.
    pub ip: Arc<str>,
    /// Method and route, as limits are counted.
    pub route: &'static str,
}

/// A request that may go on.
#[derive(Debug, Clone)]
pub struct Passed {
    /// Of whom.
    pub session: Arc<Session>,
    /// Its place in the window; none if it was not counted.
    pub counted: Option<Counted>,
}

impl Passed {
    /// Whose data the request may change.
    ///
    /// # Errors
    /// The session was made up: what it changed would be nobody's.
    pub fn writer(&self) -> Result<Tenant, Refusal> {
        if self.session.id.is_empty() {
            return Err(Refusal::Session("a session that was made up changes nothing".to_owned()));
        }
        Ok(self.session.tenant())
    }
}

/// The way in.
pub struct Pass {
    link: Arc<Link>,
    joint: Arc<Joint>,
    group: Option<Group<Entry, Result<Seen, Fault>>>,
    limiter: Limiter,
    refresher: Refresher,
    memory: Option<Memory>,
    switches: Switches,
    session_idle: u32,
    metrics: Metrics,
}

impl Pass {
    /// Starts what works beside requests.
    pub fn start(link: Arc<Link>, args: &ServeArgs, metrics: Metrics) -> Self {
        let switches = args.switches.clone();
        let joint = Arc::new(Joint::new(Arc::clone(&link), &switches, metrics.clone()));
        let group = (switches.redis_call == RedisCall::Batch).then(|| {
            let joint = Arc::clone(&joint);
            Group::start(MOST, move |entries| {
                let joint = Arc::clone(&joint);
                async move { joint.look(entries).await }
            })
        });
        Self {
            joint,
            group,
            limiter: Limiter::new(Arc::clone(&link), &switches),
            refresher: Refresher::start(Arc::clone(&link), args),
            memory: Memory::new(switches.session_cache()),
            session_idle: args.session_idle,
            link,
            switches,
            metrics,
        }
    }

    /// Finds the session of a request, slides it on, and counts the request.
    ///
    /// What waits for Redis on its own is in a box: a request that waits with others is not as large as all the ways there are,
    /// and is moved around several times before it begins.
    ///
    /// # Errors
    /// Nobody has signed in, somebody is blocked or over the limit, Redis fails and that closes the way.
    pub async fn pass(&self, caller: &Caller) -> Result<Passed, Refusal> {
        let id = caller.session.ok_or(Refusal::SignIn("there is no session cookie"))?;
        let now = session::now();
        let memory = self.memory.as_ref().map(|memory| (memory, memory.begin(Instant::now())));
        let known = memory.and_then(|(memory, begun)| memory.recall(id, begun));
        if known.is_some() {
            self.metrics.session_hits.inc();
        }
        let is_known = known.is_some();
        let (found, counting) = match self.switches.redis_call {
            RedisCall::Each => (Box::pin(self.read(id, known)).await, None),
            RedisCall::Script | RedisCall::Batch => self.look(id, caller, known).await,
        };
        let session = self.or_made_up(found, &caller.ip, now)?;
        session.check(now, &caller.ip, self.session_idle)?;
        if let (Some((memory, begun)), false) = (memory, is_known || session.id.is_empty()) {
            memory.keep(begun, id, &session);
        }
        if !session.id.is_empty() {
            match self.refresher.put_off(id, &session, now) {
                Some(used) => self.used(id, used),
                None => Box::pin(self.refresh(id, now)).await?,
            }
        }
        let counting = match counting {
            Some(counting) => counting,
            None => Box::pin(self.limiter.count(caller, &session.user_id)).await,
        };
        Ok(Passed { session, counted: self.settle(counting)? })
    }

    /// Counts a request of somebody who has yet to sign in.
    ///
    /// # Errors
    /// The address is blocked or over the limit, Redis fails and that closes the way.
    pub async fn admit(&self, caller: &Caller) -> Result<Option<Counted>, Refusal> {
        self.settle(self.limiter.count(caller, "-").await)
    }

    /// Forgets what is in memory of a session that was ended.
    pub fn forget(&self, id: SessionId) {
        if let Some(memory) = &self.memory {
            memory.forget(id);
        }
        self.refresher.forget(id);
    }

    /// Whether Redis answers, or nobody minds if it does not.
    ///
    /// # Errors
    /// It does not, and requests would be refused.
    pub async fn ping(&self) -> Result<(), Refusal> {
        let answer: Result<(), Fault> = self.link.ask(&redis::cmd("PING")).await;
        let is_needed = self.switches.session_failure == Failure::Closed
            || (self.switches.rate_limit.0.is_some() && self.switches.rate_limit_failure == Failure::Closed);
        match answer {
            Err(fault) if is_needed => Err(Refusal::Session(fault.to_string())),
            _ => Ok(()),
        }
    }

    /// Writes what was put off.
    pub async fn finish(&self) {
        self.refresher.flush().await;
    }

    /// The session by commands of its own.
    async fn read(&self, id: SessionId, known: Option<Arc<Session>>) -> Result<Option<Arc<Session>>, Fault> {
        if known.is_some() {
            return Ok(known);
        }
        let text = refresh::read(&self.link, id, self.switches.session_events).await?;
        Ok(text.as_deref().and_then(joint::parse))
    }

    /// Session and count by one script call, alone or with others.
    async fn look(
        &self,
        id: SessionId,
        caller: &Caller,
        known: Option<Arc<Session>>,
    ) -> (Result<Option<Arc<Session>>, Fault>, Option<Result<Seen, Fault>>) {
        if known.is_some() && self.switches.rate_limit.0.is_none() {
            return (Ok(known), Some(Ok(Seen::default())));
        }
        let user = known.as_ref().map(|session| Arc::clone(&session.user_id));
        let entry = Entry { session: id, user, ip: Arc::clone(&caller.ip), route: caller.route };
        let seen = if let Some(group) = &self.group {
            group.join(entry).await
        } else {
            Box::pin(self.joint.look(vec![entry])).await.pop()
        };
        let seen = seen.unwrap_or_else(|| Err(joint::stopping()));
        let found = match (known, &seen) {
            (Some(known), _) => Ok(Some(known)),
            (None, Ok(seen)) => Ok(seen.session.clone()),
            (None, Err(fault)) => Err(fault.clone()),
        };
        (found, Some(seen))
    }

    fn or_made_up(
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
                Ok(Arc::new(Session::made_up(ip, now)))
            }
            Err(fault) => Err(Refusal::Session(fault.to_string())),
        }
    }

    /// Remembers when a session was used, for requests that take it from memory.
    fn used(&self, id: SessionId, used: Option<Arc<Session>>) {
        if let (Some(memory), Some(used)) = (&self.memory, used) {
            memory.touch(id, used);
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

    /// What a place in the window means.
    fn settle(&self, counting: Result<Seen, Fault>) -> Result<Option<Counted>, Refusal> {
        let seen = match counting {
            Ok(seen) => seen,
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
        if seen.is_blocked {
            return Err(Refusal::Blocked);
        }
        match seen.counted {
            Some(counted) if counted.is_over() => Err(counted.refusal()),
            counted => Ok(counted),
        }
    }
}
