//! Sessions cached in this process, each for a bounded time.
//!
//! A session ended by another process stays valid here until it expires; one ended by this process does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use tokio::time::Instant;

use crate::session::{Session, SessionId};

/// Most cached sessions; about 1 KB each.
const MAX_ENTRIES: usize = 100_000;

/// When a read began, and how many sessions had been ended by then.
#[derive(Debug, Clone, Copy)]
pub struct ReadStart {
    at: Instant,
    epoch: u64,
}

#[derive(Clone)]
struct CachedSession {
    session: Arc<Session>,
    read_at: Instant,
}

/// Sessions that were read recently.
pub struct SessionCache {
    entries: Cache<SessionId, CachedSession>,
    max_age: Duration,
    /// Number of sessions that this process has ended.
    epoch: AtomicU64,
}

impl SessionCache {
    /// A cache with this maximum age; `None` if the age is zero.
    pub fn new(max_age: Duration) -> Option<Self> {
        (!max_age.is_zero()).then(|| Self {
            entries: Cache::new(MAX_ENTRIES),
            max_age,
            epoch: AtomicU64::new(0),
        })
    }

    /// Marks the start of a read.
    pub fn begin_read(&self, now: Instant) -> ReadStart {
        ReadStart { at: now, epoch: self.epoch.load(Ordering::Acquire) }
    }

    /// The cached session, if it is not older than the maximum age.
    pub fn get(&self, id: SessionId, now: ReadStart) -> Option<Arc<Session>> {
        let cached = self.entries.get(&id)?;
        (now.at.duration_since(cached.read_at) < self.max_age).then_some(cached.session)
    }

    /// Caches a session, unless any session was ended since the read began: it may be this one.
    pub fn insert(&self, started: ReadStart, id: SessionId, session: &Arc<Session>) {
        self.entries.insert(id, CachedSession { session: Arc::clone(session), read_at: started.at });
        // Checked after the insert: an end that comes later finds and removes the entry.
        if self.epoch.load(Ordering::Acquire) != started.epoch {
            self.entries.remove(&id);
        }
    }

    /// Updates the time of last use without extending the entry's life.
    pub fn touch(&self, id: SessionId, session: Arc<Session>) {
        if let Some(cached) = self.entries.get(&id) {
            // Only replaces: an entry removed meanwhile stays removed.
            let _ = self.entries.replace(id, CachedSession { session, ..cached }, true);
        }
    }

    /// Removes a session; reads in progress do not cache it again.
    pub fn forget(&self, id: SessionId) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.entries.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_cached_for_its_time_and_using_it_does_not_extend_that() {
        let cache = SessionCache::new(Duration::from_millis(100)).unwrap();
        let (id, session) = (SessionId::new(), Arc::new(Session::placeholder("127.0.0.1", 0)));
        let now = Instant::now();
        let after = |millis| cache.begin_read(now + Duration::from_millis(millis));
        cache.insert(after(0), id, &session);
        cache.touch(id, Arc::new(session.used(7)));
        assert_eq!(cache.get(id, after(99)).unwrap().last_accessed_at, 7);
        assert!(cache.get(id, after(100)).is_none());
        cache.insert(after(0), id, &session);
        cache.forget(id);
        cache.touch(id, session);
        assert!(cache.get(id, after(0)).is_none(), "what was forgotten does not come back");
    }

    #[test]
    fn a_session_that_was_read_before_it_was_ended_is_not_cached() {
        let cache = SessionCache::new(Duration::from_millis(100)).unwrap();
        let (id, session) = (SessionId::new(), Arc::new(Session::placeholder("127.0.0.1", 0)));
        let started = cache.begin_read(Instant::now());
        cache.forget(id);
        cache.insert(started, id, &session);
        assert!(cache.get(id, started).is_none());
        let started = cache.begin_read(Instant::now());
        cache.insert(started, id, &session);
        assert!(cache.get(id, started).is_some(), "one that was read afterwards is");
    }
}
