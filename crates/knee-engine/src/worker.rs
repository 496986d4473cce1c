//! One worker: a thread with its own runtime that runs its share of the users.
//!
//! [`conduct`] runs a worker's share of a run from start to end. It is generic over the timer, so
//! that tests run it on simulated time. Workers share only the request budgets and the stop
//! signal.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use knee_core::unit::Nanos;

use crate::control::Request;
use crate::endpoints::Endpoints;
use crate::executor::User;
use crate::http::client::Network;
use crate::http::transport::PoolSharing;
use crate::recorder::{Recorder, Share};
use crate::timer::{Timer, WorkerTimer};

mod active;

mod assignment;

mod start;

use active::ActiveTasks;
pub use assignment::{Assignment, Shared, UserId};
pub use start::Spawn;
use start::{RunningScenario, ScenarioStarter};

/// How often the stop signal is checked.
const CONTROL_PACE: Nanos = Nanos::from_millis(50);

/// What users do.
pub trait Workload: Send + Sync + 'static {
    /// The type of its users.
    type User: User + 'static;

    /// What a worker keeps of the virtual users that it made.
    type Prepared: 'static;

    /// Makes the virtual users (VUs) with these numbers, which the run has from its start. Called on a worker's thread
    /// before the run's clock starts; for slow preparations.
    fn prepare(self: &Arc<Self>, vus: &[u32]) -> Self::Prepared;

    /// A user for a scenario, at the time at which it begins. One VU can be a user of one scenario after another, so
    /// `id` can come again. `context` is what its worker provides.
    fn user(self: &Arc<Self>, context: &UserContext, prepared: &Self::Prepared, id: UserId) -> Self::User;
}

/// What a worker provides to its users.
pub struct UserContext {
    /// Connections.
    pub network: Rc<Network>,
    /// Which users share them.
    pub sharing: PoolSharing,
    /// Request accounting.
    pub recorder: Rc<RefCell<Recorder>>,
    /// Ids of endpoints that appear during the run.
    pub endpoints: Endpoints,
    /// For users that wait by themselves.
    pub timer: WorkerTimer,
}

/// One worker's share of one interval.
#[derive(Clone, Debug)]
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

/// Runs `assignment` from start to end: starts its users, passes on each interval, stops arrivals
/// by plan or stop signal, waits for the grace period, and ends all open requests.
///
/// `user` makes a user when its time has come; `roll` takes an interval and returns a cleared one; `network` has the
/// users' connections, if they have any.
pub async fn conduct<T: Timer, U: User + 'static>(
    assignment: &Assignment,
    timer: T,
    recorder: Rc<RefCell<Recorder>>,
    spawn: Spawn,
    user: impl Fn(UserId) -> U + 'static,
    mut roll: impl FnMut(IntervalReport) -> Share,
    network: Option<&Network>,
) {
    let active = Rc::new(ActiveTasks::default());
    let user = Rc::new(user);
    let starter = ScenarioStarter { assignment, timer: &timer, spawn, active: &active, user: &user };
    let scenarios = 0..assignment.shared.plan.scenarios.len();
    let running: Vec<RunningScenario> = scenarios.map(|place| starter.scenario(place)).collect();
    let mut worker = WorkerLoop {
        assignment,
        timer,
        active,
        running,
        recorder,
        interval: 0,
        interval_from: Nanos::ZERO,
        stopped: None,
        network,
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
        let mut unsent_recorder = user(UserId { scenario: place, vu: None });
        dispatch.give_up_rest(now, |due| unsent_recorder.give_up(due, now));
    }
    worker.recorder.borrow_mut().censor_all(now);
    worker.watch_connections(now).await;
    // After a stall the first of several intervals holds all counts; the others are empty.
    while worker.interval_ends() < now {
        worker.roll(now, false, &mut roll);
    }
    worker.roll(now, true, &mut roll);
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
    network: Option<&'a Network>,
}

impl<T: Timer> WorkerLoop<'_, T> {
    /// Stops arrivals on the stop signal.
    fn stop_if_asked(&mut self, now: Nanos) {
        if self.assignment.shared.control.request() == Request::Run || self.stopped.is_some() {
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
        self.active.drain(arrivals_over);
        let waiting = || self.running.iter().flat_map(|running| &running.dispatch).any(|one| one.has_more());
        (arrivals_over && self.active.busy() == 0 && !waiting())
            || now >= self.grace_ends()
            || self.assignment.shared.control.request() == Request::Abort
    }

    /// Waits for responses that no request asked for, as long as they can come, and closes all connections. If
    /// iterations are in progress it does not wait: they would go on.
    async fn watch_connections(&self, now: Nanos) {
        let Some(network) = self.network else { return };
        let aborted = self.assignment.shared.control.request() == Request::Abort;
        let until = network.watched_until();
        if self.active.busy() == 0 && !aborted && until > now {
            self.timer.sleep_until(until).await;
        }
        self.recorder.borrow_mut().unsolicited(network.close_all());
    }

    fn roll(&mut self, now: Nanos, last: bool, roll: &mut impl FnMut(IntervalReport) -> Share) {
        if let Some(network) = self.network {
            self.recorder.borrow_mut().unsolicited(network.close_left());
        }
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
        let plan = &self.assignment.shared.plan;
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
            self.active.wake_when_done(ctx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
