//! Which virtual users (VUs) of a run do the work of each scenario.
//!
//! As in k6, VUs belong to the run: a scenario takes its VUs from a queue when it needs them and puts them back when it no
//! longer does, so that scenarios which follow one another share them. The queue is worked out from the plan alone,
//! before the run, which tells each worker what it must prepare. Does not start anything, and knows nothing of VUs that
//! are made while the run goes on.

use std::collections::VecDeque;

use crate::plan::{Executor, Plan, Scenario};
use crate::share::Stripe;
use crate::unit::Nanos;

/// The VUs of a run that exist when it begins, and what each does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Number of VUs that are made before the run; they are numbered from 0.
    pub made_first: u32,
    /// What VUs do in each scenario of the plan, in the order in which it takes them.
    pub scenarios: Vec<Vec<Activation>>,
}

/// A VU at work for a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The VU's number in the run, from 0.
    pub vu: u32,
    /// When it is active on the run's clock: from and until, ascending.
    pub spans: Vec<(Nanos, Nanos)>,
}

impl Activation {
    /// When it begins.
    pub fn from(&self) -> Nanos {
        self.spans.first().map_or(Nanos::ZERO, |span| span.0)
    }
}

impl Allocation {
    /// Works out the VUs of a plan.
    pub fn of(plan: &Plan) -> Self {
        let needs = needs(plan);
        let made_first = most_at_once(&needs);
        let mut scenarios: Vec<Vec<Activation>> = plan.scenarios.iter().map(|_| Vec::new()).collect();
        let mut free: VecDeque<u32> = (0..made_first).collect();
        let mut held: Vec<u32> = vec![0; needs.len()];
        for event in events(&needs) {
            let need = &needs[event.need];
            if event.takes {
                // The queue is as long as the most that are ever taken at once.
                let Some(vu) = free.pop_front() else { continue };
                held[event.need] = vu;
                scenarios[need.scenario].push(Activation { vu, spans: need.spans.clone() });
            } else {
                free.push_back(held[event.need]);
            }
        }
        Self { made_first, scenarios }
    }

    /// The VUs of a scenario that belong to one of `workers` workers.
    pub fn of_worker(&self, scenario: usize, worker: u32, workers: u16) -> impl Iterator<Item = &Activation> {
        self.scenarios[scenario].iter().filter(move |one| one.vu % u32::from(workers.max(1)) == worker)
    }

    /// The workers that have a VU of a scenario at its start, ascending; all of them if none has one.
    pub fn manned(&self, scenario: usize, workers: u16) -> Vec<u32> {
        let workers = u32::from(workers.max(1));
        let mut manned: Vec<u32> = self.scenarios[scenario].iter().map(|one| one.vu % workers).collect();
        manned.sort_unstable();
        manned.dedup();
        if manned.is_empty() { (0..workers).collect() } else { manned }
    }
}

/// One VU that a scenario needs.
struct Need {
    scenario: usize,
    spans: Vec<(Nanos, Nanos)>,
    /// When it is back in the queue at the latest.
    back: Nanos,
}

impl Need {
    fn from(&self) -> Nanos {
        self.spans.first().map_or(Nanos::ZERO, |span| span.0)
    }
}

fn needs(plan: &Plan) -> Vec<Need> {
    plan.scenarios.iter().enumerate().flat_map(|(place, scenario)| needs_of(plan, place, scenario)).collect()
}

fn needs_of(plan: &Plan, place: usize, scenario: &Scenario) -> Vec<Need> {
    let terms = &scenario.terms;
    let ends = scenario.ends().unwrap_or(Nanos::MAX);
    let cut = ends.saturating_add(terms.grace.unwrap_or(plan.grace));
    let first = scenario.users_first();
    let whole = |_| Need { scenario: place, spans: vec![(terms.start, ends)], back: cut };
    match &scenario.executor {
        Executor::Open { .. } => (0..first).map(whole).collect(),
        Executor::Closed { vus } => {
            let later = |at: Nanos| at.saturating_add(terms.start);
            let grace = terms.ramp_down.unwrap_or(Nanos::MAX);
            let of_user = |user| {
                let spans = vus.active(user).into_iter().map(|(from, until)| (later(from), later(until)));
                let spans = spans.filter(|(from, _)| *from < ends);
                stays(spans, grace).into_iter().map(|spans| {
                    let until = spans.last().map_or(Nanos::MAX, |span| span.1);
                    Need { scenario: place, back: until.saturating_add(grace).min(cut), spans }
                })
            };
            let stripe = scenario.part.as_ref().map(|part| part.users.clone());
            Stripe::of(stripe, 0..scenario.whole_users_max()).flat_map(of_user).collect()
        }
    }
}

/// Spans of one user in groups: a user that is active again while its last iteration can still go on keeps its VU.
fn stays(spans: impl Iterator<Item = (Nanos, Nanos)>, grace: Nanos) -> Vec<Vec<(Nanos, Nanos)>> {
    let mut stays: Vec<Vec<(Nanos, Nanos)>> = Vec::new();
    for span in spans {
        match stays.last_mut() {
            Some(stay) if stay.last().is_some_and(|last| span.0 < last.1.saturating_add(grace)) => {
                stay.push(span);
            }
            _ => stays.push(vec![span]),
        }
    }
    stays
}

/// A VU is taken or put back.
struct QueueEvent {
    at: Nanos,
    takes: bool,
    need: usize,
}

/// All events in order. At the same time VUs are put back first, then taken in the plan's order.
fn events(needs: &[Need]) -> Vec<QueueEvent> {
    let mut events = Vec::with_capacity(needs.len() * 2);
    for (number, need) in needs.iter().enumerate() {
        events.push(QueueEvent { at: need.from(), takes: true, need: number });
        if need.back < Nanos::MAX {
            // What is needed for no time at all is still taken before it is put back.
            let at = need.back.max(need.from().saturating_add(Nanos(1)));
            events.push(QueueEvent { at, takes: false, need: number });
        }
    }
    events.sort_by_key(|event| (event.at, event.takes));
    events
}

fn most_at_once(needs: &[Need]) -> u32 {
    let (mut now, mut most) = (0u32, 0u32);
    for event in events(needs) {
        now = if event.takes { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests;
