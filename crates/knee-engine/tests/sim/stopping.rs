//! How runs end: by plan, by grace, by a wish.

use knee_core::plan::{Plan, Stop};
use knee_core::schedule::{Curve, Stage};

use crate::harness::{Wish, closed, millis, open, run, run_with, secs};
use crate::target::Target;

#[test]
fn what_is_open_when_the_grace_is_over_is_censored_with_its_age() {
    // The last of ten arrivals hangs: due at 0.9 s, still open at 1 s + 5 s.
    let outcomes = run(&open(10.0, 50, secs(1)), Target::serves_in(millis(1)).hangs_every(10));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (10, [9, 0, 0, 0, 0, 1]));
    assert_eq!(outcomes.measured.all().outcomes[5].response.max(), Some(millis(5_100)));
    assert_eq!(outcomes.ended, secs(6));
}

#[test]
fn a_run_ends_as_soon_as_nothing_is_open() {
    let outcomes = run(&open(10.0, 50, secs(1)), Target::serves_in(millis(250)));
    assert_eq!(outcomes.ended, millis(1_150));
    let outcomes = run(&closed(3, Stop::At(secs(1))), Target::serves_in(millis(300)));
    assert_eq!(outcomes.ended, millis(1_200));
}

#[test]
fn a_wish_to_stop_ends_arrivals_and_lets_the_open_ones_finish() {
    let wish = Wish::Stop(millis(2_040));
    let outcomes = run_with(&open(10.0, 50, secs(60)), Target::serves_in(millis(400)), Some(wish));
    // Noticed at the next look, 2,050 ms: arrivals due at 0.0 … 2.0 s.
    assert_eq!(outcomes.measured.accounting().by_outcome, [21, 0, 0, 0, 0, 0]);
    assert_eq!(outcomes.ended, millis(2_400));
}

#[test]
fn a_wish_to_abort_ends_everything_at_once() {
    let wish = Wish::Abort(millis(2_040));
    let outcomes = run_with(&open(10.0, 50, secs(60)), Target::serves_in(millis(400)), Some(wish));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (21, [17, 0, 0, 0, 0, 4]));
    assert_eq!(outcomes.ended, millis(2_050));
}

#[test]
fn users_that_wait_for_their_place_on_a_ramp_do_not_hold_up_the_end() {
    let mut plan = closed(1, Stop::At(secs(60)));
    let users = Curve { start: 1.0, stages: vec![Stage { duration: secs(60), target: 10.0 }] };
    plan.scenarios[0].executor = knee_core::plan::Executor::Closed { vus: users };
    let outcomes = run_with(&plan, Target::serves_in(millis(100)), Some(Wish::Stop(millis(1_010))));
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
fn an_interval_ends_exactly_where_the_warm_up_and_the_arrivals_do() {
    // Neither lies on the grid of whole seconds. At 2.75 s requests of 130 ms are in flight, which
    // end in an interval of their own.
    for plan in [open(100.0, 50, millis(2_750)), closed(4, Stop::At(millis(2_750)))] {
        let plan = Plan { warm_up: millis(1_300), workers: 2, ..plan };
        let outcomes = run(&plan, Target::serves_in(millis(130)));
        for ends in outcomes.interval_ends {
            assert_eq!(ends[..4], [1_000, 1_300, 2_000, 2_750].map(millis), "{:?}", plan.scenarios);
            assert_eq!((ends.len(), ends[4] > millis(2_750)), (5, true));
        }
    }
}
