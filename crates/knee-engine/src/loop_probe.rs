//! How late a worker notices what is ready: a timer that it sets for itself every few milliseconds.
//!
//! A response that arrives is noticed by the same loop, so it is read just as late. Whatever keeps the
//! loop from turning shows here: no CPU, a quota, a stop, too much to do. Does not judge; see
//! `knee_core::validity`.

use std::cell::{Cell, RefCell};

use knee_core::generator::{LoopLag, PAUSE};
use knee_core::unit::Nanos;

use crate::timer::Timer;

/// How often it is tried: 200 tries a second give a run of a second a p90.
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
        // Before the first try there is nothing that could be late.
        if late >= PAUSE && self.next.get() > Nanos::ZERO {
            seen.note(late);
            self.next.set(now);
        }
        let taken = seen.clone();
        seen.clear();
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::{Context, Waker};

    use super::*;

    /// A timer that is late by what it is told, and then never rings again.
    #[derive(Clone, Default)]
    struct Late {
        now: Rc<Cell<Nanos>>,
        by: Rc<RefCell<VecDeque<Nanos>>>,
    }

    impl Timer for Late {
        fn now(&self) -> Nanos {
            self.now.get()
        }

        async fn sleep_until(&self, at: Nanos) {
            let late = self.by.borrow_mut().pop_front();
            match late {
                Some(late) => self.now.set(at.saturating_add(late)),
                None => std::future::pending().await,
            }
        }
    }

    /// What is seen of tries that are late by so many microseconds, `after` which nothing rings for a while.
    fn seen(late: &[u64], after: Nanos) -> (LoopLag, LoopLag) {
        let probe = LoopProbe::default();
        let timer = Late::default();
        timer.by.borrow_mut().extend(late.iter().map(|us| Nanos::from_micros(*us)));
        let mut watch = pin!(probe.watch(timer.clone()));
        let _ = watch.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let now = timer.now().saturating_add(after);
        (probe.take(now), probe.take(now))
    }

    #[test]
    fn a_pause_is_seen_with_its_length() {
        let (lag, again) = seen(&[0, 30, 500_000, 40], PACE);
        assert_eq!((lag.lateness.count(), lag.paused), (4, Nanos::from_millis(500)));
        assert_eq!((again.lateness.count(), again.paused), (0, Nanos::ZERO), "it is told once");
    }

    #[test]
    fn a_pause_that_still_lasts_at_the_end_of_an_interval_belongs_to_it() {
        let (lag, again) = seen(&[20], Nanos::from_millis(305));
        assert_eq!((lag.lateness.count(), lag.paused), (2, Nanos::from_millis(300)));
        assert_eq!(again.lateness.count(), 0);
    }

    #[test]
    fn lateness_without_a_pause_is_no_pause() {
        let (lag, _) = seen(&[0, 50_000, 99_000], PACE);
        assert_eq!((lag.lateness.count(), lag.paused), (3, Nanos::ZERO));
    }
}
