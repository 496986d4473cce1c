//! The open model: the plan decides the due times, whatever the target does.

use knee_core::outcome::Outcome;
use knee_core::plan::{Executor, Overflow, Stop, Terms};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::unit::Nanos;

use crate::harness::{millis, open, plan, run, secs};
use crate::target::Target;

#[test]
fn a_stall_counts_for_every_arrival_due_during_it() {
    // One arrival (due 1.0 s) meets the stall and waits 1,001 ms; nine queue behind it. The one
    // due at 1.3 s is sent fourth: done at 2.004 s, 704 ms after it was due.
    let outcomes = run(&open(10.0, 1, secs(3)), Target::serves_in(millis(1)).stalls(secs(1)..secs(2)));
    assert_eq!(
        outcomes.text(),
        "planned 30  ok 30\n\
         response      p50 1 p90 704 max 1001\n\
         service       p50 1 p90 1 max 1001\n\
         send delay    p50 0 p90 604 max 901\n\
         generator lag p50 0 p90 0 max 0"
    );
}

#[test]
fn with_enough_connections_a_stall_shows_in_both_times_and_delays_no_send() {
    let outcomes = run(&open(10.0, 50, secs(3)), Target::serves_in(millis(1)).stalls(secs(1)..secs(2)));
    assert_eq!(
        outcomes.text(),
        "planned 30  ok 30\n\
         response      p50 1 p90 701 max 1001\n\
         service       p50 1 p90 701 max 1001\n\
         send delay    p50 0 p90 0 max 0\n\
         generator lag p50 0 p90 0 max 0"
    );
}

#[test]
fn the_stall_oracle_holds_exactly() {
    // Gil Tene's test: 1,000/s for 60 s, a stall of 6 s. Arrival at s into the stall waits 6 - s,
    // so quantile p is T - (1 - p) D: 5.4 s at 99 %, 3.0 s at 95 %.
    let target = Target::serves_in(Nanos(0)).stalls(secs(20)..secs(26));
    let outcomes = run(&open(1_000.0, 10_000, secs(60)), target);
    let response = &outcomes.measured.all().outcomes[0].response;
    for (q, truth_ms) in [(0.99, 5_400), (0.95, 3_000)] {
        let value = response.quantile(q).expect("60,000 values");
        // One arrival is 1 ms; the histogram's bucket is a thousandth.
        let error = (value.as_millis_f64() - f64::from(truth_ms)).abs();
        assert!(error <= 1.0 + f64::from(truth_ms) / 1_000.0, "p{}: {value}", q * 100.0);
    }
    assert_eq!(response.quantile(0.89), Some(Nanos(0)));
}

#[test]
fn overload_increases_the_response_time_and_leaves_the_rest_unsent() {
    // Two workers of 100 ms serve 20/s; 40/s arrive for 10 s on two connections. Until 15 s (10 s
    // and 5 s of grace) the connection that began at 0 ms gets 150 responses, the one that began at
    // 25 ms 149. Both have one more request in flight; the other 99 are never sent.
    let outcomes = run(&open(40.0, 2, secs(10)), Target::serves_in(millis(100)).with_workers(2));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (400, [299, 0, 0, 0, 99, 2]));
    let unsent = &outcomes.measured.all().outcomes[4].response;
    // The first unsent arrival was due at 301 / 40 = 7.525 s, the last at 9.975 s.
    assert_eq!(unsent.max(), Some(millis(7_475)));
    assert_eq!(unsent.min(), Some(millis(5_025)));
}

#[test]
fn an_arrival_that_waits_longer_than_the_time_limit_is_unsent_at_its_limit() {
    // The target never responds on the one connection; the limit frees it every second.
    let mut plan = open(2.0, 1, secs(4));
    plan.request_timeout = Some(secs(1));
    let outcomes = run(&plan, Target::serves_in(millis(1)).hangs_every(1));
    // Sent at 0 s (due 0); at 1 s the arrival due at 0.5 s has waited 0.5 s, is sent, and ends at 2 s;
    // at 2 s the one due at 1.0 s has waited exactly the limit and is still sent; at 3 s the one due
    // at 1.5 s has waited 1.5 s: unsent; 2.0 s is sent; and so on.
    let books = outcomes.measured.accounting();
    assert_eq!(books.planned, 8);
    assert_eq!(books.difference(), 0);
    let unsent = &outcomes.measured.all().outcomes[4].response;
    assert_eq!((unsent.min(), unsent.max()), (Some(secs(1)), Some(secs(1))));
    let timeouts = &outcomes.measured.all().outcomes[3].service;
    assert_eq!((timeouts.min(), timeouts.max()), (Some(secs(1)), Some(secs(1))));
}

#[test]
fn a_ramp_sends_as_many_requests_as_the_area_under_it() {
    let rate = Curve { start: 0.0, stages: vec![Stage { duration: secs(2), target: 8.0 }] };
    let executor = Executor::Open { rate, arrivals: Arrivals::Uniform, users_max: 10 };
    let outcomes = run(&plan(executor, Stop::At(secs(2))), Target::serves_in(millis(1)));
    let dues: Vec<u64> = outcomes.dues.iter().map(|due| due.0 / 1_000_000).collect();
    assert_eq!(dues, [0, 707, 1_000, 1_224, 1_414, 1_581, 1_732, 1_870]);
}

#[test]
fn a_number_of_requests_is_sent_exactly_without_a_time_limit() {
    let mut plan = open(10.0, 50, secs(1));
    plan.scenarios[0].stop = Stop::Requests(7);
    let outcomes = run(&plan, Target::serves_in(secs(60)));
    assert_eq!(outcomes.measured.accounting().by_outcome, [7, 0, 0, 0, 0, 0]);
    assert_eq!(outcomes.ended, millis(60_600));
}

#[test]
fn several_workers_send_the_same_arrivals_as_one() {
    let mut plan = open(100.0, 8, secs(5));
    let one = run(&plan, Target::serves_in(millis(3)));
    plan.workers = 3;
    let three = run(&plan, Target::serves_in(millis(3)));
    let sorted = |mut dues: Vec<Nanos>| {
        dues.sort_unstable();
        dues
    };
    assert_eq!(sorted(one.dues), sorted(three.dues));
    assert_eq!(one.measured.accounting(), three.measured.accounting());
}

#[test]
fn an_arrival_is_dropped_only_if_no_worker_has_a_free_user() {
    // Three users of 250 ms serve 12 a second, so 10 a second find one free, on however many workers.
    for workers in [1, 2, 3] {
        let mut plan = open(10.0, 3, secs(10));
        plan.workers = workers;
        plan.scenarios[0].terms.overflow = Overflow::Drop;
        let outcomes = run(&plan, Target::serves_in(millis(250)));
        let accounting = outcomes.measured.accounting();
        assert_eq!((accounting.planned, accounting.by_outcome[0]), (100, 100), "{workers} workers");
    }
}

#[test]
fn what_finds_every_user_of_every_worker_busy_is_dropped() {
    // Three users of 250 ms begin 12 a second of 20, whichever worker an arrival is dealt to.
    let dropped = |workers| {
        let mut plan = open(20.0, 3, secs(10));
        plan.workers = workers;
        plan.scenarios[0].terms.overflow = Overflow::Drop;
        let accounting = run(&plan, Target::serves_in(millis(250))).measured.accounting();
        assert_eq!((accounting.planned, accounting.difference()), (200, 0), "{workers} workers");
        accounting.count(Outcome::Unsent)
    };
    assert_eq!((dropped(1), dropped(2), dropped(3)), (80, 80, 80));
}

#[test]
fn the_last_of_numbered_arrivals_is_sent_at_the_end_itself() {
    for workers in [1, 2] {
        let arrivals = Arrivals::Numbered { first: 0, count: 11 };
        let executor = Executor::Open { rate: Curve::constant(5.0), arrivals, users_max: 4 };
        let mut plan = plan(executor, Stop::At(secs(2)));
        plan.workers = workers;
        plan.scenarios[0].terms.overflow = Overflow::Drop;
        let outcomes = run(&plan, Target::serves_in(millis(3)));
        assert_eq!(outcomes.measured.accounting().by_outcome, [11, 0, 0, 0, 0, 0], "{workers} workers");
        assert_eq!(outcomes.dues.iter().max(), Some(&secs(2)));
    }
}

#[test]
fn users_beyond_the_first_are_made_when_an_arrival_finds_all_busy() {
    // Twenty a second of 250 ms need five users; each dropped arrival brings one more.
    for workers in [1, 2, 3] {
        let mut plan = open(20.0, 9_000, secs(10));
        plan.workers = workers;
        plan.scenarios[0].terms =
            Terms { overflow: Overflow::Drop, users_made_first: Some(2), ..Terms::default() };
        let outcomes = run(&plan, Target::serves_in(millis(250)));
        assert_eq!(outcomes.measured.accounting().count(Outcome::Unsent), 3, "{workers} workers");
        assert_eq!((outcomes.made, outcomes.exhausted), (vec![2, 3, 4], 0), "{workers} workers");
    }
}

#[test]
fn that_no_more_users_can_be_made_is_noted_once() {
    for workers in [1, 2] {
        let mut plan = open(20.0, 3, secs(10));
        plan.workers = workers;
        plan.scenarios[0].terms =
            Terms { overflow: Overflow::Drop, users_made_first: Some(2), ..Terms::default() };
        let outcomes = run(&plan, Target::serves_in(millis(250)));
        assert_eq!((outcomes.made, outcomes.exhausted), (vec![2], 1), "{workers} workers");
    }
}

#[test]
fn an_open_scenario_that_begins_later_drops_none_of_its_first_arrivals() {
    for workers in [1, 2] {
        let mut plan = open(10.0, 2, secs(2));
        plan.workers = workers;
        plan.scenarios[0].terms = Terms { overflow: Overflow::Drop, start: secs(3), ..Terms::default() };
        let outcomes = run(&plan, Target::serves_in(millis(20)));
        assert_eq!(outcomes.measured.accounting().by_outcome, [20, 0, 0, 0, 0, 0], "{workers} workers");
        assert_eq!(outcomes.dues.iter().min(), Some(&secs(3)));
    }
}
