//! A number of requests shared by all users of a run.
//!
//! Hands out whole numbers exactly: never one more or less than asked for, whoever comes and
//! goes. The one thing that workers share while they send, and only in plans that end by number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is left to be sent. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Option<Arc<AtomicU64>>,
}

impl Budget {
    /// What `left` holds, or no limit.
    pub const fn new(left: Option<Arc<AtomicU64>>) -> Self {
        Self { left }
    }

    /// Takes one; `false` when none is left.
    #[inline]
    pub fn take(&self) -> bool {
        let Some(left) = &self.left else { return true };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_number_asked_for_is_handed_out() {
        let budget = Budget::new(Some(Arc::new(AtomicU64::new(1_234))));
        let others = budget.clone();
        let taken = (0..5_000)
            .filter(|iteration| if iteration % 3 == 0 { others.take() } else { budget.take() })
            .count();
        assert_eq!(taken, 1_234);
        assert!(Budget::new(None).take());
    }
}
