//! A queue of sleepers by wake-up time.
//!
//! Does not read a clock; its owner calls [`SleeperQueue::wake_due`] with the time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use knee_core::unit::Nanos;

/// Sleepers by wake-up time; those with equal times wake in order of arrival.
#[derive(Debug, Default)]
pub struct SleeperQueue {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sleepers: BTreeMap<(Nanos, u64), Waker>,
    next_id: u64,
}

/// One sleeper; dropping it removes it from the queue.
#[derive(Debug)]
pub struct Sleeper<'q> {
    queue: &'q SleeperQueue,
    at: Nanos,
    id: Option<u64>,
}

impl SleeperQueue {
    /// A sleeper until `at`; not yet in the queue.
    pub fn sleeper(&self, at: Nanos) -> Sleeper<'_> {
        Sleeper { queue: self, at, id: None }
    }

    /// Wakes all sleepers whose time is `now` or earlier.
    pub fn wake_due(&self, now: Nanos) {
        loop {
            let mut inner = self.inner.borrow_mut();
            let Some(first) = inner.sleepers.first_entry().filter(|first| first.key().0 <= now) else {
                return;
            };
            let waker = first.remove();
            drop(inner); // a waker can run code that sleeps again
            waker.wake();
        }
    }

    /// The earliest wake-up time in the queue.
    pub fn earliest(&self) -> Option<Nanos> {
        self.inner.borrow().sleepers.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Sleeper<'_> {
    /// Ready once `now` has reached the sleeper's time; otherwise puts it in the queue. Also returns
    /// whether this sleeper became the earliest, so that the owner can set its alarm.
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
