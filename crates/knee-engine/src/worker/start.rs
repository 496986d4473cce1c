//! Starts the users of scenarios on one worker.
//!
//! Makes a user when its time has come and not before, because until then its VU can work for another scenario.
//! Does not wait for the users' end.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::allocation::Activation;
use knee_core::amendment::Amendment;
use knee_core::plan::{Executor, Scenario};
use knee_core::schedule::{Arrivals, Curve, Schedule};
use knee_core::share::{Owned, Stripe};
use knee_core::unit::Nanos;

use super::active::{ActiveTasks, CountedUser, TaskGuard};
use super::assignment::{Assignment, UserId};
use crate::executor::budget::Budget;
use crate::executor::open::{Dispatch, Shared, Steered};
use crate::executor::pool::Pool;
use crate::executor::{Gate, User, closed, open};
use crate::timer::Timer;

/// Starts a task on the runtime of the caller.
pub type Spawn = Rc<dyn Fn(Pin<Box<dyn Future<Output = ()>>>)>;

/// The arrivals of one worker: every n-th of those that this machine has of the schedule, for n workers.
pub type WorkerArrivals = std::iter::StepBy<std::iter::Skip<Owned<Schedule>>>;

/// A scenario in progress.
pub struct RunningScenario {
    /// Whether new iterations can start.
    pub gate: Gate,
    /// The arrivals of an open scenario.
    pub dispatch: Option<Rc<Dispatch<WorkerArrivals>>>,
    /// Tasks of its users that have not ended.
    alive: Rc<Cell<usize>>,
    /// Whether a number of requests ends it, at the latest when the gate closes.
    by_number: bool,
    /// How long iterations can go on after its end.
    pub grace: Nanos,
}

impl RunningScenario {
    /// Whether no arrival is left. A scenario that ends at a time lasts until then, even if its last
    /// arrival was earlier; one that ends by number is over after its last request.
    pub fn is_over(&self, now: Nanos) -> bool {
        let none_left = || self.dispatch.as_ref().is_some_and(|dispatch| !dispatch.has_more());
        now >= self.gate.closes()
            || (self.by_number && (self.gate.is_exhausted() || self.alive.get() == 0 || none_left()))
    }
}

/// Starts scenarios on a worker; `F` makes its users.
pub struct ScenarioStarter<'a, T, F> {
    /// What the worker is to do.
    pub assignment: &'a Assignment,
    /// The worker's timer.
    pub timer: &'a T,
    /// Starts tasks.
    pub spawn: Spawn,
    /// Counts tasks.
    pub active: &'a Rc<ActiveTasks>,
    /// Makes users.
    pub user: &'a Rc<F>,
}

impl<T: Timer, U: User + 'static, F: Fn(UserId) -> U + 'static> ScenarioStarter<'_, T, F> {
    /// Starts the users of the scenario at `place` in the plan.
    pub fn scenario(&self, place: usize) -> RunningScenario {
        let plan = &self.assignment.shared.plan;
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
            Executor::Closed { .. } => self.closed(place, &running),
            Executor::Open { rate, arrivals, .. } => {
                running.dispatch = Some(self.open(place, self.arrivals(place, rate, *arrivals), &running));
            }
        }
        running
    }

    fn activations(&self, place: usize) -> impl Iterator<Item = &Activation> {
        let shared = &self.assignment.shared;
        shared.allocation.of_worker(place, self.assignment.index, shared.plan.workers)
    }

    fn closed(&self, place: usize, running: &RunningScenario) {
        let shared = &self.assignment.shared;
        let terms = &shared.plan.scenarios[place].terms;
        for activation in self.activations(place) {
            let schedule = closed::UserSchedule {
                spans: activation.spans.clone(),
                iterations: terms.turns_per_user.unwrap_or(u64::MAX),
                budget: Budget::new(shared.budgets[place].clone()),
                gate: running.gate.clone(),
                cut: running.gate.closes().saturating_add(running.grace),
                ramp_down: terms.ramp_down,
            };
            let user = self.counted(place, activation.vu, running);
            (self.spawn)(Box::pin(closed::run_user(self.timer.clone(), user, schedule)));
        }
    }

    fn open(
        &self,
        place: usize,
        schedule: WorkerArrivals,
        running: &RunningScenario,
    ) -> Rc<Dispatch<WorkerArrivals>> {
        let plan = &self.assignment.shared.plan;
        let scenario = &plan.scenarios[place];
        let rules = open::Rules {
            patience: plan.request_timeout,
            overflow: scenario.terms.overflow,
            cut: running.gate.closes().saturating_add(running.grace),
        };
        let pool = self.assignment.shared.pools[place].clone();
        let shared = pool.map(|pool| Shared { pool, worker: self.assignment.index as usize });
        let vus: Vec<u32> = self.activations(place).map(|one| one.vu).collect();
        let changes = (shared.clone(), self.steered(place));
        let dispatch = Dispatch::new(schedule, vus.len(), running.gate.clone(), rules, changes);
        let start = scenario.terms.start;
        for (slot, vu) in vus.into_iter().enumerate() {
            let user = self.counted(place, vu, running);
            let task = open::run_user(self.timer.clone(), start, user, slot, dispatch.clone());
            (self.spawn)(Box::pin(task));
        }
        if let Some(shared) = shared.clone() {
            let mut unsent_recorder = self.unsent_recorder(place);
            let give_up = move |due, at| unsent_recorder.give_up(due, at);
            let receive = open::receive(self.timer.clone(), dispatch.clone(), shared, give_up);
            (self.spawn)(Box::pin(receive));
        }
        let pacer = Pacer {
            users_max: scenario.users_max(),
            user: self.unsent_recorder(place),
            make: self.maker(place, &dispatch, shared.map(|shared| shared.pool), running),
            _guard: TaskGuard::new(self.active, None),
        };
        (self.spawn)(Box::pin(open::pace(self.timer.clone(), dispatch.clone(), pacer)));
        dispatch
    }

    /// Makes a user with this number in the run.
    fn maker(
        &self,
        place: usize,
        dispatch: &Rc<Dispatch<WorkerArrivals>>,
        pool: Option<Arc<Pool>>,
        running: &RunningScenario,
    ) -> Box<dyn Fn(u32)> {
        let (timer, spawn, user) = (self.timer.clone(), self.spawn.clone(), self.user.clone());
        let (active, alive, dispatch) = (self.active.clone(), running.alive.clone(), dispatch.clone());
        Box::new(move |vu| {
            let guard = TaskGuard::new(&active, Some(&alive));
            let (user, pool) = (user.clone(), pool.clone());
            let make = move || {
                let user = user(UserId { scenario: place, vu: Some(vu) });
                if let Some(pool) = pool {
                    pool.made();
                }
                CountedUser { user, guard }
            };
            let slot = dispatch.add_user();
            (spawn)(Box::pin(open::run_user(timer.clone(), Nanos::ZERO, make, slot, dispatch.clone())));
        })
    }

    fn unsent_recorder(&self, place: usize) -> U {
        (self.user)(UserId { scenario: place, vu: None })
    }

    /// Makes the user when it is called; its task counts from now on.
    fn counted(
        &self,
        place: usize,
        vu: u32,
        running: &RunningScenario,
    ) -> impl FnOnce() -> CountedUser<U> + use<T, U, F> {
        let guard = TaskGuard::new(self.active, Some(&running.alive));
        let user = self.user.clone();
        move || CountedUser { user: user(UserId { scenario: place, vu: Some(vu) }), guard }
    }

    /// This worker's arrivals of an open scenario: every n-th, where n is the number of workers that
    /// have a user for them.
    fn arrivals(&self, place: usize, rate: &Curve, arrivals: Arrivals) -> WorkerArrivals {
        let scenario = &self.assignment.shared.plan.scenarios[place];
        let end = scenario.ends().map_or(Nanos::MAX, |ends| ends.since(scenario.terms.start));
        let own = OwnArrivals::of(self.assignment, place);
        let count = if own.has_user { scenario.stop.requests().unwrap_or(u64::MAX) } else { 0 };
        let whole = Schedule::new(rate.clone(), arrivals, end, count).starting(scenario.terms.start);
        own.take(whole)
    }

    /// What changes this worker's arrivals, if the run can be steered.
    fn steered(&self, place: usize) -> Option<Steered<WorkerArrivals>> {
        let shared = &self.assignment.shared;
        let steering = shared.control.steering().clone();
        let scenario = &shared.plan.scenarios[place];
        let Executor::Open { arrivals, .. } = scenario.executor else { return None };
        let end = scenario.ends().filter(|_| steering.most().is_some())?;
        let own = OwnArrivals::of(self.assignment, place);
        let amended = move |number: usize, amendment: &Amendment| {
            // A worker without a user for the arrivals of a scenario has none of them.
            let end = if own.has_user { end } else { amendment.at };
            own.take(amendment.arrivals(number, arrivals, end))
        };
        Some(Steered::new(steering, Box::new(amended)))
    }
}

/// Which arrivals of a scenario one worker has.
struct OwnArrivals {
    /// Those that this machine has of the whole.
    turns: Option<Stripe>,
    /// Whether the worker has a user for them.
    has_user: bool,
    /// Its place among the workers that have.
    place: usize,
    /// How many workers have.
    of: usize,
}

impl OwnArrivals {
    fn of(assignment: &Assignment, place: usize) -> Self {
        let shared = &assignment.shared;
        let manned = shared.allocation.manned(place, shared.plan.workers);
        let own = manned.iter().position(|worker| *worker == assignment.index);
        let turns = shared.plan.scenarios[place].part.as_ref().map(|part| part.turns.clone());
        Self { turns, has_user: own.is_some(), place: own.unwrap_or_default(), of: manned.len() }
    }

    fn take(&self, whole: Schedule) -> WorkerArrivals {
        Stripe::of(self.turns.clone(), whole).skip(self.place).step_by(self.of)
    }
}

const fn is_numbered(scenario: &Scenario) -> bool {
    matches!(scenario.executor, Executor::Open { arrivals: Arrivals::Numbered { .. }, .. })
}

/// What the pacer of a scenario does with an arrival for which there is no user.
struct Pacer<U> {
    users_max: u32,
    user: U,
    make: Box<dyn Fn(u32)>,
    /// Lives as long as the pacer.
    _guard: TaskGuard,
}

impl<U: User> open::NoUser for Pacer<U> {
    fn give_up(&mut self, due: Nanos, at: Nanos) {
        self.user.give_up(due, at);
    }

    fn make(&mut self, vu: u32) {
        (self.make)(vu);
    }

    fn exhausted(&mut self) {
        self.user.exhausted(self.users_max);
    }
}
