//! What a run sums up to, and what is made of a record that was cut off.

mod judged;

mod saved;

mod warm_up;

use super::*;
use crate::generator::WorkerSample;
use crate::outcome::Outcome;
use crate::plan::{Executor, Plan, Scenario, Stop};
use crate::record::{Build, Machine};
use crate::schedule::{Arrivals, Curve};
use crate::tally::EndpointTally;
use crate::validity::Validity;

const SECOND: Nanos = Nanos::from_secs(1);

/// An open run at `rate` for `secs` seconds with a warm-up before.
fn head(rate: f64, warm_up: u64, secs: u64) -> Head {
    let executor =
        Executor::Open { rate: Curve::constant(rate), arrivals: Arrivals::Uniform, users_max: 1_000 };
    let stop = Stop::At(Nanos::from_secs(warm_up + secs));
    Head {
        plan: Plan {
            scenarios: vec![Scenario::new("default", executor, stop)],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::from_secs(warm_up),
            grace: Nanos::from_secs(5),
            request_timeout: None,
            connect_timeout: SECOND,
            workers: 1,
            interval: SECOND,
        },
        title: "test".into(),
        started: Nanos::ZERO,
        build: Build { version: "0".into(), commit: None, optimized: true },
        machine: Machine { cores: 8, ..Machine::default() },
        co_located: Some(false),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::from_secs(warm_up),
    }
}

/// One second in which `planned` came due and `ended` were answered in `millis` each.
fn second(number: u64, planned: u64, ended: u64, millis: u64) -> Interval {
    let mut interval =
        Interval { from: Nanos::from_secs(number), to: Nanos::from_secs(number + 1), ..Interval::default() };
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    count(endpoint, planned, ended, millis);
    interval.concurrency.area = u128::from(ended * millis * 1_000_000);
    interval.concurrency.clipped = interval.concurrency.area;
    interval.concurrency.at_end = ended * millis / 1_000;
    interval.generator.workers = vec![WorkerSample { cpu: 0.2, run_delay: Some(0.0) }];
    interval
}

fn count(endpoint: &mut EndpointTally, planned: u64, ended: u64, millis: u64) {
    endpoint.planned = planned;
    let ok = &mut endpoint.outcomes[Outcome::Ok as usize];
    ok.response.record_many(Nanos::from_millis(millis), ended);
    ok.service.record_many(Nanos::from_millis(millis), ended);
    endpoint.send_delay.record_many(Nanos::from_micros(20), ended);
    endpoint.generator_lag.record_many(Nanos::from_micros(20), ended);
    endpoint.bytes_received = ended * 100;
    endpoint.bytes_sent = ended * 20;
}

fn folded(head: Head, intervals: &[Interval]) -> RunBuilder {
    let mut builder = RunBuilder::new(head);
    for interval in intervals {
        builder.add(interval);
    }
    builder
}

fn codes(run: &Run) -> Vec<&str> {
    run.validity.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn a_healthy_run_sums_up_without_a_reason() {
    let intervals: Vec<_> = (0..10).map(|k| second(k, 1_000, 1_000, 20)).collect();
    let run = folded(head(1_000.0, 0, 10), &intervals).end(Ending::Completed);
    assert_eq!(codes(&run), [""; 0]);
    assert_eq!(run.validity.validity, Validity::Valid);
    assert_eq!(run.measured.accounting().planned, 10_000);
    assert_eq!(run.measured.accounting().difference(), 0);
    assert_eq!(run.window(), Nanos::from_secs(10));
    assert_eq!(run.validity.diagnostics.run.intervals, 10);
    assert_eq!(run.validity.diagnostics.load.sent_share, Some(1.002), "20 were in flight at the end");
    assert_eq!(run.validity.diagnostics.load.in_flight_mean, Some(20.0));
}

#[test]
fn each_point_of_the_series_tells_its_own_interval() {
    let run = folded(head(10.0, 0, 2), &[second(0, 10, 10, 5), second(1, 10, 9, 7)]).end(Ending::Aborted);
    let [first, second] = &run.series[..] else { panic!("{} points", run.series.len()) };
    assert_eq!(first.response.unwrap(), [Nanos::from_millis(5); 4]);
    assert_eq!(second.response.unwrap(), [Nanos::from_millis(7); 4]);
    assert_eq!((second.planned, second.by_outcome[0]), (10, 9));
    assert_eq!((second.bytes_received, second.bytes_sent), (900, 180));
    assert_eq!((second.from, second.to, second.warm_up), (SECOND, Nanos::from_secs(2), false));
}

#[test]
fn a_request_that_never_ended_makes_a_finished_run_invalid() {
    for ending in [Ending::Completed, Ending::Interrupted, Ending::Aborted] {
        let run = folded(head(10.0, 0, 2), &[second(0, 10, 10, 5), second(1, 10, 9, 5)]).end(ending);
        assert_eq!(codes(&run)[0], "books");
        assert_eq!(run.validity.validity, Validity::Invalid);
        assert_eq!(run.validity.diagnostics.requests.unaccounted, 1);
    }
}

#[test]
fn mistakes_of_two_endpoints_do_not_cancel_out() {
    let mut interval = second(0, 10, 11, 5);
    count(interval.measured.endpoint_mut(EndpointId(1)), 10, 9, 5);
    let run = folded(head(20.0, 0, 1), &[interval]).end(Ending::Completed);
    assert_eq!(run.measured.accounting().difference(), 0);
    assert_eq!(run.validity.diagnostics.requests.unaccounted, 2);
}

#[test]
fn what_was_open_when_knee_was_killed_is_censored_with_the_least_age_the_record_allows() {
    // 10 due in each of three seconds; 12 ended in the second. The record does not say which, but
    // at least 8 of the first 20 are open for 1 s, and all 10 of the last for some time.
    let intervals = [second(0, 10, 0, 1), second(1, 10, 12, 700), second(2, 10, 0, 1)];
    let run = folded(head(10.0, 0, 60), &intervals).finish(None);
    assert_eq!(run.ending, Ending::Truncated);
    assert_eq!(run.measured.accounting().count(Outcome::Censored), 18);
    assert_eq!(run.measured.accounting().difference(), 0);
    let censored = &run.measured.endpoints[0].outcomes[Outcome::Censored as usize];
    assert_eq!(censored.response.count_at_or_below(Nanos::ZERO), 10);
    assert_eq!(censored.response.max(), Some(SECOND));
    assert_eq!(censored.response.sum(), 8_000_000_000);
    assert_eq!(censored.service.count(), 0, "whether they were sent is not known");
    assert_eq!(run.validity.diagnostics.requests.censored, Some((18, SECOND)));
    assert!(codes(&run).contains(&"truncated") && !codes(&run).contains(&"books"));
    assert_eq!(run.validity.validity, Validity::Suspect);
}

#[test]
fn a_thousand_million_requests_take_no_more_room_than_a_thousand() {
    let room = |requests: u64| {
        let intervals: Vec<_> = (0..10).map(|k| second(k, requests / 10, requests / 10, 20 + k)).collect();
        let run = folded(head(1.0, 0, 10), &intervals).end(Ending::Completed);
        assert_eq!(run.measured.accounting().count(Outcome::Ok), requests);
        let response = &run.measured.endpoints[0].outcomes[Outcome::Ok as usize].response;
        (run.series.len(), response.iter().count())
    };
    assert_eq!(room(1_000), (10, 10));
    assert_eq!(room(1_000_000_000), (10, 10));
}

#[test]
fn endpoints_met_on_the_way_are_named_and_a_made_up_id_takes_no_memory() {
    let mut interval = second(0, 1, 1, 1);
    count(interval.measured.endpoint_mut(EndpointId(3)), 1, 1, 1);
    interval.endpoints_met = vec![
        (EndpointId(1), Endpoint { name: "GET /a".into() }),
        (EndpointId(2), Endpoint { name: "GET /b".into() }),
        (EndpointId(u32::MAX), Endpoint { name: "GET /never".into() }),
    ];
    let run = folded(head(2.0, 0, 1), &[interval]).end(Ending::Completed);
    let names: Vec<_> = run.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    assert_eq!(names, ["GET /", "GET /a", "GET /b", "endpoint 3"]);
}
