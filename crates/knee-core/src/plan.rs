//! The plan: what is to be sent and when. Pure data, saved in the record.
//!
//! Does not hold credentials or bodies (a record is meant to be shown to others), and does not
//! compute when anything is due; see [`crate::schedule`].

use serde::{Deserialize, Serialize};

use crate::schedule::{Arrivals, Curve, Schedule};
use crate::share::{Share, Stripe};
use crate::unit::Nanos;

/// Everything that decides what a run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenarios, which run in parallel; a one-liner has one.
    pub scenarios: Vec<Scenario>,
    /// The endpoints that are known before the run; the record announces those that appear later.
    pub endpoints: Vec<Endpoint>,
    /// Requests due before this time are counted separately, not in the totals.
    pub warm_up: Nanos,
    /// How long open requests can take to finish after the last arrival.
    pub grace: Nanos,
    /// Time limit of one request from sent to done, and of its wait to be sent; `None` for no limit.
    pub request_timeout: Option<Nanos>,
    /// Time limit for a connection: name, TCP and TLS together.
    pub connect_timeout: Nanos,
    /// Worker threads, each with its own runtime; 1 or more.
    pub workers: u16,
    /// Width of the intervals of the record; above zero.
    pub interval: Nanos,
}

impl Plan {
    /// The time of the last planned arrival as far as the plan bounds it; `None` if only the
    /// number of requests ends a scenario.
    pub fn duration(&self) -> Option<Nanos> {
        self.scenarios
            .iter()
            .map(|scenario| Some(scenario.terms.start.saturating_add(scenario.stop.duration()?)))
            .try_fold(Nanos::ZERO, |latest, end| end.map(|end| latest.max(end)))
    }

    /// When the last scenario ends at the latest. After that nothing comes due, and only responses are awaited. `MAX`
    /// if only the number of requests ends one.
    pub fn arrivals_end(&self) -> Nanos {
        self.scenarios.iter().map(|scenario| scenario.ends().unwrap_or(Nanos::MAX)).max().unwrap_or_default()
    }

    /// The planned number of requests; `None` if time ends a scenario.
    pub fn requests(&self) -> Option<u64> {
        self.scenarios
            .iter()
            .map(Scenario::requests)
            .try_fold(0u64, |sum, requests| requests.map(|requests| sum.saturating_add(requests)))
    }

    /// Whether any scenario sends on schedule instead of waiting for responses.
    pub fn is_open(&self) -> bool {
        self.scenarios.iter().any(|scenario| matches!(scenario.executor, Executor::Open { .. }))
    }

    /// The most requests that can be in flight at once, all scenarios together.
    pub fn users_max(&self) -> u64 {
        self.scenarios.iter().map(|scenario| u64::from(scenario.users_max())).sum()
    }
}

/// One stream of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name; `default` for a one-liner.
    pub name: String,
    /// Who decides when the next request goes out.
    pub executor: Executor,
    /// What ends it.
    pub stop: Stop,
    /// Settings that only scripts change; a one-liner has the defaults.
    #[serde(default)]
    pub terms: Terms,
    /// The part that this machine does; all of it if `None`. Everything else describes the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// The part of a scenario that one of several machines does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its users.
    pub users: Stripe,
    /// Its arrivals, or its iterations of those that all users share.
    pub turns: Stripe,
}

/// Settings of a scenario that only scripts change; the defaults change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// When it begins on the run's clock. All its other times count from there.
    pub start: Nanos,
    /// It ends after this time even if [`Stop`] counts requests (k6's `maxDuration`).
    pub max_duration: Option<Nanos>,
    /// Most iterations per virtual user (k6's `per-vu-iterations`).
    pub turns_per_user: Option<u64>,
    /// How long iterations can go on after its end (k6's `gracefulStop`); the plan's grace if `None`.
    pub grace: Option<Nanos>,
    /// How long an iteration can go on after its user should have left a ramp (k6's
    /// `gracefulRampDown`); as long as it needs if `None`.
    pub ramp_down: Option<Nanos>,
    /// What becomes of an arrival that finds every user busy.
    pub overflow: Overflow,
    /// Users of an open scenario that exist when it begins (k6's `preAllocatedVUs`); others are made when an arrival finds
    /// every user busy. All of them if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_made_first: Option<u32>,
}

/// What becomes of an arrival that finds every user busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// It waits its turn and keeps its due time.
    #[default]
    Wait,
    /// It is dropped at once and counts as unsent (k6's `dropped_iterations`).
    Drop,
}

impl Scenario {
    /// A scenario with default settings.
    pub fn new(name: impl Into<String>, executor: Executor, stop: Stop) -> Self {
        Self { name: name.into(), executor, stop, terms: Terms::default(), part: None }
    }

    /// The same scenario, of which this machine does its share. As in k6, arrivals and shared iterations are divided in
    /// proportion to the users that each machine has.
    #[must_use]
    pub fn shared(self, share: &Share) -> Self {
        let by_users = self.stop.requests().is_some() || matches!(self.executor, Executor::Open { .. });
        let turns =
            if by_users { share.stripe_by_users(u64::from(self.whole_users_max())) } else { share.stripe() };
        Self { part: Some(Part { users: share.stripe(), turns }), ..self }
    }

    /// The number of arrivals by the schedule on all machines together; `None` if the scenario is closed, or if there
    /// are more than `most`, because counting them takes time.
    pub fn whole_arrivals(&self, most: u64) -> Option<u64> {
        let Executor::Open { rate, arrivals, .. } = &self.executor else { return None };
        let end = self.ends().map_or(Nanos::MAX, |ends| ends.since(self.terms.start));
        let whole = Schedule::new(rate.clone(), *arrivals, end, self.stop.requests().unwrap_or(u64::MAX));
        let counted =
            whole.take(usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX)).count() as u64;
        (counted <= most).then_some(counted)
    }

    /// The number of arrivals on this machine, of as many on all machines together as [`Self::whole_arrivals`] says.
    /// Of a closed scenario its iterations; `None` if time ends it.
    pub fn own_arrivals(&self, whole: Option<u64>) -> Option<u64> {
        match (&self.executor, &self.part) {
            (Executor::Open { .. }, Some(part)) => whole.map(|whole| part.turns.count(whole)),
            (Executor::Open { .. }, None) => whole,
            _ => self.requests(),
        }
    }

    /// Whether there is anything to do on this machine.
    pub fn has_work(&self) -> bool {
        self.users_max() > 0 && self.requests() != Some(0)
    }

    /// The planned number of iterations on this machine; `None` if time ends the scenario.
    pub fn requests(&self) -> Option<u64> {
        let whole = self.stop.requests()?;
        Some(match (&self.part, self.terms.turns_per_user) {
            (None, _) => whole,
            (Some(_), Some(turns)) => turns.saturating_mul(u64::from(self.users_max())),
            (Some(part), None) => part.turns.count(whole),
        })
    }

    /// When arrivals end on the run's clock, as far as time ends them.
    pub fn ends(&self) -> Option<Nanos> {
        let span = [self.stop.duration(), self.terms.max_duration].into_iter().flatten().min()?;
        Some(self.terms.start.saturating_add(span))
    }

    /// The most users (for a one-liner: connections) that are active at once on this machine.
    pub fn users_max(&self) -> u32 {
        self.users_of(self.whole_users_max())
    }

    /// How many users of this machine exist when the scenario begins.
    pub fn users_first(&self) -> u32 {
        self.terms.users_made_first.map_or(u32::MAX, |whole| self.users_of(whole)).min(self.users_max())
    }

    /// Those of the first `whole` users that are of this machine.
    fn users_of(&self, whole: u32) -> u32 {
        // A part is no more than the whole.
        self.part.as_ref().map_or(whole, |part| part.users.count(u64::from(whole)) as u32)
    }

    /// The most users that are active at once on all machines together.
    pub fn whole_users_max(&self) -> u32 {
        match &self.executor {
            Executor::Closed { vus } => vus.peak().ceil() as u32,
            Executor::Open { users_max, .. } => *users_max,
        }
    }
}

/// Who decides when the next request goes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// Each user waits for its response before it continues.
    Closed {
        /// Active virtual users over time.
        #[serde(rename = "users")]
        vus: Curve,
    },
    /// Arrivals follow the plan, whether or not earlier ones were answered.
    Open {
        /// Requests per second over time.
        rate: Curve,
        /// How they are spread.
        arrivals: Arrivals,
        /// The most requests in flight; an arrival that finds all busy waits its turn and keeps
        /// its due time.
        users_max: u32,
    },
}

/// What ends a scenario: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this many requests.
    Requests(u64),
    /// At this time after the scenario's start (for a one-liner: on the run's clock).
    At(Nanos),
}

impl Stop {
    /// The time limit, if time is what ends it.
    pub const fn duration(self) -> Option<Nanos> {
        match self {
            Self::Requests(_) => None,
            Self::At(end) => Some(end),
        }
    }

    /// The number of requests, if that is what ends it.
    pub const fn requests(self) -> Option<u64> {
        match self {
            Self::Requests(requests) => Some(requests),
            Self::At(_) => None,
        }
    }
}

/// Where requests of one kind go; the unit of the tables in a report.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// The name shown: method and URL without credentials, or what a script named it.
    pub name: String,
}

/// An endpoint's place in the run's list of endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EndpointId(pub u32);

#[cfg(test)]
mod tests {
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

    fn scenario(stop: Stop, terms: Terms) -> Scenario {
        let executor = Executor::Closed { vus: Curve::constant(1.0) };
        Scenario { name: String::new(), executor, stop, terms, part: None }
    }

    #[test]
    fn iterations_that_a_time_cuts_short_end_with_that_time_and_not_with_their_last_answer() {
        let terms = Terms { max_duration: Some(Nanos::from_secs(6)), ..Terms::default() };
        let cut = plan(vec![scenario(Stop::Requests(1_000_000), terms)]);
        assert_eq!((cut.duration(), cut.arrivals_end()), (None, Nanos::from_secs(6)));
        let counted = plan(vec![scenario(Stop::Requests(10), Terms::default())]);
        assert_eq!(counted.arrivals_end(), Nanos::MAX);
    }

    #[test]
    fn a_scenario_that_begins_later_ends_later() {
        let later = Terms { start: Nanos::from_secs(5), ..Terms::default() };
        let ends = Stop::At(Nanos::from_secs(10));
        let plan = plan(vec![scenario(ends, Terms::default()), scenario(ends, later)]);
        assert_eq!(plan.duration(), Some(Nanos::from_secs(15)));
        assert_eq!(plan.arrivals_end(), Nanos::from_secs(15));
    }
}
