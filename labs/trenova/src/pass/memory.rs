//! Sessions in the memory of this process, each for a bounded time.
//!
//! A session that another process ended is taken from here until then; one that this process ended is not.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::sync::Cache;
use tokio::time::Instant;

use crate::session::{Session, SessionId};

/// Most sessions in memory; about 1 KB each.
const MOST: usize = 100_000;

#[derive(Clone)]
struct Kept {
    session: Arc<Session>,
    read_at: Instant,
}

/// Sessions that were read a short time ago.
pub struct Memory {
    kept: Cache<SessionId, Kept>,
    most_age: Duration,
}

impl Memory {
    /// Keeps sessions for so long; none if that is no time at all.
    pub fn new(most_age: Duration) -> Option<Self> {
        (!most_age.is_zero()).then(|| Self { kept: Cache::new(MOST), most_age })
    }

    /// A session that was read within the time before now.
    pub fn recall(&self, id: SessionId, now: Instant) -> Option<Arc<Session>> {
        let kept = self.kept.get(&id)?;
        (now.duration_since(kept.read_at) < self.most_age).then_some(kept.session)
    }

    /// Keeps a session that is not older than the moment given.
    pub fn keep(&self, id: SessionId, session: &Arc<Session>, read_at: Instant) {
        self.kept.insert(id, Kept { session: Arc::clone(session), read_at });
    }

    /// Remembers that it was used, without making it younger.
    pub fn touch(&self, id: SessionId, session: Arc<Session>) {
        if let Some(kept) = self.kept.get(&id) {
            // Not put back if it was forgotten meanwhile.
            let _ = self.kept.replace(id, Kept { session, ..kept }, true);
        }
    }

    /// Forgets a session.
    pub fn forget(&self, id: SessionId) {
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
        let after = |millis| now + Duration::from_millis(millis);
        memory.keep(id, &session, now);
        memory.touch(id, Arc::new(session.used(7)));
        assert_eq!(memory.recall(id, after(99)).unwrap().last_accessed_at, 7);
        assert!(memory.recall(id, after(100)).is_none());
        memory.keep(id, &session, now);
        memory.forget(id);
        memory.touch(id, session);
        assert!(memory.recall(id, now).is_none(), "what was forgotten does not come back");
    }
}
