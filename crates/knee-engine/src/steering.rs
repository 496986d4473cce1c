//! Changes the planned rate of a load in progress, within what its owner allowed before it began.
//!
//! A change begins with a whole interval that is still to come, so that all workers know of it before its first arrival.
//! Does not make arrivals ([`Amendment`] does) and does not write them down; the collector does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use knee_core::amendment::{AMENDMENTS_MAX, Amendment, area_to_next, rate_at};
use knee_core::clock::MonotonicClock;
use knee_core::plan::{Executor, Plan};
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;

/// Least time from the request to the change.
const LEAD: Nanos = Nanos::from_millis(300);

/// Why a load does not change its rate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unsteered {
    /// It was not allowed before the run.
    #[error("the rate of this load cannot be changed")]
    NotAllowed,
    /// It has not begun, or is over.
    #[error("no load is in progress")]
    NotRunning,
    /// It waits for responses, has several scenarios, or ends with a number of requests.
    #[error("only one scenario with a planned rate (`--rate`) that ends at a time can be steered")]
    Plan,
    /// It is no rate.
    #[error("a rate is a number of requests per second, 0 or more")]
    Rate,
    /// It is more than was allowed.
    #[error("the most that was allowed is {0} requests per second")]
    Ceiling(f64),
    /// The change before has not begun.
    #[error("a change is about to begin at {0}; ask again then")]
    Pending(Nanos),
    /// The line would take longer than anything can.
    #[error("a change takes from 0 s to a day")]
    Over,
    /// No whole interval is left for it.
    #[error("the load ends before a change can begin")]
    TooLate,
    /// There were too many.
    #[error("a run takes at most {AMENDMENTS_MAX} changes")]
    TooMany,
}

/// Longest line of a change.
const OVER_MAX: Nanos = Nanos::from_secs(86_400);

/// A handle on the rate of a run. Clones steer the same run.
#[derive(Clone, Debug, Default)]
pub struct Steering(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// How many changes there are, for those who look at every arrival.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// Highest rate that was allowed; `None` if nothing was.
    allowed: Option<Ceiling>,
    course: Option<Course>,
    clock: Option<MonotonicClock>,
    amendments: Vec<Amendment>,
    /// How many of them are in the record.
    written: usize,
}

/// The highest rate that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ceiling {
    /// The highest of the plan.
    Planned,
    /// So many requests per second.
    Rate(f64),
}

/// What is planned.
#[derive(Clone, Debug)]
struct Course {
    rate: Curve,
    start: Nanos,
    end: Nanos,
    /// Width of an interval.
    interval: Nanos,
}

impl Course {
    /// `None` for a plan that cannot be steered.
    fn of(plan: &Plan) -> Option<Self> {
        let [scenario] = &plan.scenarios[..] else { return None };
        let Executor::Open { rate, .. } = &scenario.executor else { return None };
        if scenario.stop.requests().is_some() {
            return None;
        }
        let interval = Nanos(plan.interval.0.max(1));
        Some(Self { rate: rate.clone(), start: scenario.terms.start, end: scenario.ends()?, interval })
    }
}

impl Steering {
    /// Lets the rate of the run be changed up to `ceiling`. To be called before the run.
    pub fn allow(&self, ceiling: Ceiling) {
        self.state().allowed = Some(ceiling);
    }

    /// Whether anything was allowed.
    pub fn is_allowed(&self) -> bool {
        self.state().allowed.is_some()
    }

    /// A run of this plan is about to begin.
    pub(crate) fn plan(&self, plan: &Plan) {
        let mut state = self.state();
        *state = State { allowed: state.allowed, course: Course::of(plan), ..State::default() };
        self.0.count.store(0, Ordering::Release);
    }

    /// The run has begun; `clock` reads zero at its start.
    pub(crate) fn begin(&self, clock: MonotonicClock) {
        self.state().clock.get_or_insert(clock);
    }

    /// Changes the rate to `to` requests per second, in a straight line that takes `over`.
    ///
    /// # Errors
    /// Why it stays as it is.
    pub fn steer(&self, to: f64, over: Nanos) -> Result<Amendment, Unsteered> {
        let state = &mut *self.state();
        // Read while no one else can change anything: a thread that waited in between would plan in the past.
        let now = state.clock.ok_or(Unsteered::NotRunning)?.now();
        self.change(state, now, to, over)
    }

    /// The same at `now` on the run's clock.
    ///
    /// # Errors
    /// Why it stays as it is.
    pub fn steer_at(&self, now: Nanos, to: f64, over: Nanos) -> Result<Amendment, Unsteered> {
        self.change(&mut self.state(), now, to, over)
    }

    fn change(&self, state: &mut State, now: Nanos, to: f64, over: Nanos) -> Result<Amendment, Unsteered> {
        let ceiling = state.ceiling()?;
        let course = state.course.as_ref().ok_or(Unsteered::Plan)?;
        if !to.is_finite() || to < 0.0 {
            return Err(Unsteered::Rate);
        }
        if to > ceiling {
            return Err(Unsteered::Ceiling(ceiling));
        }
        if over > OVER_MAX {
            return Err(Unsteered::Over);
        }
        if now >= course.end {
            return Err(Unsteered::NotRunning);
        }
        if let Some(last) = state.amendments.last().filter(|last| last.at > now) {
            return Err(Unsteered::Pending(last.at));
        }
        let earliest = now.saturating_add(LEAD).max(course.start);
        let at = Nanos(earliest.0.div_ceil(course.interval.0).saturating_mul(course.interval.0));
        if at >= course.end {
            return Err(Unsteered::TooLate);
        }
        if state.amendments.len() >= AMENDMENTS_MAX {
            return Err(Unsteered::TooMany);
        }
        let from = rate_at(&course.rate, course.start, &state.amendments, at);
        let first = area_to_next(&course.rate, course.start, &state.amendments, at);
        // A sum with zero has no sign of its own.
        let amendment = Amendment { at, from, over, to: to + 0.0, first };
        state.amendments.push(amendment);
        self.0.count.store(state.amendments.len(), Ordering::Release);
        Ok(amendment)
    }

    /// Highest rate that can be asked for; `None` if this load cannot be steered.
    pub fn most(&self) -> Option<f64> {
        let state = self.state();
        state.course.as_ref().and(state.ceiling().ok())
    }

    /// All changes so far.
    pub fn amendments(&self) -> Vec<Amendment> {
        self.since(0)
    }

    /// How many changes there are.
    pub(crate) fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// The changes after the first `known`.
    pub(crate) fn since(&self, known: usize) -> Vec<Amendment> {
        self.state().amendments.get(known..).unwrap_or_default().to_vec()
    }

    /// Takes the changes that are not in the record yet.
    pub(crate) fn take_unwritten(&self) -> Vec<Amendment> {
        let state = &mut *self.state();
        let unwritten = state.amendments.get(state.written..).unwrap_or_default().to_vec();
        state.written = state.amendments.len();
        unwritten
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is a single step.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ceiling(&self) -> Result<f64, Unsteered> {
        match self.allowed.ok_or(Unsteered::NotAllowed)? {
            Ceiling::Rate(rate) => Ok(rate),
            Ceiling::Planned => self.course.as_ref().map(|course| course.rate.peak()).ok_or(Unsteered::Plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use knee_core::plan::{Scenario, Stop};
    use knee_core::schedule::Arrivals;

    use super::*;

    fn plan(scenarios: Vec<Scenario>) -> Plan {
        Plan {
            scenarios,
            endpoints: Vec::new(),
            warm_up: Nanos::ZERO,
            grace: Nanos::ZERO,
            request_timeout: None,
            connect_timeout: Nanos::from_secs(1),
            workers: 1,
            interval: Nanos::from_secs(1),
        }
    }

    fn open(stop: Stop) -> Scenario {
        let rate = Curve::constant(100.0);
        Scenario::new("a", Executor::Open { rate, arrivals: Arrivals::Uniform, users_max: 5 }, stop)
    }

    fn steered(scenarios: Vec<Scenario>, ceiling: Ceiling) -> Steering {
        let steering = Steering::default();
        steering.allow(ceiling);
        steering.plan(&plan(scenarios));
        steering
    }

    const END: Stop = Stop::At(Nanos::from_secs(10));
    const NOW: Nanos = Nanos::from_millis(2_100);

    #[test]
    fn a_change_begins_with_the_next_whole_interval_that_all_workers_can_know_of() {
        let steering = steered(vec![open(END)], Ceiling::Rate(500.0));
        let begins =
            |now, to| steering.steer_at(Nanos::from_millis(now), to, Nanos::from_secs(2)).map(|one| one.at);
        assert_eq!(begins(2_100, 200.0), Ok(Nanos::from_secs(3)));
        assert_eq!(begins(2_800, 300.0), Err(Unsteered::Pending(Nanos::from_secs(3))));
        assert_eq!(begins(3_000, 300.0), Ok(Nanos::from_secs(4)));
        assert_eq!(begins(5_900, 0.0), Ok(Nanos::from_secs(7)), "100 ms are too little for all workers");
        let from: Vec<f64> = steering.since(0).iter().map(|amendment| amendment.from).collect();
        assert_eq!(from, [100.0, 150.0, 300.0], "it begins where the change before had led");
        assert_eq!(begins(9_000, 1.0), Err(Unsteered::TooLate));
        assert_eq!(begins(10_000, 1.0), Err(Unsteered::NotRunning));
        assert_eq!((steering.take_unwritten().len(), steering.take_unwritten().len()), (3, 0));
    }

    #[test]
    fn a_rate_over_the_ceiling_and_what_is_no_rate_are_refused() {
        let steering = steered(vec![open(END)], Ceiling::Planned);
        for (to, refusal) in [
            (100.1, Unsteered::Ceiling(100.0)),
            (f64::NAN, Unsteered::Rate),
            (f64::INFINITY, Unsteered::Rate),
            (-1.0, Unsteered::Rate),
        ] {
            assert_eq!(steering.steer_at(NOW, to, Nanos::ZERO), Err(refusal), "{to}");
        }
        assert_eq!(steering.steer_at(NOW, 1.0, Nanos::MAX), Err(Unsteered::Over));
        assert!(steering.steer_at(NOW, 100.0, Nanos::ZERO).is_ok());
        assert_eq!(steering.most(), Some(100.0));
    }

    #[test]
    fn a_load_that_was_not_opened_for_it_or_has_no_one_rate_is_not_steered() {
        let steering = Steering::default();
        steering.plan(&plan(vec![open(END)]));
        assert_eq!(steering.steer_at(NOW, 1.0, Nanos::ZERO), Err(Unsteered::NotAllowed));
        assert_eq!(steering.steer(1.0, Nanos::ZERO), Err(Unsteered::NotRunning));
        let closed = Scenario::new("b", Executor::Closed { vus: Curve::constant(1.0) }, END);
        for scenarios in [vec![closed], vec![open(END), open(END)], vec![open(Stop::Requests(5))]] {
            let steering = steered(scenarios, Ceiling::Rate(9.0));
            assert_eq!(steering.steer_at(NOW, 1.0, Nanos::ZERO), Err(Unsteered::Plan));
            assert_eq!(steering.most(), None);
        }
    }
}
