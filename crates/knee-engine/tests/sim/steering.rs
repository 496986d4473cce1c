//! Changes of the rate during a run: arrivals are those of the plan, and then those of each change, exactly.

use knee_core::amendment::{Amendment, area_to_next};
use knee_core::outcome::Outcome;
use knee_core::plan::{Executor, Overflow, Plan, Stop, Terms};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::unit::Nanos;
use proptest::prelude::*;

use crate::harness::{Outcomes, StopSignal, millis, open, plan, run_with, secs};
use crate::target::Target;

fn steered(plan: &Plan, changes: &[(Nanos, f64, Nanos)]) -> Outcomes {
    run_with(plan, Target::serves_in(millis(1)), Some(StopSignal::Steer(changes.to_vec())))
}

fn of_workers(plan: Plan, workers: u16) -> Plan {
    Plan { workers, ..plan }
}

/// When requests were due, in order.
fn dues(outcomes: &Outcomes) -> Vec<Nanos> {
    let mut dues = outcomes.dues.clone();
    dues.sort_unstable();
    dues
}

#[test]
fn a_rate_that_is_raised_holds_from_the_next_interval_to_the_end_on_every_worker() {
    for workers in 1..=3 {
        let plan = of_workers(open(10.0, 30, secs(6)), workers);
        let outcomes = steered(&plan, &[(millis(2_500), 100.0, Nanos::ZERO)]);
        let dues = dues(&outcomes);
        let before = dues.iter().filter(|due| **due < secs(3)).count();
        assert_eq!((before, dues.len()), (30, 330), "{workers} workers");
        assert_eq!(outcomes.measured.accounting().count(Outcome::Ok), 330);
        assert_eq!(outcomes.measured.accounting().planned, 330);
        assert_eq!(outcomes.early, 0);
    }
}

#[test]
fn a_change_is_noticed_although_the_next_arrival_was_far_away() {
    let outcomes = steered(&open(0.1, 5, secs(10)), &[(millis(300), 10.0, Nanos::ZERO)]);
    assert_eq!(outcomes.measured.accounting().planned, 1 + 90);
    assert_eq!(outcomes.text().lines().last(), Some("generator lag p50 0 p90 0 max 0"));
}

#[test]
fn a_rate_that_fell_to_zero_can_rise_again() {
    for overflow in [Overflow::Wait, Overflow::Drop] {
        let mut plan = of_workers(open(10.0, 4, secs(10)), 2);
        plan.scenarios[0].terms = Terms { overflow, ..Terms::default() };
        let outcomes =
            steered(&plan, &[(millis(1_500), 0.0, Nanos::ZERO), (millis(5_500), 20.0, Nanos::ZERO)]);
        assert_eq!(outcomes.measured.accounting().planned, 20 + 80, "{overflow:?}");
        assert_eq!(outcomes.measured.accounting().count(Outcome::Ok), 100, "{overflow:?}");
        assert_eq!(outcomes.ended, secs(10), "{overflow:?}");
    }
}

#[test]
fn a_plan_whose_rate_ends_at_zero_can_be_raised_until_its_end() {
    let down = Curve { start: 10.0, stages: vec![Stage { duration: secs(2), target: 0.0 }] };
    let executor = Executor::Open { rate: down, arrivals: Arrivals::Uniform, users_max: 4 };
    let outcomes = steered(&plan(executor, Stop::At(secs(6))), &[(millis(3_500), 5.0, Nanos::ZERO)]);
    assert_eq!(outcomes.measured.accounting().planned, 10 + 10);
}

#[test]
fn a_load_that_is_stopped_after_it_was_steered_ends_then() {
    let plan = open(10.0, 4, secs(3));
    let outcomes = steered(&plan, &[(millis(100), 1_000.0, secs(2))]);
    // 20 in the first two seconds would be 10 each; from 1 s on the line has 1,010 in 2 s.
    assert_eq!(outcomes.measured.accounting().planned, 10 + 1_010);
    assert_eq!(outcomes.ended, secs(3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arrivals_are_those_of_the_plan_and_then_those_of_each_change(
        rate in 0.0..40.0_f64,
        workers in 1..4_u16,
        poisson in any::<bool>(),
        gaps in prop::collection::vec((0..2_000_u64, 0.0..40.0_f64, 0..3_000_u64), 0..5),
    ) {
        let end = secs(20);
        let arrivals = if poisson { Arrivals::Poisson { seed: 7 } } else { Arrivals::Uniform };
        let executor = Executor::Open { rate: Curve::constant(rate), arrivals, users_max: 12 };
        let plan = of_workers(plan(executor, Stop::At(end)), workers);
        // One change at a time: each is asked for when the one before has begun.
        let mut asked = Nanos::ZERO;
        let changes: Vec<_> = gaps.iter().map(|(gap, to, over)| {
            asked += millis(*gap + 1_400);
            (asked, *to, millis(*over))
        }).collect();
        let outcomes = steered(&plan, &changes);

        // The same by hand, without the engine.
        let mut segments: Vec<Amendment> = Vec::new();
        for (asked, to, over) in &changes {
            let at = secs((asked.0 + 300_000_000).div_ceil(1_000_000_000));
            let from = segments.last().map_or(rate, |last| last.curve().at(at.since(last.at)));
            let first = area_to_next(&Curve::constant(rate), Nanos::ZERO, &segments, at);
            segments.push(Amendment { at, from, over: *over, to: *to, first });
        }
        let mut expected: Vec<Nanos> =
            knee_core::schedule::Schedule::new(Curve::constant(rate), arrivals, end, u64::MAX).collect();
        for (number, segment) in segments.iter().enumerate() {
            expected.retain(|due| *due < segment.at);
            expected.extend(segment.arrivals(number, arrivals, end));
        }
        prop_assert_eq!(dues(&outcomes), expected);
        prop_assert_eq!(outcomes.early, 0);
    }
}
