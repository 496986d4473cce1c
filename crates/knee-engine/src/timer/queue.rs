//! Who waits for which point in time: a queue of sleepers, without a clock of its own.
//!
//! Does not know what time it is; its owner calls [`SleeperQueue::wake_due`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use knee_core::unit::Nanos;

/// Sleepers by wake-up time; those with equal times wake in the order in which they came.
#[derive(Debug, Default)]
pub struct SleeperQueue {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sleepers: BTreeMap<(Nanos, u64), Waker>,
    next_id: u64,
}

/// One sleeper's place in the queue, freed when dropped.
#[derive(Debug)]
pub struct Sleeper<'q> {
    queue: &'q SleeperQueue,
    at: Nanos,
    id: Option<u64>,
}

impl SleeperQueue {
    /// A place for somebody who wants to wake at `at`; not yet in the queue.
    pub fn sleeper(&self, at: Nanos) -> Sleeper<'_> {
        Sleeper { queue: self, at, id: None }
    }

    /// Wakes everyone whose time is `now` or earlier.
    pub fn wake_due(&self, now: Nanos) {
        loop {
            let mut inner = self.inner.borrow_mut();
            let Some(first) = inner.sleepers.first_entry().filter(|first| first.key().0 <= now) else {
                return;
            };
            let waker = first.remove();
            drop(inner); // a waker may run code that sleeps again
            waker.wake();
        }
    }

    /// The earliest wake-up time in the queue.
    pub fn earliest(&self) -> Option<Nanos> {
        self.inner.borrow().sleepers.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Sleeper<'_> {
    /// Ready once `now` has reached the sleeper's time; otherwise in the queue. Says whether
    /// this sleeper became the earliest, so that the owner can set its alarm.
    pub fn poll(&mut self, now: Nanos, ctx: &mut Context<'_>) -> (Poll<()>, bool) {
        if now >= self.at {
            return (Poll::Ready(()), false);
        }
        let mut inner = self.queue.inner.borrow_mut();
        let id = *self.id.get_or_insert_with(|| {
            inner.next_id += 1;
            inner.next_id
        });
        inner.sleepers.insert((self.at, id), ctx.waker().clone());
        let earliest = inner.sleepers.first_key_value().is_some_and(|(key, _)| *key == (self.at, id));
        (Poll::Pending, earliest)
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.queue.inner.borrow_mut().sleepers.remove(&(self.at, id));
        }
    }
}
