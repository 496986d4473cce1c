//! How much of the planned load the parts made: what is missing, and what ended early.
//!
//! Does not judge; the rules `parts`, `arrivals`, `start` and `builds` do.

use std::collections::BTreeSet;

use super::alike::Whole;
use super::part::Read;
use crate::plan::{Plan, Scenario};
use crate::record::{Ending, Lateness};
use crate::share::Share;
use crate::unit::Nanos;
use crate::validity::diagnostics::PartsFigures;

/// Most arrivals of a plan that are counted: beyond that, shares of time must do.
const ARRIVALS_MAX: u64 = 50_000_000;

/// What a part did not make of its load because it ended early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lost {
    /// Requests; `None` if its plan does not number them.
    pub requests: Option<u64>,
    /// The share of its requests, or of the time of its users if its plan does not number requests; `None` if iterations
    /// end it.
    pub share: Option<f64>,
}

impl Lost {
    /// Nothing.
    const NONE: Self = Self { requests: Some(0), share: Some(0.0) };

    /// What is lost of a part that ended early, of as many requests as planned.
    fn of(part: &Read, planned: Option<u64>) -> Self {
        let requests = planned.map(|planned| planned.saturating_sub(seen(part)));
        let plan = &part.head.plan;
        // The most time that iterations can take says nothing about what is missing of them.
        let is_timed = plan.scenarios.iter().all(|scenario| scenario.stop.duration().is_some());
        let known = match (requests, planned) {
            (Some(requests), Some(planned)) => Some((requests as f64, planned as f64)),
            _ => is_timed.then(|| (user_time(plan, part.run.ended), user_time(plan, Nanos::ZERO))),
        };
        let known = known.filter(|(_, all)| *all > 0.0);
        Self { requests, share: known.map(|(lost, all)| (lost / all).clamp(0.0, 1.0)) }
    }
}

/// How much of a load was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Extent {
    /// For each given part: what it did not make because it ended early.
    pub lost: Vec<Lost>,
    /// Shares of which there is no record, with the requests of their plans.
    pub missing: Vec<(Share, Option<u64>)>,
    /// The same of the whole, for the rules.
    pub figures: PartsFigures,
}

impl Extent {
    pub(super) fn of(whole: &Whole, parts: &[Read]) -> Self {
        // A part that was cut off cannot have heard of it.
        let mut heard = parts.iter().filter(|part| !part.was_cut_off()).peekable();
        let all_stopped = heard.peek().is_some() && heard.all(|part| part.run.stopped.is_some());
        let early: Vec<bool> = parts
            .iter()
            .map(|part| part.was_cut_off() || (part.run.stopped.is_some() && !all_stopped))
            .collect();
        let counts = Counts::of(&whole.head.plan);
        let planned: Vec<Option<u64>> = parts.iter().map(|part| counts.own(&part.head.plan)).collect();
        let lost = parts.iter().zip(&early).zip(&planned);
        let lost = lost
            .map(|((part, early), planned)| if *early { Lost::of(part, *planned) } else { Lost::NONE })
            .collect();
        let (started_apart, start_bound) = starts(parts);
        let builds: BTreeSet<_> =
            parts.iter().map(|part| (&part.head.build.version, &part.head.build.commit)).collect();
        let off = parts
            .iter()
            .zip(&planned)
            .filter(|(part, _)| part.run.ending == Ending::Completed && part.run.stopped.is_none());
        let off = off.map(|(part, planned)| planned.map_or(0, |planned| planned.abs_diff(seen(part))));
        let figures = PartsFigures {
            of: whole.shares.len() as u64,
            given: parts.len() as u64,
            ended_early: early.iter().filter(|early| **early).count() as u64,
            lost_share: lost_share(whole, &counts, parts, &early),
            arrivals_off: off.fold(0, u64::saturating_add),
            started_apart,
            start_bound,
            builds: builds.len() as u64,
        };
        let missing = whole.shares.iter().filter(|(_, place)| place.is_none());
        let missing = missing.map(|(share, _)| (share.clone(), counts.own(&plan_of(whole, share)))).collect();
        Self { lost, missing, figures }
    }
}

/// The time between the first start and the last, and how wrong that can be: by the clock of the controller if all know
/// it, else by the clocks of the machines.
fn starts(parts: &[Read]) -> (Nanos, Option<Nanos>) {
    let of_fleet = parts.iter().any(|part| part.agent().is_some());
    // A part that was cut off in its first second has not found it out.
    let late: Vec<(i64, Nanos)> =
        parts.iter().filter_map(|part| part.run.late.map(Lateness::centre)).collect();
    if of_fleet && !late.is_empty() {
        let centres = late.iter().map(|(centre, _)| *centre);
        let apart = centres.clone().max().unwrap_or_default().abs_diff(centres.min().unwrap_or_default());
        return (Nanos(apart), late.iter().map(|(_, bound)| *bound).max());
    }
    let started = parts.iter().map(|part| part.head.started);
    (started.clone().max().unwrap_or_default().since(started.min().unwrap_or_default()), None)
}

/// The plan of a share of the load.
fn plan_of(whole: &Whole, share: &Share) -> Plan {
    let scenarios = whole.head.plan.scenarios.iter().map(|scenario| scenario.clone().shared(share));
    Plan { scenarios: scenarios.collect(), ..whole.head.plan.clone() }
}

/// Requests that a part scheduled, with the warm-up.
fn seen(part: &Read) -> u64 {
    let Read { run, .. } = part;
    run.warm_up.accounting().planned.saturating_add(run.measured.accounting().planned)
}

/// The arrivals of each scenario on all machines together. Counted once: to walk through the schedule of all machines for
/// each of them would take as long as the square of their number.
struct Counts(Vec<Option<u64>>);

impl Counts {
    fn of(whole: &Plan) -> Self {
        let of_requests = !whole.endpoints.is_empty();
        let count = |scenario: &Scenario| scenario.whole_arrivals(ARRIVALS_MAX).filter(|_| of_requests);
        Self(whole.scenarios.iter().map(count).collect())
    }

    /// The requests of the plan of a part, or of the whole; `None` if it does not number them. A script's plan numbers
    /// iterations, not requests.
    fn own(&self, plan: &Plan) -> Option<u64> {
        if plan.endpoints.is_empty() {
            return None;
        }
        let mut own =
            plan.scenarios.iter().zip(&self.0).map(|(scenario, whole)| scenario.own_arrivals(*whole));
        own.try_fold(0_u64, |sum, one| Some(sum.saturating_add(one?)))
    }
}

/// The share of the load that was not made: of the requests where the plan numbers them, else of the users' time.
fn lost_share(whole: &Whole, counts: &Counts, parts: &[Read], early: &[bool]) -> f64 {
    let missing = whole.shares.iter().filter(|(_, place)| place.is_none());
    let missing: Vec<Plan> = missing.map(|(share, _)| plan_of(whole, share)).collect();
    let incomplete = || parts.iter().zip(early).filter(|(_, early)| **early).map(|(part, _)| part);
    if missing.is_empty() && incomplete().next().is_none() {
        return 0.0;
    }
    let in_requests = || -> Option<(f64, f64)> {
        let all = counts.own(&whole.head.plan)?;
        let gone =
            missing.iter().map(|plan| counts.own(plan)).try_fold(0_u64, |sum, one| Some(sum + one?))?;
        let mut cut = incomplete().map(|part| Some(counts.own(&part.head.plan)?.saturating_sub(seen(part))));
        let cut = cut.try_fold(0_u64, |sum, one| Some(sum + one?))?;
        Some((gone as f64 + cut as f64, all as f64))
    };
    let in_time = || {
        let gone: f64 = missing.iter().map(|plan| user_time(plan, Nanos::ZERO)).sum();
        let cut: f64 = incomplete().map(|part| user_time(&part.head.plan, part.run.ended)).sum();
        (gone + cut, user_time(&whole.head.plan, Nanos::ZERO))
    };
    let (lost, all) = in_requests().unwrap_or_else(in_time);
    if all > 0.0 { (lost / all).clamp(0.0, 1.0) } else { 0.0 }
}

/// The time of all users of a plan from `from` to its end, in user-seconds. Without an end, each user counts as 1.
fn user_time(plan: &Plan, from: Nanos) -> f64 {
    let of = |scenario: &Scenario| {
        let users = f64::from(scenario.users_max());
        scenario.ends().map_or(users, |ends| users * ends.since(from.max(scenario.terms.start)).as_secs_f64())
    };
    plan.scenarios.iter().map(of).sum()
}
