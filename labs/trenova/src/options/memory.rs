//! Answers in memory, each for a bounded time after the moment that its reading began.
//!
//! What this process changes is seen by it at once; what others change, when the time is over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::Ask;
use crate::session::Tenant;

/// Most answers in memory; about 1 KB each.
const MOST: usize = 50_000;

/// When and after which change a reading began.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    at: Instant,
    epoch: u64,
}

/// Answers that were read a short time ago.
pub struct Memory {
    kept: Cache<Ask, (Bytes, Instant)>,
    most_age: Duration,
    /// Counts changes.
    epoch: AtomicU64,
}

impl Memory {
    /// Keeps answers for so long; none if that is no time at all.
    pub fn new(most_age: Duration) -> Option<Self> {
        (!most_age.is_zero()).then(|| Self { kept: Cache::new(MOST), most_age, epoch: AtomicU64::new(0) })
    }

    /// An answer that is not older than the time allows now.
    pub fn recall(&self, ask: &Ask, now: Instant) -> Option<Bytes> {
        let (text, at) = self.kept.get(ask)?;
        (now.duration_since(at) < self.most_age).then_some(text)
    }

    /// Before something is read.
    pub fn begin(&self, now: Instant) -> Begun {
        Begun { at: now, epoch: self.epoch.load(Ordering::Acquire) }
    }

    /// Keeps what was read, unless something changed meanwhile.
    pub fn keep(&self, begun: Begun, ask: &Ask, text: &Bytes) {
        self.kept.insert(ask.clone(), (text.clone(), begun.at));
        // Looked at after it is in: whoever changes something later finds it there.
        if self.epoch.load(Ordering::Acquire) != begun.epoch {
            self.kept.remove(ask);
        }
    }

    /// Forgets a tenant's answers, those that are being read included.
    pub fn forget(&self, tenant: &Tenant) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.kept.retain(|ask, _| ask.tenant != *tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(organization: &str) -> Ask {
        Ask::read(Tenant { organization: organization.into(), business_unit: "bu".into() }, "").unwrap()
    }

    #[test]
    fn an_answer_is_as_old_as_its_reading_and_a_change_ends_it() {
        let memory = Memory::new(Duration::from_millis(100)).unwrap();
        let text = Bytes::from_static(b"[]");
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        memory.keep(memory.begin(now), &ask("a"), &text);
        memory.keep(memory.begin(after(60)), &ask("b"), &text);
        assert!(memory.recall(&ask("a"), after(99)).is_some());
        assert!(memory.recall(&ask("a"), after(100)).is_none(), "it was read 100 ms ago");
        assert!(memory.recall(&ask("b"), after(100)).is_some());
        let begun = memory.begin(after(100));
        memory.forget(&ask("b").tenant);
        assert!(memory.recall(&ask("b"), after(100)).is_none());
        memory.keep(begun, &ask("b"), &text);
        assert!(memory.recall(&ask("b"), after(100)).is_none(), "it was read before the change");
    }
}
