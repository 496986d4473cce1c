//! Cached responses, each for a bounded time after its read began.
//!
//! Changes by this process are visible at once, changes by others when the entry expires.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::PageRequest;
use crate::session::Tenant;

/// Most cached responses; about 1 KB each.
const MAX_ENTRIES: usize = 50_000;

/// When a read began, and how many changes there had been by then.
#[derive(Debug, Clone, Copy)]
pub struct ReadStart {
    at: Instant,
    epoch: u64,
}

/// Responses that were read recently.
pub struct ResponseCache {
    entries: Cache<PageRequest, (Bytes, Instant)>,
    max_age: Duration,
    /// Number of changes.
    epoch: AtomicU64,
}

impl ResponseCache {
    /// A cache with this maximum age; `None` if the age is zero.
    pub fn new(max_age: Duration) -> Option<Self> {
        (!max_age.is_zero()).then(|| Self {
            entries: Cache::new(MAX_ENTRIES),
            max_age,
            epoch: AtomicU64::new(0),
        })
    }

    /// The cached response, if it is not older than the maximum age.
    pub fn get(&self, request: &PageRequest, now: Instant) -> Option<Bytes> {
        let (text, at) = self.entries.get(request)?;
        (now.duration_since(at) < self.max_age).then_some(text)
    }

    /// Marks the start of a read.
    pub fn begin_read(&self, now: Instant) -> ReadStart {
        ReadStart { at: now, epoch: self.epoch.load(Ordering::Acquire) }
    }

    /// Caches a response, unless something changed since the read began.
    pub fn insert(&self, started: ReadStart, request: &PageRequest, text: &Bytes) {
        self.entries.insert(request.clone(), (text.clone(), started.at));
        // Checked after the insert: a change that comes later finds and removes the entry.
        if self.epoch.load(Ordering::Acquire) != started.epoch {
            self.entries.remove(request);
        }
    }

    /// Removes a tenant's responses; reads in progress do not cache theirs.
    pub fn forget(&self, tenant: &Tenant) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.entries.retain(|request, _| request.tenant != *tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(organization: &str) -> PageRequest {
        PageRequest::read(Tenant { organization: organization.into(), business_unit: "bu".into() }, "")
            .unwrap()
    }

    #[test]
    fn a_response_expires_with_its_age_or_a_change() {
        let cache = ResponseCache::new(Duration::from_millis(100)).unwrap();
        let text = Bytes::from_static(b"[]");
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        cache.insert(cache.begin_read(now), &request("a"), &text);
        cache.insert(cache.begin_read(after(60)), &request("b"), &text);
        assert!(cache.get(&request("a"), after(99)).is_some());
        assert!(cache.get(&request("a"), after(100)).is_none(), "it was read 100 ms ago");
        assert!(cache.get(&request("b"), after(100)).is_some());
        let started = cache.begin_read(after(100));
        cache.forget(&request("b").tenant);
        assert!(cache.get(&request("b"), after(100)).is_none());
        cache.insert(started, &request("b"), &text);
        assert!(cache.get(&request("b"), after(100)).is_none(), "it was read before the change");
    }
}
