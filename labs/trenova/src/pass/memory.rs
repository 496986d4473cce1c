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

    /// A session that was read within the time.
    pub fn recall(&self, id: SessionId) -> Option<Arc<Session>> {
        let kept = self.kept.get(&id)?;
        (kept.read_at.elapsed() < self.most_age).then_some(kept.session)
    }

    /// Keeps a session that was just read.
    pub fn keep(&self, id: SessionId, session: &Arc<Session>) {
        self.kept.insert(id, Kept { session: Arc::clone(session), read_at: Instant::now() });
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

    #[tokio::test(start_paused = true)]
    async fn a_session_is_recalled_for_its_time_and_using_it_makes_it_no_younger() {
        let memory = Memory::new(Duration::from_millis(100)).unwrap();
        let (id, session) = (SessionId::new(), Arc::new(Session::made_up("127.0.0.1")));
        memory.keep(id, &session);
        tokio::time::advance(Duration::from_millis(99)).await;
        memory.touch(id, Arc::new(session.used(7)));
        assert_eq!(memory.recall(id).unwrap().last_accessed_at, 7);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(memory.recall(id).is_none());
        memory.keep(id, &session);
        memory.forget(id);
        memory.touch(id, session);
        assert!(memory.recall(id).is_none(), "what was forgotten does not come back");
    }
}
