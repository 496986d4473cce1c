//! Session refresh: a session expires a fixed time after its last use, so each use must be written to Redis.
//!
//! Never revives a session that was ended meanwhile, and never overwrites changes by others: a script in Redis changes
//! only the times, and only if the session still exists.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Script, cmd};

use crate::config::ServeArgs;
use crate::config::switch::{SessionEvents, SessionRefresh};
use crate::redis_client::{Fault, RedisClient};
use crate::session::{Session, SessionId};

/// Interval between writes of deferred uses.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// Most events in a capped set.
const MAX_EVENTS: u32 = 16;
/// Most sessions per script call: Redis is blocked while a script runs.
const MAX_BATCH: usize = 256;

/// A session and its time of last use.
type Used = (SessionId, i64);
type DeferredUses = Arc<Mutex<HashMap<SessionId, i64>>>;

/// Records the use of sessions.
pub struct Refresher {
    writer: Arc<Writer>,
    refresh: SessionRefresh,
    deferred: DeferredUses,
}

/// Sends the commands of a refresh.
struct Writer {
    redis: Arc<RedisClient>,
    slide: Script,
    event: Script,
    events: SessionEvents,
    idle: u32,
}

/// Reads a session, and its events unless the switch turns them off.
///
/// # Errors
/// Redis does not respond.
pub async fn read(
    redis: &RedisClient,
    id: SessionId,
    events: SessionEvents,
) -> Result<Option<String>, Fault> {
    let text: Option<String> = redis.send(cmd("GET").arg(id.key())).await?;
    if events != SessionEvents::Off {
        let _: Vec<String> = redis.send(cmd("SMEMBERS").arg(id.events_key())).await?;
    }
    Ok(text)
}

impl Refresher {
    /// Starts the task that writes deferred uses.
    pub fn start(redis: Arc<RedisClient>, args: &ServeArgs) -> Self {
        let writer = Arc::new(Writer {
            redis,
            slide: Script::new(include_str!("refresh.lua")),
            event: Script::new(include_str!("event.lua")),
            events: args.switches.session_events,
            idle: args.session_idle,
        });
        let deferred = DeferredUses::default();
        if args.switches.session_refresh == SessionRefresh::Deferred {
            let (writer, deferred) = (Arc::clone(&writer), Arc::downgrade(&deferred));
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(FLUSH_INTERVAL).await;
                    let Some(deferred) = deferred.upgrade() else { return };
                    writer.write_all(&deferred).await;
                }
            });
        }
        Self { writer, refresh: args.switches.session_refresh, deferred }
    }

    /// Defers the refresh if the switch defers or skips it. The inner value is the session with its new time of use, if
    /// it changed.
    #[allow(clippy::option_option, reason = "whether it is put off, and what comes of it")]
    pub fn defer(&self, id: SessionId, session: &Session, now: i64) -> Option<Option<Arc<Session>>> {
        match self.refresh {
            SessionRefresh::Write | SessionRefresh::Full => None,
            SessionRefresh::Off => Some(None),
            // Times are whole seconds: a second write within one changes nothing.
            SessionRefresh::Deferred if session.last_accessed_at >= now => Some(None),
            SessionRefresh::Deferred => {
                self.deferred.lock().insert(id, now);
                Some(Some(Arc::new(session.used(now))))
            }
        }
    }

    /// Extends a session.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn refresh(&self, id: SessionId, now: i64) -> Result<(), Fault> {
        if self.refresh == SessionRefresh::Full {
            let text = read(&self.writer.redis, id, self.writer.events).await?;
            if text.as_deref().and_then(super::combined::parse).is_none() {
                return Ok(());
            }
        }
        self.writer.write(&[(id, now)]).await
    }

    /// Discards the deferred use of a session that was ended.
    pub fn forget(&self, id: SessionId) {
        self.deferred.lock().remove(&id);
    }

    /// Writes deferred session updates.
    pub async fn flush(&self) {
        self.writer.write_all(&self.deferred).await;
    }
}

impl Writer {
    /// Extends sessions, and adds an event to those that still exist.
    async fn write(&self, used: &[Used]) -> Result<(), Fault> {
        let slid = self.slide(used).await?;
        for ((id, at), _) in used.iter().zip(slid).filter(|(_, slid)| *slid) {
            self.add_event(*id, *at).await?;
        }
        Ok(())
    }

    /// Extends sessions; returns for each whether it still existed.
    async fn slide(&self, used: &[Used]) -> Result<Vec<bool>, Fault> {
        let mut call = self.slide.prepare_invoke();
        call.arg(self.idle);
        for (id, at) in used {
            call.key(id.key()).arg(at);
        }
        self.redis.run_script(&call).await
    }

    async fn add_event(&self, id: SessionId, at: i64) -> Result<(), Fault> {
        let event = || format!("{{\"type\":\"accessed\",\"id\":\"{}\",\"at\":{at}}}", uuid::Uuid::new_v4());
        match self.events {
            SessionEvents::Off => Ok(()),
            SessionEvents::Growing => self.redis.send(cmd("SADD").arg(id.events_key()).arg(event())).await,
            SessionEvents::Capped => {
                let mut call = self.event.key(id.events_key());
                let _: i64 = self.redis.run_script(call.arg(event()).arg(MAX_EVENTS).arg(self.idle)).await?;
                Ok(())
            }
        }
    }

    /// A failed write is dropped: the session's next request defers it again.
    async fn write_all(&self, deferred: &DeferredUses) {
        let used: Vec<Used> = std::mem::take(&mut *deferred.lock()).into_iter().collect();
        for some in used.chunks(MAX_BATCH) {
            if let Err(fault) = self.write(some).await {
                tracing::warn!(sessions = used.len(), reason = %fault, "not all sessions were slid on");
                return;
            }
        }
    }
}
