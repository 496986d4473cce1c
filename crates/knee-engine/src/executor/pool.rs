//! The users of a scenario on all workers together: an arrival that finds every user of its own worker busy goes to a
//! worker with a free one, and if none has one, another user can be made.
//!
//! Knows numbers of free users and due times. Does not make users, record, wait for a time, or decide what becomes of
//! an arrival for which no worker has a user.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use knee_core::unit::Nanos;

/// One scenario's users, by worker.
#[derive(Debug)]
pub struct Pool {
    workers: Vec<WorkerShare>,
    demand: Demand,
}

/// Users that can still be made, one at a time.
#[derive(Debug)]
struct Demand {
    left: AtomicU32,
    /// Whether one is being made.
    making: AtomicBool,
    /// Whether it has been noted that none is left.
    noted: AtomicBool,
    /// Virtual users of the whole run so far; the next one's number.
    made: Arc<AtomicU32>,
}

/// What an arrival without a user leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The virtual user with this number is to be made, and then reported by [`Pool::made`].
    Make(u32),
    /// For the first time no more can be made.
    Exhausted,
    /// Nothing.
    Nothing,
}

#[derive(Debug, Default)]
struct WorkerShare {
    /// Users that are free and not reserved for an arrival.
    free: AtomicU32,
    inbox: Mutex<Inbox>,
}

/// Arrivals that other workers passed on, each with a user reserved for it.
#[derive(Debug, Default)]
struct Inbox {
    due: VecDeque<Nanos>,
    receiver: Option<Waker>,
    closed: bool,
}

impl Pool {
    /// A pool in which no user is free yet, and for which `more` can be made. `made` counts the virtual users of all
    /// scenarios.
    pub fn new(workers: usize, more: u32, made: Arc<AtomicU32>) -> Self {
        let demand =
            Demand { left: more.into(), making: AtomicBool::default(), noted: AtomicBool::default(), made };
        Self { workers: (0..workers).map(|_| WorkerShare::default()).collect(), demand }
    }

    /// Asks for one more user, because an arrival found none. Only one is made at a time, as in k6.
    pub fn ask(&self) -> Asked {
        let Demand { left, making, noted, made } = &self.demand;
        if left.load(Ordering::Acquire) == 0 {
            return if noted.swap(true, Ordering::AcqRel) { Asked::Nothing } else { Asked::Exhausted };
        }
        if making.swap(true, Ordering::AcqRel) {
            return Asked::Nothing;
        }
        let less = |left: u32| left.checked_sub(1);
        if left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_err() {
            // Another worker took the last one in between.
            making.store(false, Ordering::Release);
            return Asked::Nothing;
        }
        Asked::Make(made.fetch_add(1, Ordering::AcqRel))
    }

    /// The user that was asked for is made.
    pub fn made(&self) {
        self.demand.making.store(false, Ordering::Release);
    }

    /// Notes that a user of `worker` is free.
    pub fn release(&self, worker: usize) {
        self.workers[worker].free.fetch_add(1, Ordering::Release);
    }

    /// Reserves a free user of `worker`, if it has one.
    pub fn reserve(&self, worker: usize) -> bool {
        let less = |free: u32| free.checked_sub(1);
        self.workers[worker].free.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    /// Passes an arrival from `worker` on to another that has a free user; `false` if none has.
    pub fn pass_on(&self, worker: usize, due: Nanos) -> bool {
        let count = self.workers.len();
        (1..count)
            .map(|step| (worker + step) % count)
            .any(|other| self.reserve(other) && self.put(other, due))
    }

    fn put(&self, worker: usize, due: Nanos) -> bool {
        let mut inbox = self.inbox(worker);
        if inbox.closed {
            return false;
        }
        inbox.due.push_back(due);
        if let Some(receiver) = inbox.receiver.take() {
            receiver.wake();
        }
        true
    }

    /// The next arrival that was passed on to `worker`.
    pub fn poll_received(&self, worker: usize, ctx: &Context<'_>) -> Poll<Nanos> {
        let mut inbox = self.inbox(worker);
        if let Some(due) = inbox.due.pop_front() {
            return Poll::Ready(due);
        }
        inbox.receiver = Some(ctx.waker().clone());
        Poll::Pending
    }

    /// From now on `worker` takes no more arrivals; returns those that it has not started.
    pub fn close(&self, worker: usize) -> VecDeque<Nanos> {
        self.workers[worker].free.store(0, Ordering::Release);
        let mut inbox = self.inbox(worker);
        inbox.closed = true;
        std::mem::take(&mut inbox.due)
    }

    fn inbox(&self, worker: usize) -> MutexGuard<'_, Inbox> {
        // Every change of it is a single step.
        self.workers[worker].inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Nanos = Nanos::from_millis(7);

    fn pool(workers: usize, more: u32) -> Pool {
        Pool::new(workers, more, Arc::new(AtomicU32::new(5)))
    }

    fn received(pool: &Pool, worker: usize) -> Option<Nanos> {
        match pool.poll_received(worker, &Context::from_waker(Waker::noop())) {
            Poll::Ready(due) => Some(due),
            Poll::Pending => None,
        }
    }

    #[test]
    fn an_arrival_goes_to_the_worker_that_has_a_free_user() {
        let pool = pool(3, 0);
        pool.release(2);
        assert!(pool.pass_on(0, DUE));
        assert_eq!((received(&pool, 1), received(&pool, 2)), (None, Some(DUE)));
        assert!(!pool.pass_on(0, DUE), "its only free user is reserved");
    }

    #[test]
    fn a_free_user_serves_one_arrival_of_its_own_worker_or_of_another() {
        let pool = pool(2, 0);
        pool.release(1);
        assert!(pool.reserve(1));
        assert!(!pool.pass_on(0, DUE) && !pool.reserve(1));
    }

    #[test]
    fn a_worker_that_has_closed_takes_nothing_and_gives_back_what_it_has_not_started() {
        let pool = pool(2, 0);
        pool.release(1);
        pool.release(1);
        assert!(pool.pass_on(0, DUE));
        assert_eq!(pool.close(1), [DUE]);
        assert!(!pool.pass_on(0, DUE));
        pool.release(1);
        assert!(!pool.pass_on(0, DUE));
    }

    #[test]
    fn users_are_made_one_at_a_time_until_none_is_left() {
        let pool = pool(2, 2);
        assert_eq!(pool.ask(), Asked::Make(5));
        assert_eq!(pool.ask(), Asked::Nothing, "one is being made");
        pool.made();
        assert_eq!(pool.ask(), Asked::Make(6));
        assert_eq!((pool.ask(), pool.ask()), (Asked::Exhausted, Asked::Nothing), "it is noted once");
    }

    #[test]
    fn two_workers_never_reserve_the_same_user() {
        let pool = pool(3, 0);
        (0..1_000).for_each(|_| pool.release(2));
        let passed = |from: usize| (0..1_000).filter(|_| pool.pass_on(from, DUE)).count();
        let (one, other) = std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(|| passed(0)), scope.spawn(|| passed(1)));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert_eq!(one + other, 1_000);
        assert_eq!(pool.close(2).len(), 1_000);
    }
}
