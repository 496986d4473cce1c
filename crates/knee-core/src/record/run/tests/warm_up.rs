//! Requests of the warm-up, and those that span the measurement.

use super::*;
use crate::sampled::Sampled;

#[test]
fn the_warm_up_stays_out_of_the_totals_and_in_the_series() {
    let mut first = second(0, 0, 0, 0);
    count(first.warm_up.endpoint_mut(EndpointId(0)), 50, 40, 900);
    first.concurrency.max = 77;
    // Ten of the warm-up end later, among the measured ones.
    let mut next = second(1, 100, 100, 10);
    count(next.warm_up.endpoint_mut(EndpointId(0)), 0, 10, 900);
    next.concurrency.max = 5;
    let run = folded(head(100.0, 1, 1), &[first, next]).end(Ending::Completed);
    assert_eq!(run.warm_up.accounting().count(Outcome::Ok), 50);
    assert_eq!(run.measured.accounting().count(Outcome::Ok), 100);
    assert_eq!(run.concurrency.max, 5);
    assert!(run.series[0].warm_up && !run.series[1].warm_up);
    assert_eq!((run.series[0].planned, run.series[1].by_outcome[0]), (50, 110));
    assert!(!codes(&run).contains(&"books"));
}

/// Ten of eleven that came due in the warm-up are answered after the last arrival, one while it was measured.
fn stood_through(head: Head) -> RunBuilder {
    let mut warm_up = second(0, 0, 0, 0);
    count(warm_up.warm_up.endpoint_mut(EndpointId(0)), 111, 100, 90);
    let mut first = second(1, 100, 100, 100);
    count(first.warm_up.endpoint_mut(EndpointId(0)), 0, 1, 900);
    let mut late = second(3, 0, 0, 0);
    count(late.warm_up.endpoint_mut(EndpointId(0)), 0, 10, 3_100);
    folded(head, &[warm_up, first, second(2, 100, 100, 100), late])
}

#[test]
fn users_who_wait_all_through_the_measured_time_are_part_of_what_was_measured() {
    let mut head = head(1.0, 1, 2);
    head.plan.scenarios[0].executor = Executor::Closed { vus: Curve::constant(20.0) };
    let run = stood_through(head).end(Ending::Completed);
    assert_eq!(
        (run.from_warm_up, run.measured.accounting().planned, run.warm_up.accounting().planned),
        (10, 210, 101)
    );
    assert_eq!((run.measured.accounting().difference(), run.warm_up.accounting().difference()), (0, 0));
    let times = &run.measured.endpoints[0].outcomes[Outcome::Ok as usize].response;
    assert_eq!(times.max(), Some(Nanos::from_millis(3_100)));
    // 200 of 100 ms and 10 of 3,100 ms.
    assert!((times.mean().unwrap() / 1e6 - 242.857).abs() < 0.001, "{:?}", times.mean());
    assert!(!codes(&run).contains(&"books"), "{:?}", run.validity);
    let note = "10 requests spanned the measurement";
    assert!(run.validity.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.validity.notes);
}

#[test]
fn arrivals_that_do_not_wait_for_answers_are_measured_by_when_they_are_due_alone() {
    let run = stood_through(head(100.0, 1, 2)).end(Ending::Completed);
    assert_eq!(
        (run.from_warm_up, run.measured.accounting().planned, run.warm_up.accounting().planned),
        (0, 200, 111)
    );
    assert!(!codes(&run).contains(&"books"), "{:?}", run.validity);
}

#[test]
fn a_record_of_before_says_how_many_stood_as_its_tallies_do() {
    let mut head = head(1.0, 1, 2);
    head.plan.scenarios[0].executor = Executor::Closed { vus: Curve::constant(20.0) };
    let builder = stood_through(head);
    let mut validity = builder.clone().end(Ending::Completed).validity;
    validity.diagnostics.requests.from_warm_up = 0;
    let tail = Tail {
        ending: Ending::Completed,
        stopped: None,
        validity,
        intervals: builder.intervals(),
        sampled: Sampled::default(),
    };
    let run = builder.finish(Some(tail));
    assert_eq!((run.from_warm_up, run.validity.diagnostics.requests.from_warm_up), (10, 10));
}

#[test]
fn a_record_in_which_more_of_the_warm_up_ends_than_came_due_is_not_in_balance() {
    let mut head = head(1.0, 1, 1);
    head.plan.scenarios[0].executor = Executor::Closed { vus: Curve::constant(20.0) };
    let mut late = second(2, 0, 0, 0);
    count(late.warm_up.endpoint_mut(EndpointId(1)), 0, 3, 1_500);
    let run = folded(head, &[second(1, 10, 10, 5), late]).end(Ending::Completed);
    assert_eq!((run.from_warm_up, run.validity.diagnostics.requests.unaccounted), (0, 3));
}

#[test]
fn the_warm_up_of_a_truncated_record_balances_too() {
    let mut interval = second(0, 0, 0, 0);
    count(interval.warm_up.endpoint_mut(EndpointId(2)), 7, 4, 1);
    let run = folded(head(10.0, 5, 60), &[interval]).finish(None);
    assert_eq!(run.warm_up.accounting().count(Outcome::Censored), 3);
    assert_eq!(run.validity.diagnostics.requests.unaccounted, 0);
}
