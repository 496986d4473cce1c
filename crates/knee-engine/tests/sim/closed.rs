//! The closed model: users wait for their responses.

use knee_core::plan::{Executor, Stop};
use knee_core::schedule::{Curve, Stage};

use crate::harness::{closed, millis, plan, run, secs};
use crate::target::Target;

#[test]
fn each_user_sends_when_its_last_response_arrived() {
    // Two users, 100 ms per response, 1 s: ten iterations each; both times are the same.
    let outcomes = run(&closed(2, Stop::At(secs(1))), Target::serves_in(millis(100)));
    assert_eq!(
        outcomes.text(),
        "planned 20  ok 20\n\
         response      p50 100 p90 100 max 100\n\
         service       p50 100 p90 100 max 100\n\
         send delay    p50 0 p90 0 max 0\n\
         generator lag p50 0 p90 0 max 0"
    );
}

#[test]
fn a_closed_run_omits_requests_that_would_have_been_sent_during_a_stall() {
    // The reason for the open model: only one request per user meets the stall.
    let target = Target::serves_in(millis(100)).stalls(secs(1)..secs(2));
    let outcomes = run(&closed(2, Stop::At(secs(3))), target);
    assert_eq!(
        outcomes.text(),
        "planned 40  ok 40\n\
         response      p50 100 p90 100 max 1100\n\
         service       p50 100 p90 100 max 1100\n\
         send delay    p50 0 p90 0 max 0\n\
         generator lag p50 0 p90 0 max 0"
    );
}

#[test]
fn a_number_of_requests_is_exact_for_every_number_of_users_and_workers() {
    for (requests, users, workers) in [(1, 1, 1), (7, 3, 2), (200, 50, 2), (10, 10, 3), (999, 7, 2)] {
        let mut plan = closed(users, Stop::Requests(requests));
        plan.workers = workers;
        let outcomes = run(&plan, Target::serves_in(millis(5)).with_workers(3));
        assert_eq!(outcomes.measured.accounting().by_outcome, [requests, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn users_join_and_leave_on_a_ramp() {
    // 0 to 2 users in 2 s, then back in 2 s. User 0 is active from 1 s to 4 s, user 1 from 2 s to
    // 3 s; at 100 ms per iteration that is 30 + 10 iterations.
    let users = Curve {
        start: 0.0,
        stages: vec![Stage { duration: secs(2), target: 2.0 }, Stage { duration: secs(2), target: 0.0 }],
    };
    let outcomes =
        run(&plan(Executor::Closed { vus: users }, Stop::At(secs(4))), Target::serves_in(millis(100)));
    assert_eq!(outcomes.measured.accounting().planned, 40);
    assert_eq!(outcomes.concurrency.max, 2);
}

#[test]
fn failures_are_counted_and_the_user_continues() {
    let outcomes = run(&closed(1, Stop::At(secs(1))), Target::serves_in(millis(10)).resets_every(10));
    let books = outcomes.measured.accounting();
    assert_eq!((books.planned, books.by_outcome), (100, [90, 0, 10, 0, 0, 0]));
}

#[test]
fn a_slow_start_belongs_to_the_warm_up_if_the_plan_says_so() {
    // 800 ms extra for the first request, 400 for the second, …: responses at 0.9, 1.4, 1.7, 1.9, 2.05 s.
    // The first request due after the warm-up is the sixth, with 25 ms extra.
    let mut plan = closed(1, Stop::At(secs(4)));
    plan.warm_up = secs(2);
    let outcomes = run(&plan, Target::serves_in(millis(100)).starts_slowly(millis(800)));
    assert_eq!(outcomes.warm_up.accounting().difference(), 0);
    assert_eq!(outcomes.warm_up.all().outcomes[0].response.max(), Some(millis(900)));
    assert_eq!(outcomes.measured.all().outcomes[0].response.max().map(|max| max.0 / 1_000_000), Some(125));
}
