//! How runs end: by plan, after the grace period, by a signal.

use knee_core::outcome::Outcome;
use knee_core::plan::{Plan, Stop};
use knee_core::schedule::{Curve, Stage};

use crate::harness::{StopSignal, closed, millis, open, run, run_in, run_with, secs};
use crate::target::Target;
use crate::world::World;

#[test]
fn open_requests_at_the_end_of_grace_are_censored_with_their_age() {
    // The last of ten arrivals hangs: due at 0.9 s, still open at 1 s + 5 s.
    let outcomes = run(&open(10.0, 50, secs(1)), Target::serves_in(millis(1)).hangs_every(10));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (10, [9, 0, 0, 0, 0, 1]));
    assert_eq!(outcomes.measured.all().outcomes[5].response.max(), Some(millis(5_100)));
    assert_eq!(outcomes.ended, secs(6));
}

#[test]
fn a_run_ends_as_soon_as_no_request_is_open() {
    let outcomes = run(&open(10.0, 50, secs(1)), Target::serves_in(millis(250)));
    assert_eq!(outcomes.ended, millis(1_150));
    let outcomes = run(&closed(3, Stop::At(secs(1))), Target::serves_in(millis(300)));
    assert_eq!(outcomes.ended, millis(1_200));
}

#[test]
fn a_stop_ends_arrivals_and_lets_open_requests_finish() {
    let signal = StopSignal::Stop(millis(2_040));
    let outcomes = run_with(&open(10.0, 50, secs(60)), Target::serves_in(millis(400)), Some(signal));
    // Noticed at the next check, 2,050 ms: arrivals due at 0.0 … 2.0 s.
    assert_eq!(outcomes.measured.accounting().by_outcome, [21, 0, 0, 0, 0, 0]);
    assert_eq!(outcomes.ended, millis(2_400));
}

#[test]
fn a_stop_just_after_an_arrival_was_due_neither_loses_it_nor_waits_for_the_end_of_grace() {
    for stopped in (500..3_000).step_by(50) {
        for late in [1, 2, 3, 4] {
            let world = World::with_late_timers(millis(late));
            let (plan, target) = (open(200.0, 50, secs(60)), Target::serves_in(millis(1)));
            let (outcomes, _) = run_in(world, &plan, target, Some(StopSignal::Stop(millis(stopped))));
            let what = format!("stopped at {stopped} ms, timers {late} ms late");
            assert_eq!(outcomes.measured.accounting().count(Outcome::Unsent), 0, "{what}");
            assert!(outcomes.ended < millis(stopped + 200), "{what}: ended at {}", outcomes.ended);
        }
    }
}

#[test]
fn an_abort_ends_everything_at_once() {
    let signal = StopSignal::Abort(millis(2_040));
    let outcomes = run_with(&open(10.0, 50, secs(60)), Target::serves_in(millis(400)), Some(signal));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (21, [17, 0, 0, 0, 0, 4]));
    assert_eq!(outcomes.ended, millis(2_050));
}

#[test]
fn users_that_wait_for_a_ramp_do_not_delay_the_end() {
    let mut plan = closed(1, Stop::At(secs(60)));
    let users = Curve { start: 1.0, stages: vec![Stage { duration: secs(60), target: 10.0 }] };
    plan.scenarios[0].executor = knee_core::plan::Executor::Closed { vus: users };
    let outcomes = run_with(&plan, Target::serves_in(millis(100)), Some(StopSignal::Stop(millis(1_010))));
    assert!(outcomes.ended <= millis(1_200), "{}", outcomes.ended);
}

#[test]
fn intervals_follow_each_other_without_gap() {
    let mut plan = open(10.0, 50, secs(3));
    plan.workers = 2;
    let outcomes = run(&plan, Target::serves_in(millis(1)));
    for ends in outcomes.interval_ends {
        let whole: Vec<u64> = ends.iter().map(|end| end.0 / 1_000_000_000).collect();
        assert_eq!(whole, [1, 2, 3], "{ends:?}");
    }
}

#[test]
fn an_interval_ends_exactly_at_the_end_of_warm_up_and_of_arrivals() {
    // Neither lies on the grid of whole seconds. At 2.75 s requests of 130 ms are in flight, which
    // end in a separate interval.
    for plan in [open(100.0, 50, millis(2_750)), closed(4, Stop::At(millis(2_750)))] {
        let plan = Plan { warm_up: millis(1_300), workers: 2, ..plan };
        let outcomes = run(&plan, Target::serves_in(millis(130)));
        for ends in outcomes.interval_ends {
            assert_eq!(ends[..4], [1_000, 1_300, 2_000, 2_750].map(millis), "{:?}", plan.scenarios);
            assert_eq!((ends.len(), ends[4] > millis(2_750)), (5, true));
        }
    }
}
