//! One worker: a thread with its own runtime that runs its share of the users.
//!
//! [`conduct`] runs a worker's share of a run from start to end. It is generic over the timer, so
//! that tests run it on simulated time. Workers share only the request budgets and the stop
//! signal.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Poll, Waker};

use knee_core::plan::{Executor, Overflow, Plan, Scenario};
use knee_core::schedule::{Arrivals, Curve, Schedule};
use knee_core::unit::Nanos;

use crate::control::{Control, Request};
use crate::endpoints::Endpoints;
use crate::executor::budget::Budget;
use crate::executor::open::Dispatch;
use crate::executor::pool::Pool;
use crate::executor::{Gate, Iteration, User, closed, open};
use crate::http::client::Network;
use crate::recorder::{Recorder, Share};
use crate::timer::{Timer, WorkerTimer};

/// How often the stop signal is checked.
const CONTROL_PACE: Nanos = Nanos::from_millis(50);

/// What users do.
pub trait Workload: Send + Sync + 'static {
    /// The type of its users.
    type User: User + 'static;

    /// Called on a worker's thread before the run's clock starts, with the numbers of all its users.
    /// For slow preparations.
    fn prepare(self: &Arc<Self>, numbers: &[u64]) {
        let _ = numbers;
    }

    /// The user with this number, unique in the run: the index of the scenario in the upper 32 bits,
    /// the index of the user in the lower. A user that only records unsent iterations has
    /// [`UNSENT_RECORDER`] in the lower bits. `context` is what its worker provides.
    fn user(self: &Arc<Self>, context: &UserContext, number: u64) -> Self::User;
}

/// What a worker provides to its users.
pub struct UserContext {
    /// Connections.
    pub network: Rc<Network>,
    /// Request accounting.
    pub recorder: Rc<RefCell<Recorder>>,
    /// Ids of endpoints that appear during the run.
    pub endpoints: Endpoints,
    /// For users that wait by themselves.
    pub timer: WorkerTimer,
}

/// A worker's share of the run.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The whole plan.
    pub plan: Arc<Plan>,
    /// This worker's number, from 0.
    pub index: u32,
    /// Requests left of each scenario that limits them; shared by all workers.
    pub budgets: Vec<Option<Arc<AtomicU64>>>,
    /// The users of each scenario whose arrivals can be served by any worker.
    pub pools: Vec<Option<Arc<Pool>>>,
    /// The stop signal.
    pub control: Control,
}

/// Index in its scenario of a user that only records unsent iterations.
pub const UNSENT_RECORDER: u32 = u32::MAX;

/// A user's number in the run.
const fn number_of(scenario: usize, user: u32) -> u64 {
    (scenario as u64) << 32 | user as u64
}

/// Requests left of each scenario that limits them, for all workers.
pub fn budgets(plan: &Plan) -> Vec<Option<Arc<AtomicU64>>> {
    let budget = |requests: Option<u64>| requests.map(|requests| Arc::new(AtomicU64::new(requests)));
    plan.scenarios.iter().map(|scenario| budget(scenario.stop.requests())).collect()
}

/// The users of each scenario that drops arrivals, for all workers: an arrival is dropped only if none of them has a free
/// user.
pub fn pools(plan: &Plan) -> Vec<Option<Arc<Pool>>> {
    let shared = |scenario: &Scenario| plan.workers > 1 && scenario.terms.overflow == Overflow::Drop;
    let pool = |scenario| shared(scenario).then(|| Arc::new(Pool::new(usize::from(plan.workers))));
    plan.scenarios.iter().map(pool).collect()
}

impl Assignment {
    /// This worker's users of a scenario: every n-th user, for n workers.
    fn users_of(&self, scenario: &Scenario) -> impl Iterator<Item = u32> + use<> {
        (self.index..scenario.users_max()).step_by(usize::from(self.plan.workers))
    }

    /// The numbers of all users that this worker has.
    pub fn users(&self) -> Vec<u64> {
        let of = |(place, scenario)| self.users_of(scenario).map(move |user| number_of(place, user));
        self.plan.scenarios.iter().enumerate().flat_map(of).collect()
    }
}

/// One worker's share of one interval.
#[derive(Debug)]
pub struct IntervalReport {
    /// Number of the interval, from 0.
    pub index: u64,
    /// When it really ended.
    pub to: Nanos,
    /// Its tallies.
    pub share: Share,
    /// Arrivals at its end that were due and not assigned.
    pub backlog: u64,
    /// When arrivals were stopped from outside.
    pub stopped: Option<Nanos>,
    /// Whether it is the worker's last one.
    pub last: bool,
}

/// Starts a task on the runtime of the caller.
pub type Spawn<'a> = &'a dyn Fn(Pin<Box<dyn Future<Output = ()>>>);

/// Counts the tasks of one worker and wakes [`conduct`] when they are done.
struct ActiveTasks {
    /// Tasks that have not ended.
    count: Cell<usize>,
    /// Users within an iteration.
    busy: Cell<usize>,
    draining: Cell<bool>,
    conductor: Cell<Option<Waker>>,
}

impl ActiveTasks {
    /// Wakes the conductor if it has nothing left to wait for.
    fn wake_conductor_if_done(&self) {
        let over = self.count.get() == 0 || (self.draining.get() && self.busy.get() == 0);
        if over && let Some(waker) = self.conductor.take() {
            waker.wake();
        }
    }
}

/// Counts a task while it exists. A value inside the task and not a future around it, which would
/// hold the task's state twice, for every connection.
struct TaskGuard {
    active: Rc<ActiveTasks>,
    /// Number of users of its scenario that have not ended.
    alive: Option<Rc<Cell<usize>>>,
}

impl TaskGuard {
    fn new(active: &Rc<ActiveTasks>, alive: Option<&Rc<Cell<usize>>>) -> Self {
        active.count.set(active.count.get() + 1);
        if let Some(alive) = alive {
            alive.set(alive.get() + 1);
        }
        Self { active: active.clone(), alive: alive.cloned() }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.active.count.set(self.active.count.get() - 1);
        if let Some(alive) = &self.alive {
            alive.set(alive.get() - 1);
        }
        self.active.wake_conductor_if_done();
    }
}

/// A user whose iterations are counted.
struct CountedUser<U> {
    user: U,
    guard: TaskGuard,
}

impl<U: User> User for CountedUser<U> {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        let active = &self.guard.active;
        active.busy.set(active.busy.get() + 1);
        let done = self.user.iterate(iteration).await;
        active.busy.set(active.busy.get() - 1);
        active.wake_conductor_if_done();
        done
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        self.user.give_up(due, at);
    }
}

/// The arrivals of one worker: every n-th of the same schedule, for n workers.
type WorkerArrivals = std::iter::StepBy<std::iter::Skip<Schedule>>;

/// A scenario in progress.
struct RunningScenario {
    gate: Gate,
    dispatch: Option<Rc<Dispatch<WorkerArrivals>>>,
    /// Tasks of its users that have not ended.
    alive: Rc<Cell<usize>>,
    /// Whether a number of requests ends it, at the latest when the gate closes.
    by_number: bool,
    grace: Nanos,
}

impl RunningScenario {
    /// Whether no arrival is left. A scenario that ends at a time lasts until then, even if its last
    /// arrival was earlier; one that ends by number is over after its last request.
    fn is_over(&self, now: Nanos) -> bool {
        let none_left = || self.dispatch.as_ref().is_some_and(|dispatch| !dispatch.has_more());
        now >= self.gate.closes()
            || (self.by_number && (self.gate.is_exhausted() || self.alive.get() == 0 || none_left()))
    }
}

/// Runs `assignment` from start to end: starts its users, passes on each interval, stops arrivals
/// by plan or stop signal, waits for the grace period, and ends all open requests.
///
/// `user` makes a user by its number; `roll` takes an interval and returns a cleared one.
pub async fn conduct<T: Timer, U: User + 'static>(
    assignment: &Assignment,
    timer: T,
    recorder: Rc<RefCell<Recorder>>,
    spawn: Spawn<'_>,
    user: impl Fn(u64) -> U,
    mut roll: impl FnMut(IntervalReport) -> Share,
) {
    let active = Rc::new(ActiveTasks {
        count: Cell::new(0),
        busy: Cell::new(0),
        draining: Cell::new(false),
        conductor: Cell::new(None),
    });
    let starter = ScenarioStarter { assignment, timer: &timer, spawn, active: &active };
    let running: Vec<RunningScenario> = assignment
        .plan
        .scenarios
        .iter()
        .enumerate()
        .map(|(place, _)| starter.scenario(place, &user))
        .collect();
    let mut worker = WorkerLoop {
        assignment,
        timer,
        active,
        running,
        recorder,
        interval: 0,
        interval_from: Nanos::ZERO,
        stopped: None,
    };
    loop {
        let now = worker.timer.now();
        worker.stop_if_asked(now);
        if worker.is_over(now) {
            break;
        }
        while worker.interval_ends() <= now {
            worker.roll(now, false, &mut roll);
        }
        worker.wait(now).await;
    }
    let now = worker.timer.now();
    // From here on users must not send any more; this one only records unsent iterations.
    for (place, running) in worker.running.iter().enumerate() {
        let Some(dispatch) = &running.dispatch else { continue };
        let mut unsent_recorder = user(number_of(place, UNSENT_RECORDER));
        dispatch.give_up_rest(now, |due| unsent_recorder.give_up(due, now));
    }
    worker.recorder.borrow_mut().censor_all(now);
    // After a stall the first of several intervals holds all counts; the others are empty.
    while worker.interval_ends() < now {
        worker.roll(now, false, &mut roll);
    }
    worker.roll(now, true, &mut roll);
}

/// Starts the users of scenarios.
struct ScenarioStarter<'a, T> {
    assignment: &'a Assignment,
    timer: &'a T,
    spawn: Spawn<'a>,
    active: &'a Rc<ActiveTasks>,
}

impl<T: Timer> ScenarioStarter<'_, T> {
    fn scenario<U: User + 'static>(&self, place: usize, user: &impl Fn(u64) -> U) -> RunningScenario {
        let plan = &self.assignment.plan;
        let scenario = &plan.scenarios[place];
        let ends = scenario.ends().unwrap_or(Nanos::MAX);
        // The last of numbered arrivals can be due at the end itself.
        let gate = Gate::new(if is_numbered(scenario) { ends.saturating_add(Nanos(1)) } else { ends });
        let grace = scenario.terms.grace.unwrap_or(plan.grace);
        let mut running = RunningScenario {
            dispatch: None,
            alive: Rc::default(),
            by_number: scenario.stop.requests().is_some() || scenario.terms.turns_per_user.is_some(),
            grace,
            gate,
        };
        match &scenario.executor {
            Executor::Closed { vus: users } => self.closed(place, users, &running, user),
            Executor::Open { rate, arrivals, .. } => {
                let schedule = self.arrivals(scenario, rate, *arrivals);
                running.dispatch = Some(self.open(place, schedule, &running, user));
            }
        }
        running
    }

    fn closed<U: User + 'static>(
        &self,
        place: usize,
        users: &Curve,
        running: &RunningScenario,
        user: &impl Fn(u64) -> U,
    ) {
        let scenario = &self.assignment.plan.scenarios[place];
        let terms = &scenario.terms;
        let later = |at: Nanos| at.saturating_add(terms.start);
        for number in self.assignment.users_of(scenario) {
            let spans = users.active(number).into_iter().map(|(from, until)| (later(from), later(until)));
            let schedule = closed::UserSchedule {
                spans: spans.collect(),
                iterations: terms.turns_per_user.unwrap_or(u64::MAX),
                budget: Budget::new(self.assignment.budgets[place].clone()),
                gate: running.gate.clone(),
                cut: running.gate.closes().saturating_add(running.grace),
                ramp_down: terms.ramp_down,
            };
            let user = self.counted(user(number_of(place, number)), running);
            (self.spawn)(Box::pin(closed::run_user(self.timer.clone(), user, schedule)));
        }
    }

    fn open<U: User + 'static>(
        &self,
        place: usize,
        schedule: WorkerArrivals,
        running: &RunningScenario,
        user: &impl Fn(u64) -> U,
    ) -> Rc<Dispatch<WorkerArrivals>> {
        let scenario = &self.assignment.plan.scenarios[place];
        let numbers: Vec<u32> = self.assignment.users_of(scenario).collect();
        let rules = open::Rules {
            patience: self.assignment.plan.request_timeout,
            overflow: scenario.terms.overflow,
            cut: running.gate.closes().saturating_add(running.grace),
        };
        let pool = self.assignment.pools.get(place).cloned().flatten();
        let shared = pool.map(|pool| open::Shared { pool, worker: self.assignment.index as usize });
        let dispatch = Dispatch::new(schedule, numbers.len(), running.gate.clone(), rules, shared.clone());
        for (slot, number) in numbers.into_iter().enumerate() {
            let user = self.counted(user(number_of(place, number)), running);
            (self.spawn)(Box::pin(open::run_user(self.timer.clone(), user, slot, dispatch.clone())));
        }
        if let Some(shared) = shared {
            let mut unsent_recorder = user(number_of(place, UNSENT_RECORDER));
            let give_up = move |due, at| unsent_recorder.give_up(due, at);
            let receive = open::receive(self.timer.clone(), dispatch.clone(), shared, give_up);
            (self.spawn)(Box::pin(receive));
        }
        let mut unsent_recorder = user(number_of(place, UNSENT_RECORDER));
        let guard = TaskGuard::new(self.active, None);
        let give_up = move |due, at| {
            let _ = &guard; // lives as long as the pacer
            unsent_recorder.give_up(due, at);
        };
        (self.spawn)(Box::pin(open::pace(self.timer.clone(), dispatch.clone(), give_up)));
        dispatch
    }

    fn counted<U>(&self, user: U, running: &RunningScenario) -> CountedUser<U> {
        CountedUser { user, guard: TaskGuard::new(self.active, Some(&running.alive)) }
    }

    /// This worker's arrivals of an open scenario: every n-th, where n is the number of workers that
    /// have a user for them.
    fn arrivals(&self, scenario: &Scenario, rate: &Curve, arrivals: Arrivals) -> WorkerArrivals {
        let end = scenario.ends().map_or(Nanos::MAX, |ends| ends.since(scenario.terms.start));
        let manned = u32::from(self.assignment.plan.workers).min(scenario.users_max()).max(1);
        let all = scenario.stop.requests().unwrap_or(u64::MAX);
        let count = if self.assignment.index < manned { all } else { 0 };
        Schedule::new(rate.clone(), arrivals, end, count)
            .starting(scenario.terms.start)
            .skip(self.assignment.index as usize)
            .step_by(manned as usize)
    }
}

const fn is_numbered(scenario: &Scenario) -> bool {
    matches!(scenario.executor, Executor::Open { arrivals: Arrivals::Numbered { .. }, .. })
}

/// A worker's share of a run in progress.
struct WorkerLoop<'a, T> {
    assignment: &'a Assignment,
    timer: T,
    active: Rc<ActiveTasks>,
    running: Vec<RunningScenario>,
    recorder: Rc<RefCell<Recorder>>,
    /// Number of the current interval.
    interval: u64,
    /// Where the current interval should have begun.
    interval_from: Nanos,
    stopped: Option<Nanos>,
}

impl<T: Timer> WorkerLoop<'_, T> {
    /// Stops arrivals on the stop signal.
    fn stop_if_asked(&mut self, now: Nanos) {
        if self.assignment.control.request() == Request::Run || self.stopped.is_some() {
            return;
        }
        self.stopped = Some(now);
        for running in &self.running {
            running.gate.close(now);
            if let Some(dispatch) = &running.dispatch {
                dispatch.dismiss();
            }
        }
    }

    /// When the last arrival can come; `MAX` if only a number of requests ends the run.
    fn closes(&self) -> Nanos {
        self.running.iter().map(|running| running.gate.closes()).max().unwrap_or(Nanos::ZERO)
    }

    fn grace_ends(&self) -> Nanos {
        let ends = |running: &RunningScenario| running.gate.closes().saturating_add(running.grace);
        self.running.iter().map(ends).max().unwrap_or(Nanos::ZERO)
    }

    fn is_over(&self, now: Nanos) -> bool {
        let arrivals_over = self.running.iter().all(|running| running.is_over(now));
        self.active.draining.set(arrivals_over);
        let waiting = || self.running.iter().flat_map(|running| &running.dispatch).any(|one| one.has_more());
        (arrivals_over && self.active.busy.get() == 0 && !waiting())
            || now >= self.grace_ends()
            || self.assignment.control.request() == Request::Abort
    }

    fn roll(&mut self, now: Nanos, last: bool, roll: &mut impl FnMut(IntervalReport) -> Share) {
        let share = self.recorder.borrow_mut().roll(now);
        let backlog =
            self.running.iter().filter_map(|one| one.dispatch.as_ref()).map(|one| one.backlog(now)).sum();
        let report =
            IntervalReport { index: self.interval, to: now, share, backlog, stopped: self.stopped, last };
        let cleared = roll(report);
        self.recorder.borrow_mut().reuse(cleared);
        self.interval += 1;
        self.interval_from = self.interval_ends();
    }

    /// The end of the current interval: the next multiple of the plan's width, or the end of the
    /// warm-up or of arrivals if that is earlier. So both fall between two intervals. Always the same
    /// for every worker.
    fn interval_ends(&self) -> Nanos {
        let plan = &self.assignment.plan;
        let from = self.interval_from;
        let width = plan.interval.0.max(1);
        let grid = Nanos((from.0 / width + 1).saturating_mul(width));
        let cuts = [plan.warm_up, plan.arrivals_end()];
        cuts.into_iter().filter(|cut| *cut > from).fold(grid, Nanos::min)
    }

    /// Sleeps until the next check: a deadline, the stop signal, or the last task's end.
    async fn wait(&self, now: Nanos) {
        let closes = Some(self.closes()).filter(|closes| *closes > now).unwrap_or(Nanos::MAX);
        let wake = now
            .saturating_add(CONTROL_PACE)
            .min(self.interval_ends())
            .min(closes)
            .min(self.grace_ends().max(now));
        let mut sleep = std::pin::pin!(self.timer.sleep_until(wake));
        let mut waited = false;
        poll_fn(|ctx| {
            // A second poll means that the timer or a task woke it; the caller checks why.
            if sleep.as_mut().poll(ctx).is_ready() || waited {
                return Poll::Ready(());
            }
            waited = true;
            self.active.conductor.set(Some(ctx.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}
