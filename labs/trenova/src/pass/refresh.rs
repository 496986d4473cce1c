//! Sliding a session on: it ends so long after its last request, which has to be written down somewhere.
//!
//! Never brings a session back that was ended meanwhile, nor takes back what others wrote into it: Redis changes its times
//! where it still is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Script, cmd};

use crate::config::ServeArgs;
use crate::config::switch::{SessionEvents, SessionRefresh};
use crate::link::{Fault, Link};
use crate::session::{Session, SessionId};

/// How often what was put off is written.
const ROUND: Duration = Duration::from_millis(500);
/// Events that a capped set has.
const EVENTS: u32 = 16;
/// Most sessions of one script call: Redis serves nobody else meanwhile.
const MOST: usize = 256;

/// A session, and when it was used.
type Used = (SessionId, i64);
type PutOff = Arc<Mutex<HashMap<SessionId, i64>>>;

/// Writes down that sessions are used.
pub struct Refresher {
    writer: Arc<Writer>,
    refresh: SessionRefresh,
    put_off: PutOff,
}

/// The commands of a refresh.
struct Writer {
    link: Arc<Link>,
    slide: Script,
    event: Script,
    events: SessionEvents,
    idle: u32,
}

/// Reads a session, and its events if there are any.
///
/// # Errors
/// Redis gives no answer.
pub async fn read(link: &Link, id: SessionId, events: SessionEvents) -> Result<Option<String>, Fault> {
    let text: Option<String> = link.ask(cmd("GET").arg(id.key())).await?;
    if events != SessionEvents::Off {
        let _: Vec<String> = link.ask(cmd("SMEMBERS").arg(id.events_key())).await?;
    }
    Ok(text)
}

impl Refresher {
    /// Starts the task that writes what was put off.
    pub fn start(link: Arc<Link>, args: &ServeArgs) -> Self {
        let writer = Arc::new(Writer {
            link,
            slide: Script::new(include_str!("refresh.lua")),
            event: Script::new(include_str!("event.lua")),
            events: args.switches.session_events,
            idle: args.session_idle,
        });
        let put_off = PutOff::default();
        if args.switches.session_refresh == SessionRefresh::Deferred {
            let (writer, put_off) = (Arc::clone(&writer), Arc::downgrade(&put_off));
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(ROUND).await;
                    let Some(put_off) = put_off.upgrade() else { return };
                    writer.write_all(&put_off).await;
                }
            });
        }
        Self { writer, refresh: args.switches.session_refresh, put_off }
    }

    /// Puts off that a session is slid on, if that is how it is done or nothing is; says how it is then, if that is not as it was.
    #[allow(clippy::option_option, reason = "whether it is put off, and what comes of it")]
    pub fn put_off(&self, id: SessionId, session: &Session, now: i64) -> Option<Option<Arc<Session>>> {
        match self.refresh {
            SessionRefresh::Write | SessionRefresh::Full => None,
            SessionRefresh::Off => Some(None),
            // Times are whole seconds: more would change nothing.
            SessionRefresh::Deferred if session.last_accessed_at >= now => Some(None),
            SessionRefresh::Deferred => {
                self.put_off.lock().insert(id, now);
                Some(Some(Arc::new(session.used(now))))
            }
        }
    }

    /// Slides a session on.
    ///
    /// # Errors
    /// Redis gives no answer.
    pub async fn refresh(&self, id: SessionId, now: i64) -> Result<(), Fault> {
        if self.refresh == SessionRefresh::Full {
            let text = read(&self.writer.link, id, self.writer.events).await?;
            if text.as_deref().and_then(super::joint::parse).is_none() {
                return Ok(());
            }
        }
        self.writer.write(&[(id, now)]).await
    }

    /// Does not write a session that was ended.
    pub fn forget(&self, id: SessionId) {
        self.put_off.lock().remove(&id);
    }

    /// Writes what was put off.
    pub async fn flush(&self) {
        self.writer.write_all(&self.put_off).await;
    }
}

impl Writer {
    /// Slides sessions on, and puts it on record for those that still are.
    async fn write(&self, used: &[Used]) -> Result<(), Fault> {
        let slid = self.slide(used).await?;
        for ((id, at), _) in used.iter().zip(slid).filter(|(_, slid)| *slid) {
            self.add_event(*id, *at).await?;
        }
        Ok(())
    }

    /// Whether each was slid on.
    async fn slide(&self, used: &[Used]) -> Result<Vec<bool>, Fault> {
        let mut call = self.slide.prepare_invoke();
        call.arg(self.idle);
        for (id, at) in used {
            call.key(id.key()).arg(at);
        }
        self.link.call(&call).await
    }

    async fn add_event(&self, id: SessionId, at: i64) -> Result<(), Fault> {
        let event = || format!("{{\"type\":\"accessed\",\"id\":\"{}\",\"at\":{at}}}", uuid::Uuid::new_v4());
        match self.events {
            SessionEvents::Off => Ok(()),
            SessionEvents::Growing => self.link.ask(cmd("SADD").arg(id.events_key()).arg(event())).await,
            SessionEvents::Capped => {
                let mut call = self.event.key(id.events_key());
                let _: i64 = self.link.call(call.arg(event()).arg(EVENTS).arg(self.idle)).await?;
                Ok(())
            }
        }
    }

    /// What fails is lost: the next request of the session puts it off again.
    async fn write_all(&self, put_off: &PutOff) {
        let used: Vec<Used> = std::mem::take(&mut *put_off.lock()).into_iter().collect();
        for some in used.chunks(MOST) {
            if let Err(fault) = self.write(some).await {
                tracing::warn!(sessions = used.len(), reason = %fault, "not all sessions were slid on");
                return;
            }
        }
    }
}
