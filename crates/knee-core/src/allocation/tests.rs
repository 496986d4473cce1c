//! Which VUs of a run work for which scenario, as k6's queue gives them out.

use proptest::prelude::*;

use super::*;
use crate::plan::{Overflow, Stop, Terms};
use crate::schedule::{Arrivals, Curve, Stage};

const fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

fn plan(scenarios: Vec<Scenario>) -> Plan {
    Plan {
        scenarios,
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: secs(30),
        request_timeout: None,
        connect_timeout: secs(1),
        workers: 2,
        interval: secs(1),
    }
}

/// `users` from `start` for five seconds, with no time to finish.
fn closed(users: u32, start: u64) -> Scenario {
    let terms = Terms { start: secs(start), grace: Some(Nanos::ZERO), ..Terms::default() };
    let executor = Executor::Closed { vus: Curve::constant(f64::from(users)) };
    Scenario { name: String::new(), executor, stop: Stop::At(secs(5)), terms, part: None }
}

fn vus(allocation: &Allocation) -> Vec<Vec<u32>> {
    allocation.scenarios.iter().map(|all| all.iter().map(|one| one.vu).collect()).collect()
}

#[test]
fn scenarios_that_follow_one_another_share_their_vus() {
    let allocation = Allocation::of(&plan(vec![closed(1, 0), closed(1, 5)]));
    assert_eq!((allocation.made_first, vus(&allocation)), (1, vec![vec![0], vec![0]]));
}

#[test]
fn scenarios_at_the_same_time_have_their_own_vus() {
    let allocation = Allocation::of(&plan(vec![closed(2, 0), closed(1, 4)]));
    assert_eq!((allocation.made_first, vus(&allocation)), (3, vec![vec![0, 1], vec![2]]));
}

#[test]
fn time_to_finish_keeps_a_vu_from_the_next_scenario() {
    let mut first = closed(1, 0);
    first.terms.grace = Some(secs(1));
    let allocation = Allocation::of(&plan(vec![first, closed(1, 5), closed(1, 11)]));
    assert_eq!(vus(&allocation), [[0], [1], [0]]);
}

#[test]
fn vus_that_have_not_worked_come_before_those_that_have() {
    let allocation = Allocation::of(&plan(vec![closed(1, 0), closed(1, 10), closed(2, 20)]));
    assert_eq!(vus(&allocation), [vec![0], vec![1], vec![0, 1]]);
}

#[test]
fn the_vu_that_left_a_ramp_last_comes_back_last() {
    let stage = |seconds, target| Stage { duration: secs(seconds), target };
    let vus_over_time = Curve { start: 0.0, stages: vec![stage(2, 2.0), stage(2, 0.0), stage(2, 2.0)] };
    let terms = Terms { grace: Some(Nanos::ZERO), ramp_down: Some(Nanos::ZERO), ..Terms::default() };
    let executor = Executor::Closed { vus: vus_over_time };
    let ramp = Scenario { name: String::new(), executor, stop: Stop::At(secs(7)), terms, part: None };
    let allocation = Allocation::of(&plan(vec![ramp.clone()]));
    assert_eq!(vus(&allocation), [[0, 1, 1, 0]]);
    let mut patient = ramp;
    patient.terms.ramp_down = Some(secs(30));
    let allocation = Allocation::of(&plan(vec![patient]));
    assert_eq!(
        vus(&allocation),
        [[0, 1]],
        "a user that comes back before its time to finish is over keeps its VU"
    );
}

#[test]
fn only_what_is_allocated_in_advance_is_made_before_an_open_scenario() {
    let executor =
        Executor::Open { rate: Curve::constant(10.0), arrivals: Arrivals::Uniform, users_max: 9_000 };
    let terms = Terms { users_made_first: Some(5), overflow: Overflow::Drop, ..Terms::default() };
    let open = Scenario { name: String::new(), executor, stop: Stop::At(secs(3)), terms, part: None };
    let allocation = Allocation::of(&plan(vec![open]));
    assert_eq!(allocation.made_first, 5);
    assert_eq!(allocation.manned(0, 2), [0, 1]);
    assert_eq!(allocation.of_worker(0, 1, 2).map(|one| one.vu).collect::<Vec<_>>(), [1, 3]);
}

proptest! {
    #[test]
    fn no_vu_is_ever_in_two_scenarios_at_once(
        wanted in proptest::collection::vec((1u32..5, 0u64..20, 0u64..3), 1..8)
    ) {
        let scenario = |&(users, start, grace): &(u32, u64, u64)| {
            let mut scenario = closed(users, start);
            scenario.terms.grace = Some(secs(grace));
            scenario
        };
        let allocation = Allocation::of(&plan(wanted.iter().map(scenario).collect()));
        let mut uses: Vec<(u32, u64, u64)> = Vec::new();
        for (place, &(users, start, grace)) in wanted.iter().enumerate() {
            prop_assert_eq!(allocation.scenarios[place].len(), users as usize);
            for one in &allocation.scenarios[place] {
                prop_assert!(one.vu < allocation.made_first);
                uses.push((one.vu, start, start + 5 + grace));
            }
        }
        for (number, one) in uses.iter().enumerate() {
            for other in &uses[number + 1..] {
                prop_assert!(one.0 != other.0 || one.2 <= other.1 || other.2 <= one.1, "{:?} {:?}", one, other);
            }
        }
    }
}
