//! The users of a scenario on all workers together: an arrival that finds every user of its own worker busy goes to a
//! worker with a free one.
//!
//! Knows numbers of free users and due times. Does not record, wait for a time, or decide what becomes of an arrival
//! for which no worker has a user.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use knee_core::unit::Nanos;

/// One scenario's users, by worker.
#[derive(Debug)]
pub struct Pool {
    workers: Vec<WorkerShare>,
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
    /// A pool in which no user is free yet.
    pub fn new(workers: usize) -> Self {
        Self { workers: (0..workers).map(|_| WorkerShare::default()).collect() }
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

    fn received(pool: &Pool, worker: usize) -> Option<Nanos> {
        match pool.poll_received(worker, &Context::from_waker(Waker::noop())) {
            Poll::Ready(due) => Some(due),
            Poll::Pending => None,
        }
    }

    #[test]
    fn an_arrival_goes_to_the_worker_that_has_a_free_user() {
        let pool = Pool::new(3);
        pool.release(2);
        assert!(pool.pass_on(0, DUE));
        assert_eq!((received(&pool, 1), received(&pool, 2)), (None, Some(DUE)));
        assert!(!pool.pass_on(0, DUE), "its only free user is reserved");
    }

    #[test]
    fn a_free_user_serves_one_arrival_of_its_own_worker_or_of_another() {
        let pool = Pool::new(2);
        pool.release(1);
        assert!(pool.reserve(1));
        assert!(!pool.pass_on(0, DUE) && !pool.reserve(1));
    }

    #[test]
    fn a_worker_that_has_closed_takes_nothing_and_gives_back_what_it_has_not_started() {
        let pool = Pool::new(2);
        pool.release(1);
        pool.release(1);
        assert!(pool.pass_on(0, DUE));
        assert_eq!(pool.close(1), [DUE]);
        assert!(!pool.pass_on(0, DUE));
        pool.release(1);
        assert!(!pool.pass_on(0, DUE));
    }

    #[test]
    fn two_workers_never_reserve_the_same_user() {
        let pool = Pool::new(3);
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
