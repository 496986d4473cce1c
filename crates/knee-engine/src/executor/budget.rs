//! A number of requests shared by all users of a run.
//!
//! Exact: users together get as many requests as planned, never one more or less. This counter is
//! the only state that workers share while they send, and only in plans with a number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests left to send. Clones share the number.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Option<Arc<AtomicU64>>,
}

impl Budget {
    /// A budget of `left` requests; `None` for no limit.
    pub const fn new(left: Option<Arc<AtomicU64>>) -> Self {
        Self { left }
    }

    /// Takes one request; `false` when none is left.
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
    fn users_together_get_exactly_the_planned_number() {
        let budget = Budget::new(Some(Arc::new(AtomicU64::new(1_234))));
        let others = budget.clone();
        let taken = (0..5_000)
            .filter(|iteration| if iteration % 3 == 0 { others.take() } else { budget.take() })
            .count();
        assert_eq!(taken, 1_234);
        assert!(Budget::new(None).take());
    }
}
