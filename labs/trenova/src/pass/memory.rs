//! Sessions in the memory of this process, each for a bounded time.
//!
//! A session that another process ended is taken from here until then; one that this process ended is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use tokio::time::Instant;

use crate::session::{Session, SessionId};

/// Most sessions in memory; about 1 KB each.
const MOST: usize = 100_000;

/// When and after which end of a session a reading began.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    at: Instant,
    epoch: u64,
}

#[derive(Clone)]
struct Kept {
    session: Arc<Session>,
    read_at: Instant,
}

/// Sessions that were read a short time ago.
pub struct Memory {
    kept: Cache<SessionId, Kept>,
    most_age: Duration,
    /// Counts sessions that this process ended.
    epoch: AtomicU64,
}

impl Memory {
    /// Keeps sessions for so long; none if that is no time at all.
    pub fn new(most_age: Duration) -> Option<Self> {
        (!most_age.is_zero()).then(|| Self { kept: Cache::new(MOST), most_age, epoch: AtomicU64::new(0) })
    }

    /// Before a session is looked for.
    pub fn begin(&self, now: Instant) -> Begun {
        Begun { at: now, epoch: self.epoch.load(Ordering::Acquire) }
    }

    /// A session that was read within the time before now.
    pub fn recall(&self, id: SessionId, now: Begun) -> Option<Arc<Session>> {
        let kept = self.kept.get(&id)?;
        (now.at.duration_since(kept.read_at) < self.most_age).then_some(kept.session)
    }

    /// Keeps a session that was read, unless one was ended meanwhile: it may be this one.
    pub fn keep(&self, begun: Begun, id: SessionId, session: &Arc<Session>) {
        self.kept.insert(id, Kept { session: Arc::clone(session), read_at: begun.at });
        // Looked at after it is in: whoever ends it later finds it there.
        if self.epoch.load(Ordering::Acquire) != begun.epoch {
            self.kept.remove(&id);
        }
    }

    /// Remembers that it was used, without making it younger.
    pub fn touch(&self, id: SessionId, session: Arc<Session>) {
        if let Some(kept) = self.kept.get(&id) {
            // Not put back if it was forgotten meanwhile.
            let _ = self.kept.replace(id, Kept { session, ..kept }, true);
        }
    }

    /// Forgets a session, also where it is being read.
    pub fn forget(&self, id: SessionId) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.kept.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_recalled_for_its_time_and_using_it_makes_it_no_younger() {
        let memory = Memory::new(Duration::from_millis(100)).unwrap();
        let (id, session) = (SessionId::new(), Arc::new(Session::made_up("127.0.0.1", 0)));
        let now = Instant::now();
        let after = |millis| memory.begin(now + Duration::from_millis(millis));
        memory.keep(after(0), id, &session);
        memory.touch(id, Arc::new(session.used(7)));
        assert_eq!(memory.recall(id, after(99)).unwrap().last_accessed_at, 7);
        assert!(memory.recall(id, after(100)).is_none());
        memory.keep(after(0), id, &session);
        memory.forget(id);
        memory.touch(id, session);
        assert!(memory.recall(id, after(0)).is_none(), "what was forgotten does not come back");
    }

    #[test]
    fn a_session_that_was_read_before_it_was_ended_is_not_kept() {
        let memory = Memory::new(Duration::from_millis(100)).unwrap();
        let (id, session) = (SessionId::new(), Arc::new(Session::made_up("127.0.0.1", 0)));
        let begun = memory.begin(Instant::now());
        memory.forget(id);
        memory.keep(begun, id, &session);
        assert!(memory.recall(id, begun).is_none());
        let begun = memory.begin(Instant::now());
        memory.keep(begun, id, &session);
        assert!(memory.recall(id, begun).is_some(), "one that was read afterwards is");
    }
}
