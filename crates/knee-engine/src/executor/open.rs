//! The open model: arrivals follow the plan, whether or not earlier requests have a response.
//!
//! Users pull arrivals from a schedule that is pure arithmetic. An arrival that finds every user
//! busy stays in the schedule and keeps its due time. A backlog of a million costs no memory, no
//! arrival is skipped, and a stall does not shift later due times. Where arrivals must not wait, one that finds every
//! user of its worker busy goes to another worker that has a free one.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use knee_core::amendment::Amendment;
use knee_core::plan::Overflow;
use knee_core::unit::Nanos;

use super::pool::{Asked, Pool};
use super::{Gate, Iteration, User};
use crate::steering::Steering;
use crate::timer::Timer;

/// Assigns the arrivals of one worker to its users.
pub struct Dispatch<S: Iterator<Item = Nanos>> {
    /// Arrivals not yet assigned.
    schedule: RefCell<Course<S>>,
    /// Idle users, longest idle first, so that load spreads over all connections.
    idle: RefCell<VecDeque<usize>>,
    slots: RefCell<Vec<UserSlot>>,
    /// Users that are still to begin; the first arrival waits for them.
    expected: Cell<usize>,
    /// The pacer's waker while it waits for a user.
    pacer: Cell<Option<Waker>>,
    /// Arrivals assigned or given up.
    taken: Cell<u64>,
    /// A second iterator over the same arrivals; it counts those that came due.
    came_due: RefCell<CameDue<S>>,
    gate: Gate,
    rules: Rules,
    /// The users of other workers, if arrivals can be passed on to them.
    shared: Option<Shared>,
    /// What can change the rate, if anything can.
    steered: Option<Steered<S>>,
}

/// One worker's arrivals from a change of the rate on, of which it is given the place among all changes.
pub type ArrivalsFrom<S> = Box<dyn Fn(usize, &Amendment) -> S>;

/// What can change the arrivals of one worker while they are assigned.
pub struct Steered<S> {
    /// Who changes the rate.
    pub steering: Steering,
    /// What is assigned then.
    pub arrivals: ArrivalsFrom<S>,
    /// How many changes were taken in.
    seen: Cell<usize>,
}

impl<S> Steered<S> {
    /// Nothing is changed yet.
    pub fn new(steering: Steering, arrivals: ArrivalsFrom<S>) -> Self {
        Self { steering, arrivals, seen: Cell::new(0) }
    }
}

/// Longest time for which a change of the rate can stay unnoticed while no arrival is due.
const STEERED_PACE: Nanos = Nanos::from_millis(50);

/// Arrivals of one schedule after another, each until the next one begins.
struct Course<S: Iterator<Item = Nanos>> {
    current: std::iter::Peekable<S>,
    next: VecDeque<(Nanos, S)>,
}

impl<S: Iterator<Item = Nanos>> Course<S> {
    fn new(schedule: S) -> Self {
        Self { current: schedule.peekable(), next: VecDeque::new() }
    }

    /// From `at` on, the arrivals of `schedule`.
    fn then(&mut self, at: Nanos, schedule: S) {
        self.next.push_back((at, schedule));
    }

    fn peek(&mut self) -> Option<Nanos> {
        loop {
            let due = self.current.peek().copied();
            match self.next.front() {
                Some((at, _)) if due.is_none_or(|due| due >= *at) => {
                    self.current = self.next.pop_front()?.1.peekable();
                }
                _ => return due,
            }
        }
    }

    /// Takes the arrival that was seen last.
    fn pass(&mut self) {
        self.current.next();
    }
}

/// A worker's place in the pool of its scenario.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The users of all workers.
    pub pool: Arc<Pool>,
    /// This worker.
    pub worker: usize,
}

/// What happens to arrivals that must wait.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum wait for a user; after it, the arrival is given up. `None` for no limit.
    pub patience: Option<Nanos>,
    /// What happens if every user is busy.
    pub overflow: Overflow,
    /// When iterations must be over.
    pub cut: Nanos,
}

#[derive(Default)]
struct UserSlot {
    waker: Option<Waker>,
    /// What the pacer assigned to this idle user, if anything.
    iteration: Option<Iteration>,
}

impl UserSlot {
    fn assign(&mut self, iteration: Iteration) {
        self.iteration = Some(iteration);
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

/// Counts the arrivals of a schedule up to a time that never goes back.
struct CameDue<S: Iterator<Item = Nanos>> {
    schedule: Course<S>,
    count: u64,
}

impl<S: Iterator<Item = Nanos>> CameDue<S> {
    fn by(&mut self, now: Nanos) -> u64 {
        while self.schedule.peek().is_some_and(|due| due <= now) {
            self.schedule.pass();
            self.count += 1;
        }
        self.count
    }
}

impl<S: Iterator<Item = Nanos> + Clone> Dispatch<S> {
    /// Assigns the arrivals of `schedule` to `users` users while `gate` is open.
    pub fn new(
        schedule: S,
        users: usize,
        gate: Gate,
        rules: Rules,
        (shared, steered): (Option<Shared>, Option<Steered<S>>),
    ) -> Rc<Self> {
        Rc::new(Self {
            came_due: RefCell::new(CameDue { schedule: Course::new(schedule.clone()), count: 0 }),
            taken: Cell::new(0),
            schedule: RefCell::new(Course::new(schedule)),
            idle: RefCell::new(VecDeque::with_capacity(users)),
            slots: RefCell::new((0..users).map(|_| UserSlot::default()).collect()),
            expected: Cell::new(users),
            pacer: Cell::new(None),
            gate,
            rules,
            shared,
            steered,
        })
    }
}

/// What happens to an arrival that finds no user.
pub trait NoUser {
    /// Records that the arrival due at `due` was dropped at `at`.
    fn give_up(&mut self, due: Nanos, at: Nanos);

    /// Makes the user that is the virtual user with this number.
    fn make(&mut self, vu: u32);

    /// Notes that no more users can be made.
    fn exhausted(&mut self);
}

impl<S: Iterator<Item = Nanos> + Clone> Dispatch<S> {
    /// Adds a user; returns its slot.
    pub fn add_user(&self) -> usize {
        let mut slots = self.slots.borrow_mut();
        slots.push(UserSlot::default());
        self.expected.set(self.expected.get() + 1);
        slots.len() - 1
    }

    /// A user has begun.
    fn join(&self) {
        self.expected.set(self.expected.get().saturating_sub(1));
        self.wake_pacer();
    }

    fn wake_pacer(&self) {
        if let Some(pacer) = self.pacer.take() {
            pacer.wake();
        }
    }

    /// Waits until every user has begun, or no arrival is left.
    async fn all_joined(&self) {
        poll_fn(|ctx| {
            if self.expected.get() > 0 && self.peek().is_some() {
                self.pacer.set(Some(ctx.waker().clone()));
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// What to do about an arrival for which no worker has a user.
    fn ask_for_user(&self) -> Asked {
        self.shared.as_ref().map_or(Asked::Nothing, |shared| shared.pool.ask())
    }

    /// The next arrival's due time; `None` if there is none before the gate closes.
    fn peek(&self) -> Option<Nanos> {
        self.take_changes();
        self.schedule.borrow_mut().peek().filter(|due| *due < self.gate.closes())
    }

    /// Takes in changes of the rate. Each was made before its first arrival is due, and every arrival that is
    /// assigned is looked up here first: so none that was changed is ever assigned.
    fn take_changes(&self) {
        let Some(Steered { steering, arrivals, seen }) = &self.steered else { return };
        if steering.count() == seen.get() {
            return;
        }
        for amendment in steering.since(seen.get()) {
            let schedule = arrivals(seen.get(), &amendment);
            seen.set(seen.get() + 1);
            self.schedule.borrow_mut().then(amendment.at, schedule.clone());
            self.came_due.borrow_mut().schedule.then(amendment.at, schedule);
        }
    }

    /// When to look again for an arrival that is due at `due`: earlier, if the rate can change until then.
    fn look_again(&self, due: Nanos, now: Nanos) -> Nanos {
        if self.steered.is_some() { due.min(now.saturating_add(STEERED_PACE)) } else { due }
    }

    fn take(&self) -> Option<Nanos> {
        let due = self.peek()?;
        self.schedule.borrow_mut().pass();
        self.taken.set(self.taken.get() + 1);
        Some(due)
    }

    const fn iteration(&self, due: Nanos, earliest: Nanos) -> Iteration {
        Iteration { due, earliest, cut: self.rules.cut }
    }

    /// The next iteration of the user at `slot`, free since `free`; `None` when no more will come.
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
        let due = self.peek();
        if due.is_none() && !self.can_receive(now) {
            // If a user took the last arrival itself, the pacer still waits for an idle user and
            // does not know that no arrival is left.
            self.wake_pacer();
            return Poll::Ready(None);
        }
        if place.waker.is_some() {
            // Idle already: the pacer will wake it. The waker is always that of the same task.
            return Poll::Pending;
        }
        if let Some(due) = due.filter(|due| *due <= now) {
            self.take();
            return Poll::Ready(Some(self.iteration(due, due.max(free))));
        }
        place.waker = Some(ctx.waker().clone());
        self.idle.borrow_mut().push_back(slot);
        if let Some(Shared { pool, worker }) = &self.shared {
            pool.release(*worker);
        }
        self.wake_pacer();
        Poll::Pending
    }

    /// Assigns due arrivals to idle users until either runs out.
    fn hand_out(&self, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        while !idle.is_empty() && self.peek().is_some_and(|due| due <= now) && self.reserve() {
            let (Some(slot), Some(due)) = (idle.pop_front(), self.take()) else { return };
            slots[slot].assign(self.iteration(due, due));
        }
    }

    /// Whether arrivals of other workers, or of a rate that is changed, can still come.
    fn can_receive(&self, now: Nanos) -> bool {
        (self.shared.is_some() || self.steered.is_some()) && now < self.gate.closes()
    }

    /// Reserves one of this worker's idle users, of which others can be reserved for arrivals of other workers.
    fn reserve(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.pool.reserve(shared.worker))
    }

    /// Passes an arrival on to a worker with a free user; `false` if there is none.
    fn pass_on(&self, due: Nanos) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.pool.pass_on(shared.worker, due))
    }

    /// Assigns an arrival of another worker to the idle user that was reserved for it; `false` if all have left.
    fn accept(&self, due: Nanos) -> bool {
        let slot = self.idle.borrow_mut().pop_front();
        let slots = &mut *self.slots.borrow_mut();
        slot.map(|slot| slots[slot].assign(self.iteration(due, due))).is_some()
    }

    /// The next arrival's due time. If none is left and the rate can change, waits for a change until the gate closes.
    async fn next_or_change<T: Timer>(&self, timer: &T) -> Option<Nanos> {
        loop {
            let (due, now) = (self.peek(), timer.now());
            if due.is_some() || self.steered.is_none() || now >= self.gate.closes() {
                return due;
            }
            timer.sleep_until(now.saturating_add(STEERED_PACE).min(self.gate.closes())).await;
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

    /// Ends every idle user. To be called when the gate closed early. Arrivals that were due before and were not noticed
    /// yet, because timers are late, still get theirs.
    pub fn dismiss(&self) {
        if self.has_more() {
            return self.wake_pacer();
        }
        self.idle.borrow_mut().clear();
        for slot in self.slots.borrow_mut().iter() {
            if let Some(waker) = &slot.waker {
                waker.wake_by_ref();
            }
        }
        self.wake_pacer();
    }

    /// Number of arrivals due at `now` that wait for a user.
    pub fn backlog(&self, now: Nanos) -> u64 {
        self.take_changes();
        let due = self.came_due.borrow_mut().by(now.min(self.gate.closes()));
        due.saturating_sub(self.taken.get())
    }

    /// Whether arrivals are left.
    pub fn has_more(&self) -> bool {
        self.peek().is_some()
    }

    /// Calls `give_up` for each arrival that is due by `now` and was not started, including those
    /// just assigned to a user. To be called at the end of the run.
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
        if let Some(Shared { pool, worker }) = &self.shared {
            pool.close(*worker).into_iter().for_each(give_up);
        }
    }
}

/// Assigns arrivals to idle users when they are due, until none is left. If arrivals must not wait, each that finds every
/// user busy goes to `no_user`, which can make another.
pub async fn pace<T: Timer, S: Iterator<Item = Nanos> + Clone>(
    timer: T,
    dispatch: Rc<Dispatch<S>>,
    mut no_user: impl NoUser,
) {
    let drops = dispatch.rules.overflow == Overflow::Drop;
    let mut begun = false;
    while let Some(due) = dispatch.next_or_change(&timer).await {
        if !drops {
            dispatch.any_user_idle().await;
        }
        let wake = dispatch.look_again(due, timer.now());
        timer.sleep_until(wake).await;
        if wake < due {
            continue;
        }
        if drops && !std::mem::replace(&mut begun, true) {
            dispatch.all_joined().await;
        }
        let now = timer.now();
        dispatch.hand_out(now);
        while drops && dispatch.peek().is_some_and(|due| due <= now) {
            let Some(due) = dispatch.take().filter(|due| !dispatch.pass_on(*due)) else { continue };
            no_user.give_up(due, now);
            match dispatch.ask_for_user() {
                Asked::Make(vu) => no_user.make(vu),
                Asked::Exhausted => no_user.exhausted(),
                Asked::Nothing => {}
            }
        }
    }
    if dispatch.shared.is_some() {
        timer.sleep_until(dispatch.gate.closes()).await;
    }
    // No arrival is left for users that are still idle.
    dispatch.dismiss();
}

/// Takes arrivals that other workers pass on, for as long as it is polled. Calls `give_up` for one that comes when all
/// users have left.
pub async fn receive<T: Timer, S: Iterator<Item = Nanos> + Clone>(
    timer: T,
    dispatch: Rc<Dispatch<S>>,
    shared: Shared,
    mut give_up: impl FnMut(Nanos, Nanos),
) {
    loop {
        let due = poll_fn(|ctx| shared.pool.poll_received(shared.worker, ctx)).await;
        if !dispatch.accept(due) {
            give_up(due, timer.now());
        }
    }
}

/// Makes a user at `start` and runs an iteration of it for every arrival that it gets.
pub async fn run_user<T: Timer, U: User, S: Iterator<Item = Nanos> + Clone>(
    timer: T,
    start: Nanos,
    make: impl FnOnce() -> U,
    slot: usize,
    dispatch: Rc<Dispatch<S>>,
) {
    if start > Nanos::ZERO {
        timer.sleep_until(start).await;
    }
    let mut user = make();
    dispatch.join();
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
