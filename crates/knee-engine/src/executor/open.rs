//! The open model: arrivals follow the plan, whether or not earlier ones were answered.
//!
//! Users pull arrivals from a schedule that is pure arithmetic. An arrival that finds every user
//! busy simply stays in the schedule and keeps its due time, so a backlog of a million costs no
//! memory, nothing is ever skipped, and nothing is re-anchored after a stall.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use knee_core::plan::Overflow;
use knee_core::unit::Nanos;

use super::{Gate, Iteration, User};
use crate::timer::Timer;

/// Hands the arrivals of one worker to its users.
pub struct Dispatch<S: Iterator<Item = Nanos>> {
    /// The arrivals not yet handed out; the first is peeked at.
    schedule: RefCell<std::iter::Peekable<S>>,
    /// Users without work, longest idle first, so that load spreads over all connections.
    idle: RefCell<VecDeque<usize>>,
    slots: RefCell<Vec<UserSlot>>,
    /// The pacer, when it waits for a user to become idle.
    pacer: Cell<Option<Waker>>,
    /// Arrivals handed out or given up.
    taken: Cell<u64>,
    /// A second walk through the same arrivals, which counts those that came due.
    came_due: RefCell<CameDue<S>>,
    gate: Gate,
    rules: Rules,
}

/// What an arrival has to expect.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How long it may wait for a user; longer and it is given up. No limit if `None`.
    pub patience: Option<Nanos>,
    /// What becomes of it if every user is busy.
    pub overflow: Overflow,
    /// When its iteration must be over.
    pub cut: Nanos,
}

#[derive(Default)]
struct UserSlot {
    waker: Option<Waker>,
    /// What the pacer handed to an idle user. `None` while there is nothing.
    iteration: Option<Iteration>,
}

/// Counts the arrivals of a schedule up to a moment that only moves on.
struct CameDue<S: Iterator<Item = Nanos>> {
    schedule: std::iter::Peekable<S>,
    count: u64,
}

impl<S: Iterator<Item = Nanos>> CameDue<S> {
    fn by(&mut self, now: Nanos) -> u64 {
        while self.schedule.next_if(|due| *due <= now).is_some() {
            self.count += 1;
        }
        self.count
    }
}

impl<S: Iterator<Item = Nanos> + Clone> Dispatch<S> {
    /// Hands out `schedule` to `users` users while `gate` is open.
    pub fn new(schedule: S, users: usize, gate: Gate, rules: Rules) -> Rc<Self> {
        Rc::new(Self {
            came_due: RefCell::new(CameDue { schedule: schedule.clone().peekable(), count: 0 }),
            taken: Cell::new(0),
            schedule: RefCell::new(schedule.peekable()),
            idle: RefCell::new(VecDeque::with_capacity(users)),
            slots: RefCell::new((0..users).map(|_| UserSlot::default()).collect()),
            pacer: Cell::new(None),
            gate,
            rules,
        })
    }
}

impl<S: Iterator<Item = Nanos>> Dispatch<S> {
    /// The next arrival's due time; `None` when there is none before the gate closes.
    fn peek(&self) -> Option<Nanos> {
        self.schedule.borrow_mut().peek().copied().filter(|due| *due < self.gate.closes())
    }

    fn take(&self) -> Option<Nanos> {
        let due = self.peek()?;
        self.schedule.borrow_mut().next();
        self.taken.set(self.taken.get() + 1);
        Some(due)
    }

    const fn iteration(&self, due: Nanos, earliest: Nanos) -> Iteration {
        Iteration { due, earliest, cut: self.rules.cut }
    }

    /// A iteration for the user at `slot`, who has been free since `free`; `None` when no more will come.
    fn poll_iteration(
        &self,
        slot: usize,
        free: Nanos,
        now: Nanos,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Iteration>> {
        let mut slots = self.slots.borrow_mut();
        let place = &mut slots[slot];
        if let Some(iteration) = place.iteration.take() {
            place.waker = None;
            return Poll::Ready(Some(iteration));
        }
        let Some(due) = self.peek() else {
            // If a user took the last arrival itself, the pacer waits for somebody to become idle
            // and does not know that it has nothing left to hand out.
            if let Some(pacer) = self.pacer.take() {
                pacer.wake();
            }
            return Poll::Ready(None);
        };
        if place.waker.is_some() {
            // Idle already: the pacer will come. The waker is that of the same task for ever.
            return Poll::Pending;
        }
        if due <= now {
            self.take();
            return Poll::Ready(Some(self.iteration(due, due.max(free))));
        }
        place.waker = Some(ctx.waker().clone());
        self.idle.borrow_mut().push_back(slot);
        if let Some(pacer) = self.pacer.take() {
            pacer.wake();
        }
        Poll::Pending
    }

    /// Hands every arrival that is due to a user that is idle.
    fn hand_out(&self, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        while !idle.is_empty() && self.peek().is_some_and(|due| due <= now) {
            let (Some(slot), Some(due)) = (idle.pop_front(), self.take()) else { return };
            slots[slot].iteration = Some(self.iteration(due, due));
            if let Some(waker) = &slots[slot].waker {
                waker.wake_by_ref();
            }
        }
    }

    /// Waits until a user is idle, which means that no arrival is overdue.
    async fn any_user_idle(&self) {
        poll_fn(|ctx| {
            if self.idle.borrow().is_empty() && self.peek().is_some() {
                self.pacer.set(Some(ctx.waker().clone()));
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Sends every idle user home. To be called when the gate has closed early.
    pub fn dismiss(&self) {
        self.idle.borrow_mut().clear();
        for slot in self.slots.borrow_mut().iter() {
            if let Some(waker) = &slot.waker {
                waker.wake_by_ref();
            }
        }
        if let Some(pacer) = self.pacer.take() {
            pacer.wake();
        }
    }

    /// How many arrivals are due at `now` and wait for a user.
    pub fn backlog(&self, now: Nanos) -> u64 {
        let due = self.came_due.borrow_mut().by(now.min(self.gate.closes()));
        due.saturating_sub(self.taken.get())
    }

    /// Whether arrivals are left.
    pub fn has_more(&self) -> bool {
        self.peek().is_some()
    }

    /// Takes the arrivals that are due by `now` and that no user took up, those just handed to a
    /// user included, and calls `give_up` with each. To be called when the run is over.
    pub fn give_up_rest(&self, now: Nanos, mut give_up: impl FnMut(Nanos)) {
        for slot in self.slots.borrow_mut().iter_mut() {
            if let Some(iteration) = slot.iteration.take() {
                give_up(iteration.due);
            }
        }
        while self.peek().is_some_and(|due| due <= now) {
            if let Some(due) = self.take() {
                give_up(due);
            }
        }
    }
}

/// Hands arrivals to idle users when they are due, until there are none left. Where the rules
/// say that an arrival does not wait, `give_up` is told of each that found every user busy.
pub async fn pace<T: Timer, S: Iterator<Item = Nanos>>(
    timer: T,
    dispatch: Rc<Dispatch<S>>,
    mut give_up: impl FnMut(Nanos, Nanos),
) {
    let drops = dispatch.rules.overflow == Overflow::Drop;
    while let Some(due) = dispatch.peek() {
        if !drops {
            dispatch.any_user_idle().await;
        }
        timer.sleep_until(due).await;
        let now = timer.now();
        dispatch.hand_out(now);
        while drops && dispatch.peek().is_some_and(|due| due <= now) {
            dispatch.take().into_iter().for_each(|due| give_up(due, now));
        }
    }
    // Users that idle beyond the last arrival have nothing to wait for.
    dispatch.dismiss();
}

/// Lets `user` act on every arrival it can get.
pub async fn run_user<T: Timer, U: User, S: Iterator<Item = Nanos>>(
    timer: T,
    mut user: U,
    slot: usize,
    dispatch: Rc<Dispatch<S>>,
) {
    let mut free = Nanos::ZERO;
    loop {
        let iteration = poll_fn(|ctx| dispatch.poll_iteration(slot, free, timer.now(), ctx)).await;
        let Some(iteration) = iteration else { return };
        let limit =
            dispatch.rules.patience.map_or(Nanos::MAX, |patience| iteration.due.saturating_add(patience));
        if iteration.earliest > limit {
            user.give_up(iteration.due, limit);
        } else {
            free = user.iterate(iteration).await;
        }
    }
}
