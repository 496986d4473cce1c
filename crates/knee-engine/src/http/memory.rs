//! The memory budget of responses: bytes that all connections of a run can hold together.
//!
//! Counts bytes; does not allocate them and does not choose what happens without them. A small part of what each
//! connection holds is free of the count, so that ordinary responses touch nothing that workers share.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of an incomplete head that are free of the count. Ordinary heads are smaller.
pub const HEAD_FREE: u64 = 16 << 10;
/// Bytes of an incomplete body's decoder that are free of the count: enough for gzip and deflate, whose window is
/// 32 KiB.
pub const BODY_FREE: u64 = 64 << 10;
/// Budget of a run unless settings say otherwise, in bytes.
const DEFAULT_LIMIT: u64 = 128 << 20;

/// The bytes that the connections of a run hold together. Clones count together.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    counts: Arc<BudgetCounts>,
}

#[derive(Debug)]
struct BudgetCounts {
    limit: u64,
    used: AtomicU64,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes, none of them used.
    pub fn new(limit: u64) -> Self {
        Self { counts: Arc::new(BudgetCounts { limit, used: AtomicU64::new(0) }) }
    }

    /// Bytes in use, without those that are free of the count.
    pub fn used(&self) -> u64 {
        self.counts.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes`; `false`, and nothing is taken, if fewer are left.
    fn take(&self, bytes: u64) -> bool {
        let limit = self.counts.limit;
        let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        // Counts only: no other memory is read because of this value.
        self.counts.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.counts.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one connection holds of a budget. Gives it back when it is dropped.
#[derive(Debug)]
pub struct MemoryShare {
    budget: Rc<MemoryBudget>,
    /// Bytes that are free of the count.
    free: u64,
    /// Bytes taken from the budget.
    taken: u64,
}

impl MemoryShare {
    /// An empty share whose first `free` bytes do not count.
    pub fn new(budget: Rc<MemoryBudget>, free: u64) -> Self {
        Self { budget, free, taken: 0 }
    }

    /// An empty share of the same budget, with as many bytes free of the count.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.budget.clone(), self.free)
    }

    /// Changes what is held to `bytes` in all; `false`, and nothing changes, if the budget has too few left.
    #[must_use]
    pub fn hold(&mut self, bytes: u64) -> bool {
        let wanted = bytes.saturating_sub(self.free);
        if wanted > self.taken && !self.budget.take(wanted - self.taken) {
            return false;
        }
        if wanted < self.taken {
            self.budget.give_back(self.taken - wanted);
        }
        self.taken = wanted;
        true
    }

    /// Gives everything back.
    pub fn release(&mut self) {
        if self.taken > 0 {
            self.budget.give_back(self.taken);
            self.taken = 0;
        }
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_hold_no_more_than_their_budget_together() {
        let budget = Rc::new(MemoryBudget::new(100));
        let [mut one, mut other] = [0; 2].map(|free| MemoryShare::new(budget.clone(), free));
        assert!(one.hold(60));
        assert!(!other.hold(41), "only 40 are left");
        assert_eq!(budget.used(), 60, "a refusal takes nothing");
        assert!(other.hold(40));
        assert!(!one.hold(61));
        assert!(one.hold(10) && other.hold(90));
        assert_eq!(budget.used(), 100);
    }

    #[test]
    fn what_is_free_of_the_count_is_never_refused() {
        let budget = Rc::new(MemoryBudget::new(0));
        let mut share = MemoryShare::new(budget.clone(), 10);
        assert!(share.hold(10));
        assert!(!share.hold(11));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_share_that_ends_gives_everything_back() {
        let budget = Rc::new(MemoryBudget::new(100));
        let mut share = MemoryShare::new(budget.clone(), 10);
        assert!(share.hold(110));
        assert_eq!(budget.clone().used(), 100);
        drop(share);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn no_amount_overflows_the_count() {
        let budget = Rc::new(MemoryBudget::new(u64::MAX));
        let [mut one, mut other] = [0; 2].map(|free| MemoryShare::new(budget.clone(), free));
        assert!(one.hold(u64::MAX) && !other.hold(1));
    }
}
