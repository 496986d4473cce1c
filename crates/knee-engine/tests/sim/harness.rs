//! Runs a plan through the engine on simulated time and collects the results.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::tally::{Concurrency, Tally};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::executor::{Iteration, User};
use knee_engine::http::network::Network;
use knee_engine::recorder::{Counts, Finish, Marks, Recorder, Share};
use knee_engine::steering::Ceiling;
use knee_engine::timer::Timer;
use knee_engine::worker::{Assignment, IntervalReport, Shared, Spawn, UserId, conduct};

use tokio::task::AbortHandle;

use crate::target::{Response, Target};
use crate::world::{SimTimer, World};

pub const fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

pub const fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A plan with one scenario.
pub fn plan(executor: Executor, stop: Stop) -> Plan {
    Plan {
        scenarios: vec![Scenario::new("default", executor, stop)],
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: secs(5),
        request_timeout: None,
        connect_timeout: secs(5),
        workers: 1,
        interval: secs(1),
    }
}

pub fn open(rate: f64, users_max: u32, end: Nanos) -> Plan {
    let executor = Executor::Open { rate: Curve::constant(rate), arrivals: Arrivals::Uniform, users_max };
    plan(executor, Stop::At(end))
}

pub fn closed(users: u32, stop: Stop) -> Plan {
    plan(Executor::Closed { vus: Curve::constant(f64::from(users)) }, stop)
}

/// A signal to the run at a given time.
pub enum StopSignal {
    Stop(Nanos),
    Abort(Nanos),
    /// Changes of the rate: when they are asked for, the rate, and how long the line to it takes.
    Steer(Vec<(Nanos, f64, Nanos)>),
}

/// The results of a run.
#[derive(Default)]
pub struct Outcomes {
    pub warm_up: Tally,
    pub measured: Tally,
    pub concurrency: Concurrency,
    /// When each request was due, in the order of sending.
    pub dues: Vec<Nanos>,
    /// Requests sent before they were due; must be zero.
    pub early: u64,
    /// Ends of the intervals, by worker.
    pub interval_ends: Vec<Vec<Nanos>>,
    pub ended: Nanos,
    /// Numbers of the virtual users that were not there at the start, in the order in which they were made.
    pub made: Vec<u32>,
    /// How often a scenario could have no more users.
    pub exhausted: u32,
}

/// Runs `plan` against `target`.
pub fn run(plan: &Plan, target: Target) -> Outcomes {
    run_with(plan, target, None)
}

pub fn run_with(plan: &Plan, target: Target, signal: Option<StopSignal>) -> Outcomes {
    run_in_intervals(plan, target, signal).0
}

/// The same with the intervals of each worker.
pub fn run_in_intervals(
    plan: &Plan,
    target: Target,
    signal: Option<StopSignal>,
) -> (Outcomes, Vec<Vec<IntervalReport>>) {
    run_in(World::new(), plan, target, signal)
}

/// The same in a world of its own.
pub fn run_in(
    world: World,
    plan: &Plan,
    target: Target,
    signal: Option<StopSignal>,
) -> (Outcomes, Vec<Vec<IntervalReport>>) {
    let target = Rc::new(target);
    let timeout = plan.request_timeout;
    run_users(world, plan, signal, move |timer, recorder| {
        let (timer, recorder, target) = (timer.clone(), recorder.clone(), target.clone());
        let make = move |_| SimUser {
            timer: timer.clone(),
            recorder: recorder.clone(),
            target: target.clone(),
            timeout,
        };
        (make, None, std::future::ready(()))
    })
}

/// Runs `plan` in a world. `worker` says what each worker makes its users of, which network they have, if any, and a task
/// that runs beside them.
pub fn run_users<U: User + 'static, M: Fn(UserId) -> U + 'static, B: Future<Output = ()> + 'static>(
    mut world: World,
    plan: &Plan,
    signal: Option<StopSignal>,
    worker: impl Fn(&SimTimer, &Rc<RefCell<Recorder>>) -> (M, Option<Rc<Network>>, B),
) -> (Outcomes, Vec<Vec<IntervalReport>>) {
    let control = Control::new();
    if matches!(signal, Some(StopSignal::Steer(_))) {
        control.steering().allow(Ceiling::Rate(f64::MAX));
    }
    let log = Rc::new(Log::default());
    let shares: Rc<RefCell<Vec<Vec<IntervalReport>>>> = Rc::default();
    let left = Rc::new(Cell::new(plan.workers));
    let common = Shared::new(plan.clone(), control.clone());
    for index in 0..u32::from(plan.workers) {
        let assignment = Assignment { shared: common.clone(), index };
        let recorder = Rc::new(RefCell::new(Recorder::new(plan.warm_up)));
        let timer = world.timer.clone();
        let (make, network, beside) = worker(&timer, &recorder);
        world.spawn(beside);
        let (log, shares, left) = (log.clone(), shares.clone(), left.clone());
        shares.borrow_mut().push(Vec::new());
        world.spawn(async move {
            let users: Rc<RefCell<Vec<AbortHandle>>> = Rc::default();
            let spawned = users.clone();
            let spawn: Spawn = Rc::new(move |task| {
                spawned.borrow_mut().push(tokio::task::spawn_local(task).abort_handle());
            });
            let (own_timer, first) = (timer.clone(), assignment.shared.allocation.made_first);
            let make = move |id: UserId| {
                log.made.borrow_mut().extend(id.vu.filter(|vu| *vu >= first));
                LoggedUser { user: make(id), timer: own_timer.clone(), log: log.clone() }
            };
            let roll = |report| {
                shares.borrow_mut()[index as usize].push(report);
                Share::default()
            };
            conduct(&assignment, timer, recorder, spawn, make, roll, network.as_deref()).await;
            // With the thread of a worker its users end.
            users.borrow().iter().for_each(AbortHandle::abort);
            left.set(left.get() - 1);
        });
    }
    if let Some(signal) = signal {
        let (timer, control) = (world.timer.clone(), control.clone());
        world.spawn(async move {
            match signal {
                StopSignal::Stop(at) => {
                    timer.sleep_until(at).await;
                    control.stop();
                }
                StopSignal::Abort(at) => {
                    timer.sleep_until(at).await;
                    control.abort();
                }
                StopSignal::Steer(changes) => {
                    for (at, to, over) in changes {
                        timer.sleep_until(at).await;
                        control.steering().steer_at(timer.now(), to, over).expect("a change of this plan");
                    }
                }
            }
        });
    }
    world.run_until(|| left.get() == 0);
    assert_eq!(left.get(), 0, "the run never ended");
    let shares = shares.take();
    (sum_up(&log, &shares, world.timer.now()), shares)
}

fn sum_up(log: &Log, shares: &[Vec<IntervalReport>], ended: Nanos) -> Outcomes {
    let mut outcomes = Outcomes { ended, early: log.early.get(), ..Outcomes::default() };
    outcomes.made.clone_from(&log.made.borrow());
    outcomes.exhausted = log.exhausted.get();
    outcomes.dues.clone_from(&log.dues.borrow());
    for worker in shares {
        let mut concurrency = Concurrency::default();
        for report in worker {
            outcomes.warm_up.merge(&report.share.warm_up);
            outcomes.measured.merge(&report.share.measured);
            concurrency.merge_after(&report.share.concurrency);
        }
        outcomes.concurrency.merge_beside(&concurrency);
        outcomes.interval_ends.push(worker.iter().map(|report| report.to).collect());
    }
    outcomes
}

#[derive(Default)]
struct Log {
    dues: RefCell<Vec<Nanos>>,
    early: Cell<u64>,
    made: RefCell<Vec<u32>>,
    exhausted: Cell<u32>,
}

/// A user whose iterations are logged.
struct LoggedUser<U> {
    user: U,
    timer: SimTimer,
    log: Rc<Log>,
}

impl<U: User> User for LoggedUser<U> {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        self.log.dues.borrow_mut().push(iteration.due);
        self.log.early.set(self.log.early.get() + u64::from(self.timer.now() < iteration.due));
        self.user.iterate(iteration).await
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        self.log.dues.borrow_mut().push(due);
        self.user.give_up(due, at);
    }

    fn exhausted(&mut self, users: u32) {
        self.log.exhausted.set(self.log.exhausted.get() + 1);
        self.user.exhausted(users);
    }
}

/// A user whose requests take no time to send.
struct SimUser {
    timer: SimTimer,
    recorder: Rc<RefCell<Recorder>>,
    target: Rc<Target>,
    timeout: Option<Nanos>,
}

impl User for SimUser {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        let sent = self.timer.now();
        let flight = self.recorder.borrow_mut().begin(EndpointId(0), iteration.due, iteration.earliest);
        self.recorder.borrow_mut().sent(flight, sent);
        let limit = self.timeout.map_or(Nanos::MAX, |timeout| sent + timeout);
        let (at, outcome, fault) = match self.target.respond(sent) {
            Response::At(at, outcome, fault) if at <= limit => (at, outcome, fault),
            _ => (limit, Outcome::Timeout, Some(Fault::RequestTimeout)),
        };
        self.timer.sleep_until(at).await;
        let finish = Finish {
            outcome,
            done: at,
            status: (outcome == Outcome::Ok).then_some(200),
            fault: fault.map(|fault| (fault, None)),
            marks: Marks { sent, sent_last: sent, sent_all: sent, first_byte: at, ..Marks::default() },
            counts: Counts::default(),
            body: None,
        };
        self.recorder.borrow_mut().finish(flight, &finish);
        at
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        self.recorder.borrow_mut().unsent(EndpointId(0), due, at);
    }
}

impl Outcomes {
    /// Outcomes and times as text, for exact expectations. Milliseconds, rounded down.
    pub fn text(&self) -> String {
        let books = self.measured.accounting();
        assert_eq!(books.difference(), 0, "a request has no outcome, or two: {books:?}");
        assert_eq!(self.concurrency.area, self.concurrency.clipped, "two counts of the same area differ");
        let mut text = format!("planned {}", books.planned);
        for outcome in Outcome::ALL.into_iter().filter(|outcome| books.count(*outcome) > 0) {
            write!(text, "  {} {}", outcome.name(), books.count(outcome)).expect("writing to a string");
        }
        let all = self.measured.all();
        let (mut response, mut service) = (all.send_delay.clone(), all.send_delay.clone());
        response.clear();
        service.clear();
        all.outcomes.iter().for_each(|outcome| {
            response.merge(&outcome.response);
            service.merge(&outcome.service);
        });
        for (name, histogram) in [
            ("response", &response),
            ("service", &service),
            ("send delay", &all.send_delay),
            ("generator lag", &all.generator_lag),
        ] {
            let at = |q| histogram.quantile(q).map_or(0, |value| value.0 / 1_000_000);
            let max = histogram.max().map_or(0, |value| value.0 / 1_000_000);
            write!(text, "\n{name:<13} p50 {} p90 {} max {max}", at(0.5), at(0.9))
                .expect("writing to a string");
        }
        text
    }
}
