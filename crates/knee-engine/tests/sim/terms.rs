//! Further terms of a script's scenario: start offset, iterations per user, arrivals that do not wait.

use knee_core::plan::{Executor, Overflow, Plan, Scenario, Stop};
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;

use crate::harness::{closed, millis, open, run, secs};
use crate::target::Target;

#[test]
fn a_scenario_that_starts_later_is_the_same_scenario_later() {
    let mut plan = open(10.0, 5, secs(1));
    plan.scenarios[0].terms.start = secs(2);
    let outcomes = run(&plan, Target::serves_in(millis(1)));
    let dues: Vec<u64> = outcomes.dues.iter().map(|due| due.0 / 1_000_000).collect();
    assert_eq!(dues, (20..30).map(|tenth| tenth * 100).collect::<Vec<u64>>());
    assert_eq!(outcomes.ended, secs(3));
}

#[test]
fn scenarios_run_in_parallel_each_to_its_own_end() {
    let users = |count: f64| Executor::Closed { vus: Curve::constant(count) };
    let mut plan: Plan = closed(1, Stop::At(secs(1)));
    plan.scenarios.push(Scenario::new("second", users(2.0), Stop::Requests(7)));
    plan.scenarios[1].terms.start = millis(500);
    let outcomes = run(&plan, Target::serves_in(millis(100)));
    // Ten iterations of the first scenario, exactly seven of the second: two users from 0.5 s, in four rounds.
    assert_eq!(outcomes.measured.accounting().by_outcome, [17, 0, 0, 0, 0, 0]);
    assert_eq!(outcomes.ended, secs(1));
}

#[test]
fn the_run_ends_after_the_planned_iterations_per_user() {
    let mut plan = closed(3, Stop::At(secs(600)));
    plan.scenarios[0].terms.turns_per_user = Some(4);
    let outcomes = run(&plan, Target::serves_in(millis(250)));
    assert_eq!(outcomes.measured.accounting().planned, 12);
    assert_eq!(outcomes.ended, secs(1));
}

#[test]
fn an_arrival_that_does_not_wait_is_unsent_when_every_user_is_busy() {
    // One user of 250 ms, ten arrivals at 100 ms: the ones at 0, 300, 600, 900 ms find it free.
    let mut plan = open(10.0, 1, secs(1));
    plan.scenarios[0].terms.overflow = Overflow::Drop;
    let outcomes = run(&plan, Target::serves_in(millis(250)));
    assert_eq!(outcomes.measured.accounting().by_outcome, [4, 0, 0, 0, 6, 0]);
    let unsent = &outcomes.measured.all().outcomes[4].response;
    assert_eq!(unsent.max(), Some(Nanos::ZERO), "nothing waited");
}

#[test]
fn a_maximum_duration_ends_a_scenario_with_a_number_of_requests() {
    let mut plan = closed(1, Stop::Requests(1_000));
    plan.scenarios[0].terms.max_duration = Some(secs(1));
    let outcomes = run(&plan, Target::serves_in(millis(100)));
    assert_eq!(outcomes.measured.accounting().planned, 10);
    assert_eq!(outcomes.ended, secs(1));
}
