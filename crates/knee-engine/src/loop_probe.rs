//! How late a worker notices what is ready: a timer that it sets for itself every few milliseconds.
//!
//! A response that arrives is noticed by the same loop, so it is read just as late. Whatever keeps the
//! loop from turning shows here: no CPU, a quota, a stop, too much to do. Does not judge; see
//! `knee_core::validity`.

use std::cell::{Cell, RefCell};

use knee_core::generator::{LoopLag, PAUSE};
use knee_core::unit::Nanos;

use crate::timer::Timer;

/// How often it is tried: 200 tries a second give a run of a second a p90, for 0.1 % of a CPU.
const PACE: Nanos = Nanos::from_millis(5);

/// The tries of one worker.
#[derive(Debug, Default)]
pub struct LoopProbe {
    seen: RefCell<LoopLag>,
    /// When the next try is due.
    next: Cell<Nanos>,
}

impl LoopProbe {
    /// Tries for ever.
    pub async fn watch<T: Timer>(&self, timer: T) {
        loop {
            let next = timer.now().saturating_add(PACE);
            self.next.set(next);
            timer.sleep_until(next).await;
            let late = timer.now().since(self.next.get());
            self.seen.borrow_mut().note(late);
        }
    }

    /// What was seen up to `now`, and nothing of it again. A pause that has not been noticed yet belongs to it.
    pub fn take(&self, now: Nanos) -> LoopLag {
        let mut seen = self.seen.borrow_mut();
        let late = now.since(self.next.get());
        if late >= PAUSE {
            seen.note(late);
            self.next.set(now);
        }
        let taken = seen.clone();
        seen.clear();
        taken
    }
}
