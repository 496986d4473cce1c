//! Time limits of requests, at almost no cost for requests that finish in time.
//!
//! Each user has one slot in a list that a task of the worker checks at a fixed pace. Setting a limit only writes to
//! memory; there is no timer per request. A limit is noticed up to one pace late, but the request it ends is recorded
//! as ended at the limit. A limit without work is a timer: see [`LimitTimer`].

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, Waker};

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;

use crate::timer::Timer;

/// The time limits of one worker's users.
#[derive(Debug, Default)]
pub struct Deadlines {
    slots: RefCell<Vec<Rc<DeadlineSlot>>>,
}

#[derive(Debug, Default)]
struct DeadlineSlot {
    at: Cell<Nanos>,
    passed: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The time limit of one user.
#[derive(Clone, Debug)]
pub struct Deadline {
    slot: Rc<DeadlineSlot>,
}

/// The time limit passed before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl Deadlines {
    /// Adds a slot for one more user.
    pub fn add_user(&self) -> Deadline {
        let slot = Rc::new(DeadlineSlot { at: Cell::new(Nanos::MAX), ..DeadlineSlot::default() });
        self.slots.borrow_mut().push(slot.clone());
        Deadline { slot }
    }

    /// Checks all slots every `pace`; never returns.
    pub async fn watch<T: Timer>(&self, timer: T, pace: Nanos) {
        let mut next = timer.now();
        loop {
            // After a stall, missed checks are skipped: one check finds all limits that passed.
            next = next.max(timer.now()).saturating_add(pace);
            timer.sleep_until(next).await;
            let now = timer.now();
            // The slots of users that are gone.
            self.slots.borrow_mut().retain(|slot| Rc::strong_count(slot) > 1);
            for slot in self.slots.borrow().iter().filter(|slot| slot.at.get() <= now) {
                slot.at.set(Nanos::MAX);
                slot.passed.set(true);
                if let Some(waker) = slot.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
    }
}

impl Deadline {
    /// Runs `work` until `at` at the latest; `Nanos::MAX` is no limit. Takes `work` pinned: by value
    /// it would take its memory twice in the caller's future, for every connection.
    pub async fn limit<F: Future>(&self, at: Nanos, mut work: Pin<&mut F>) -> Result<F::Output, Elapsed> {
        if at == Nanos::MAX {
            return Ok(work.await);
        }
        self.slot.passed.set(false);
        self.slot.at.set(at);
        let mut registered = false;
        let result = poll_fn(|ctx| {
            if let Poll::Ready(output) = work.as_mut().poll(ctx) {
                return Poll::Ready(Ok(output));
            }
            if self.slot.passed.get() {
                return Poll::Ready(Err(Elapsed));
            }
            // The waker of a spawned task stays the same; storing it once per call is enough.
            if !registered {
                registered = true;
                let mut waker = self.slot.waker.borrow_mut();
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(ctx.waker())) {
                    *waker = Some(ctx.waker().clone());
                }
            }
            Poll::Pending
        })
        .await;
        self.slot.at.set(Nanos::MAX);
        result
    }
}

/// A timer that is as precise as time limits are. For waits that are rare.
#[derive(Clone, Debug)]
pub struct LimitTimer {
    clock: MonotonicClock,
    deadlines: Rc<Deadlines>,
    /// Limits that are not in use.
    spare: Rc<RefCell<Vec<Deadline>>>,
}

impl LimitTimer {
    /// A timer on `clock` whose waits `deadlines` ends.
    pub fn new(clock: MonotonicClock, deadlines: Rc<Deadlines>) -> Self {
        Self { clock, deadlines, spare: Rc::default() }
    }
}

impl Timer for LimitTimer {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    async fn sleep_until(&self, at: Nanos) {
        let spare = self.spare.borrow_mut().pop();
        let deadline = spare.unwrap_or_else(|| self.deadlines.add_user());
        let sleep = BorrowedDeadline { deadline, spare: &self.spare };
        let _ = sleep.deadline.limit(at, pin!(std::future::pending::<()>())).await;
    }
}

/// A spare limit in use; becomes spare again when this is dropped.
struct BorrowedDeadline<'a> {
    deadline: Deadline,
    spare: &'a RefCell<Vec<Deadline>>,
}

impl Drop for BorrowedDeadline<'_> {
    fn drop(&mut self) {
        self.spare.borrow_mut().push(self.deadline.clone());
    }
}
