//! What a run sums up to, and what is made of a record that was cut off.

use super::*;
use crate::estimate::Distribution;
use crate::generator::{LoopLag, WorkerSample};
use crate::outcome::{Blame, Fault, Outcome};
use crate::plan::{Executor, Plan, Scenario, Stop};
use crate::record::format::{GAVE_UP, Note, ReadError, Reader, Writer};
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
    assert_eq!((second.planned, second.by_outcome[0], second.bytes_received), (10, 9, 900));
    assert_eq!((second.from, second.to, second.warm_up), (SECOND, Nanos::from_secs(2), false));
}

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
    let tail = Tail { ending: Ending::Completed, stopped: None, validity, intervals: builder.intervals() };
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
fn the_warm_up_of_a_truncated_record_balances_too() {
    let mut interval = second(0, 0, 0, 0);
    count(interval.warm_up.endpoint_mut(EndpointId(2)), 7, 4, 1);
    let run = folded(head(10.0, 5, 60), &[interval]).finish(None);
    assert_eq!(run.warm_up.accounting().count(Outcome::Censored), 3);
    assert_eq!(run.validity.diagnostics.requests.unaccounted, 0);
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

/// A written record of `seconds` healthy seconds, and the run as its maker summed it up.
fn written(seconds: u64, claimed: u64) -> (Vec<u8>, Run) {
    let head = head(1_000.0, 0, seconds);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut builder = RunBuilder::new(head);
    for number in 0..seconds {
        let interval = second(number, 1_000, 1_000, 20);
        writer.interval(&interval).unwrap();
        builder.add(&interval);
    }
    let run = builder.end(Ending::Completed);
    let tail =
        Tail { ending: Ending::Completed, stopped: None, validity: run.validity.clone(), intervals: claimed };
    (writer.tail(&tail).unwrap(), run)
}

#[test]
fn a_record_is_read_as_the_run_that_was_made() {
    let (bytes, run) = written(5, 5);
    let reading = read(&*bytes).unwrap();
    assert!(reading.damage.is_none());
    assert_eq!(reading.run, run);
}

#[test]
fn a_record_that_lost_an_interval_is_invalid() {
    let (bytes, _) = written(5, 6);
    let run = read(&*bytes).unwrap().run;
    assert_eq!((run.validity.validity, codes(&run)), (Validity::Invalid, vec!["intervals"]));
}

#[test]
fn a_validity_once_given_stands() {
    let head = head(1_000.0, 0, 1);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    writer.interval(&second(0, 1_000, 1_000, 20)).unwrap();
    let mut validity = folded(head, &[second(0, 1_000, 1_000, 20)]).end(Ending::Completed).validity;
    validity.notes.push("a note that this version would not make".into());
    let tail = Tail { ending: Ending::Completed, stopped: None, validity: validity.clone(), intervals: 1 };
    let bytes = writer.tail(&tail).unwrap();
    assert_eq!(read(&*bytes).unwrap().run.validity, validity);
}

/// Where each frame of a record begins; the head first.
fn places(bytes: &[u8]) -> Vec<usize> {
    let mut places = vec![12];
    while let Some(length) = bytes.get(places[places.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        places.push(places[places.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    places
}

#[test]
fn a_damaged_interval_is_missing_and_the_record_is_called_damaged_with_the_place() {
    let (mut bytes, _) = written(5, 5);
    let place = places(&bytes)[3];
    bytes[place + 20] ^= 0x10;
    let Reading { run, damage, .. } = read(&*bytes).unwrap();
    assert!(matches!(damage, Some(ReadError::Damaged { .. })));
    assert_eq!(
        (&run.ending, run.series.len(), run.validity.validity),
        (&Ending::Completed, 4, Validity::Invalid)
    );
    assert_eq!(codes(&run), ["intervals", "damaged"]);
    assert_eq!(run.validity.warnings[0].message, "an interval of the record is missing");
    assert_eq!(run.validity.warnings[1].message, format!("the record is damaged at byte {place}"));
}

#[test]
fn bytes_behind_the_end_make_a_record_suspect_and_cost_nothing() {
    let (mut bytes, whole) = written(5, 5);
    bytes.extend(b"\nappended");
    let run = read(&*bytes).unwrap().run;
    assert_eq!((&run.ending, &run.measured), (&Ending::Completed, &whole.measured));
    assert_eq!((run.validity.validity, codes(&run)), (Validity::Suspect, vec!["damaged"]));
}

#[test]
fn a_record_that_lost_its_end_to_damage_is_not_called_one_of_a_killed_program() {
    let (mut bytes, _) = written(5, 5);
    let places = places(&bytes);
    // The third interval and the tail.
    for place in [places[3], places[6]] {
        bytes[place + 20] ^= 0x10;
    }
    let run = read(&*bytes).unwrap().run;
    assert_eq!((&run.ending, run.series.len()), (&Ending::Truncated, 4));
    assert_eq!(codes(&run), ["intervals", "damaged"]);
    let told = format!("the record is damaged in 2 places, first at byte {}", places[3]);
    assert_eq!(run.validity.warnings[1].message, told);
}

#[test]
fn a_record_whose_writer_gave_up_says_why() {
    let head = head(1_000.0, 0, 5);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    writer.interval(&second(0, 1_000, 1_000, 20)).unwrap();
    let text = format!("{GAVE_UP}no space left on device");
    writer.note(&Note { at: SECOND, text }).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    assert_eq!(codes(&run), ["truncated"]);
    let told = "the record ends before the run did: no space left on device";
    assert_eq!(run.validity.warnings[0].message, told);
}

#[test]
fn a_slow_request_across_the_end_of_the_steady_part_does_not_break_littles_law() {
    // A thousand requests of 1 ms a second, and one of 200 ms in flight at the end of the last second: what it has
    // taken until then is in the area and not among the service times, of which one of 200 ms was seen before.
    let mut intervals: Vec<_> = (0..3).map(|k| second(k, 1_000, 1_000, 1)).collect();
    let tally = intervals[0].measured.endpoint_mut(EndpointId(0));
    count(tally, 1_001, 1, 200);
    intervals[0].concurrency.area += 200_000_000;
    intervals[2].concurrency.area += 150_000_000;
    intervals[2].concurrency.at_end = 1;
    for interval in &mut intervals {
        interval.concurrency.clipped = interval.concurrency.area;
    }
    let run = folded(head(1_000.0, 0, 3), &intervals).end(Ending::Completed);
    assert!(!codes(&run).contains(&"littles_law"), "{:?}", run.validity.diagnostics.load);
}

#[test]
fn load_that_piles_up_breaks_littles_law() {
    // 100 due and sent a second, 50 answered: in flight grows by 50 a second, each answered one
    // was open for half of the time since the start.
    let mut intervals = Vec::new();
    for number in 0..60u64 {
        let mut interval = second(number, 100, 50, number * 500 + 250);
        interval.concurrency.at_end = (number + 1) * 50;
        interval.concurrency.area = u128::from(number * 50 + 25) * 1_000_000_000;
        interval.concurrency.clipped = interval.concurrency.area;
        intervals.push(interval);
    }
    let run = folded(head(100.0, 0, 60), &intervals).finish(None);
    assert!(codes(&run).contains(&"littles_law"), "{:?}", run.validity.diagnostics);
    assert!((run.validity.diagnostics.load.little_residual.unwrap() - 0.5).abs() < 0.001);
    // 3,000 in flight at the end, 10 s old in the mean, of 90,000 request-seconds.
    assert!((run.validity.diagnostics.load.little_allowance - 1.0 / 3.0).abs() < 0.01);
}

#[test]
fn a_plan_with_stages_is_not_held_to_a_steady_state() {
    let mut head = head(1_000.0, 0, 10);
    let stage = crate::schedule::Stage { duration: SECOND, target: 5.0 };
    let rate = Curve { start: 1.0, stages: vec![stage] };
    head.plan.scenarios[0].executor = Executor::Open { rate, arrivals: Arrivals::Uniform, users_max: 9 };
    let intervals: Vec<_> = (0..10).map(|k| second(k, 1_000, 1_000, 20)).collect();
    let run = folded(head, &intervals).end(Ending::Completed);
    assert_eq!(run.validity.diagnostics.load.little_residual, None);
}

#[test]
fn short_intervals_at_the_ends_do_not_count_for_cpu_use() {
    let mut intervals: Vec<_> = (0..3).map(|k| second(k, 1_000, 1_000, 20)).collect();
    let mut last = second(3, 0, 0, 0);
    last.to = last.from + Nanos::from_millis(100);
    last.generator.workers[0].cpu = 1.0;
    intervals.push(last);
    let run = folded(head(1_000.0, 0, 4), &intervals).end(Ending::Interrupted);
    assert_eq!(run.validity.diagnostics.generator.worker_cpu_max, Some(0.2));
    assert_eq!(run.validity.diagnostics.generator.worker_cpu_saturated, Some(0.0));
}

#[test]
fn waiting_for_a_cpu_is_that_of_the_worst_worker_over_the_whole_run() {
    let mut intervals: Vec<_> = (0..4).map(|k| second(k, 10, 10, 20)).collect();
    for (interval, delay) in intervals.iter_mut().zip([0.0, 0.0, 0.0, 0.2]) {
        interval.generator.workers.push(WorkerSample { cpu: 0.1, run_delay: Some(delay) });
    }
    let run = folded(head(10.0, 0, 4), &intervals).end(Ending::Completed);
    assert!((run.validity.diagnostics.generator.run_delay.unwrap() - 0.05).abs() < 1e-9);
}

#[test]
fn an_interval_that_took_too_long_shows_that_knee_stood_still() {
    let mut intervals = [second(0, 10, 10, 5), second(1, 10, 10, 5)];
    intervals[1].to = Nanos::from_secs(4);
    let stopped = folded(head(10.0, 0, 10), &intervals).end(Ending::Interrupted);
    assert_eq!(stopped.validity.diagnostics.generator.stall, Nanos::from_secs(2));
    // The same at the end of the plan is the grace period.
    let grace = folded(head(10.0, 0, 2), &intervals).end(Ending::Completed);
    assert_eq!(grace.validity.diagnostics.generator.stall, Nanos::ZERO);
}

#[test]
fn the_wall_clock_is_judged_by_steps_not_by_drift() {
    let drifting = |step: i64| {
        let mut intervals: Vec<_> = (0..10).map(|k| second(k, 10, 10, 5)).collect();
        for (number, interval) in (0..).zip(&mut intervals) {
            interval.generator.wall_drift_ns = number * 20_000_000 + step * i64::from(number > 5);
        }
        folded(head(10.0, 0, 10), &intervals)
            .end(Ending::Completed)
            .validity
            .diagnostics
            .generator
            .wall_drift_ns
    };
    assert_eq!(drifting(0), 20_000_000);
    assert_eq!(drifting(-3_000_000_000), -2_980_000_000);
}

#[test]
fn faults_are_charged_to_the_generator_by_their_blame() {
    let mut interval = second(0, 10, 7, 5);
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    endpoint.outcomes[Outcome::TransportError as usize].response.record_many(SECOND, 3);
    endpoint.note_fault(Fault::PortsExhausted, 2, None);
    endpoint.note_fault(Fault::Refused, 1, None);
    let run = folded(head(10.0, 0, 1), &[interval]).end(Ending::Completed);
    assert_eq!(run.validity.diagnostics.requests.generator_faults, 2);
    assert!(codes(&run).contains(&"generator_faults"));
}

#[test]
fn bodies_are_looked_at_by_endpoint() {
    let mut interval = second(0, 1, 1, 1);
    interval.measured.endpoint_mut(EndpointId(0)).bodies.seen = vec![(1, 10), (2, 10)];
    interval.measured.endpoint_mut(EndpointId(1)).bodies.seen = vec![(3, 0), (4, 20)];
    let requests = folded(head(10.0, 0, 1), &[interval]).end(Ending::Completed).validity.diagnostics.requests;
    assert_eq!(requests.bodies, (4, false));
    assert_eq!((requests.endpoints_of_many_lengths, requests.endpoints_of_empty_bodies), (1, 1));
}

#[test]
fn a_pause_inside_an_interval_of_a_closed_load_is_suspect() {
    let mut head = head(1.0, 0, 10);
    head.plan.scenarios[0].executor = Executor::Closed { vus: Curve::constant(20.0) };
    let mut intervals: Vec<_> = (0..10).map(|k| second(k, 1_000, 1_000, 20)).collect();
    for (number, interval) in (0..).zip(&mut intervals) {
        let mut lag = LoopLag::default();
        (0..200).for_each(|_| lag.note(Nanos::from_micros(30), 5, 0));
        if number == 4 {
            lag.note(Nanos::from_millis(300), 20, 5);
        }
        interval.generator.loop_lag = Some(lag);
    }
    let run = folded(head, &intervals).end(Ending::Completed);
    assert_eq!(codes(&run), ["stall"]);
    assert_eq!(run.validity.diagnostics.generator.paused, Nanos::from_millis(300));
}

#[test]
fn arrivals_that_wait_for_a_connection_count_as_not_sent() {
    // 1,000 come due each second, 250 are taken up and answered; the rest waits.
    let intervals: Vec<_> = (0..4)
        .map(|k| {
            let mut interval = second(k, 250, 250, 4);
            interval.backlog = (k + 1) * 750;
            interval
        })
        .collect();
    let run = folded(head(1_000.0, 0, 4), &intervals).end(Ending::Completed);
    let load = &run.validity.diagnostics.load;
    assert_eq!(
        (load.sent_share, load.due_per_s, load.taken_per_s),
        (Some(0.250_25), Some(1_000.0), Some(250.0))
    );
    let told = "overloaded: the server handles 250 of 1,000 requests/s on 1,000 connections";
    assert_eq!(run.validity.warnings[0].message, told);
}

#[test]
fn a_run_that_was_stopped_has_its_rates_over_the_time_until_then() {
    let mut builder = folded(head(100.0, 0, 60), &[second(0, 100, 100, 5), second(1, 100, 100, 5)]);
    builder.stop(Nanos::from_millis(2_200));
    let mut last = second(2, 20, 20, 5);
    last.to = Nanos::from_secs(7);
    builder.add(&last);
    let run = builder.end(Ending::Interrupted);
    assert_eq!((run.window(), run.ended), (Nanos::from_millis(2_200), Nanos::from_secs(7)));
    assert_eq!(codes(&run), [""; 0]);
}

#[test]
fn many_workers_on_few_cpus_saturate_them_together() {
    let saturated = |cores: u32| {
        let mut head = head(10.0, 0, 4);
        head.machine.cores = cores;
        let mut intervals: Vec<_> = (0..4).map(|k| second(k, 10, 10, 20)).collect();
        for interval in &mut intervals {
            interval.generator.workers = vec![WorkerSample { cpu: 0.48, run_delay: Some(0.5) }; 2];
        }
        folded(head, &intervals).end(Ending::Completed).validity.diagnostics.generator.worker_cpu_saturated
    };
    assert_eq!((saturated(1), saturated(2)), (Some(1.0), Some(0.0)));
}

#[test]
fn requests_that_ended_in_a_way_not_known_here_are_counted_named_and_in_balance() {
    let head = head(10.0, 0, 1);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut interval = second(0, 10, 6, 5);
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    let shed = endpoint.unknown.outcome_mut("shed");
    shed.lower_bound = true;
    shed.times.response.record_many(Nanos::from_millis(900), 4);
    endpoint.unknown.phase_mut("queue").times.record(SECOND);
    endpoint.unknown.note_fault("overloaded", Some(Blame::Generator), 4, Some("later"));
    writer.interval(&interval).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    let accounting = run.measured.accounting();
    assert_eq!((accounting.planned, accounting.ended(), accounting.unknown), (10, 10, 4));
    assert_eq!((accounting.difference(), run.validity.diagnostics.requests.unaccounted), (0, 0));
    assert_eq!((run.series[0].ended(), run.series[0].unknown), (10, 4));
    assert_eq!(run.validity.diagnostics.requests.generator_faults, 4);
    let times = Distribution::response(&run.measured.all()).summary();
    assert_eq!((times.n, times.bounds, times.max), (10, 4, Some(Nanos::from_millis(900))));
    let told = "a later version, knee 0, wrote this record; not known here: outcome `shed` (4 requests), \
                phase `queue` (1 request), fault `overloaded` (4 requests)";
    assert_eq!(run.validity.notes.last().unwrap(), told);
}

#[test]
fn open_requests_of_a_truncated_record_are_counted_beside_those_that_ended_in_an_unknown_way() {
    let head = head(10.0, 0, 9);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut interval = second(0, 10, 3, 5);
    let unknown = &mut interval.measured.endpoint_mut(EndpointId(0)).unknown;
    unknown.outcome_mut("shed").times.response.record_many(SECOND, 2);
    writer.interval(&interval).unwrap();
    let run = read(&*writer.into_sink()).unwrap().run;
    let accounting = run.measured.accounting();
    assert_eq!((accounting.count(Outcome::Censored), accounting.difference()), (5, 0));
}

/// A record of twenty endpoints whose response times spread over ten doublings, three seconds long.
fn wide() -> Vec<u8> {
    let head = head(2_000.0, 0, 3);
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut builder = RunBuilder::new(head);
    for number in 0..3 {
        let mut interval = second(number, 0, 0, 0);
        for id in 0..20 {
            let endpoint = interval.measured.endpoint_mut(EndpointId(id));
            endpoint.planned = 400;
            let ok = &mut endpoint.outcomes[Outcome::Ok as usize];
            (0..400).for_each(|k| ok.response.record(Nanos(1_000_000 + number * 7_919 + k * k * 6_007)));
        }
        writer.interval(&interval).unwrap();
        builder.add(&interval);
    }
    let run = builder.end(Ending::Completed);
    let tail = Tail { ending: Ending::Completed, stopped: None, validity: run.validity, intervals: 3 };
    writer.tail(&tail).unwrap()
}

#[test]
fn a_large_record_is_read_in_little_memory_with_exact_totals_and_coarser_endpoints() {
    let bytes = wide();
    let exact = read(&*bytes).unwrap().run;
    let Reading { run, damage, .. } = read_within(&*bytes, memory::ENDPOINT_BYTES_MAX + 560_000).unwrap();
    assert!(damage.is_none());
    assert_eq!(run.measured.all(), exact.measured.all());
    assert_eq!(run.measured.accounting(), exact.measured.accounting());
    assert_eq!((run.series, run.validity.validity), (exact.series, exact.validity.validity));
    let told = &run.validity.notes[exact.validity.notes.len()];
    assert!(told.starts_with("the record is large: times of single endpoints are rounded up"), "{told}");
    for (coarse, exact) in run.measured.endpoints.iter().zip(&exact.measured.endpoints) {
        assert_eq!((coarse.planned, coarse.accounting()), (exact.planned, exact.accounting()));
        let [coarse, exact] = [coarse, exact].map(|endpoint| &endpoint.outcomes[0].response);
        assert_eq!((coarse.min(), coarse.max(), coarse.mean()), (exact.min(), exact.max(), exact.mean()));
        let [coarse, exact] = [coarse, exact].map(|histogram| histogram.quantile(0.9).unwrap());
        assert!(coarse >= exact && coarse.0 - exact.0 <= exact.0 / 16, "{coarse} for {exact}");
    }
}

#[test]
fn a_record_that_needs_too_much_memory_is_refused_with_the_place() {
    let bytes = wide();
    let error = read_within(&*bytes, memory::ENDPOINT_BYTES_MAX + 260_000).unwrap_err();
    let place = Reader::new(&*bytes).unwrap().offset();
    let text = format!("this record needs more memory than 12 MiB, at byte {place}: ");
    assert!(error.to_string().starts_with(&text), "{error}");
    assert!(matches!(read_within(&*bytes, 1_000), Err(ReadError::Memory { offset: _, .. })));
}

#[test]
fn a_record_that_was_cut_off_has_what_was_observed_until_then() {
    use crate::observation::{Encoder, Figure, FigureUnit, SeriesKind, Source, SourceKind, SourceState};
    let mut encoder = Encoder::default();
    let source = Source {
        name: "host".into(),
        kind: SourceKind::Host,
        version: None,
        state: SourceState::Read,
        without: vec![],
        left_out: 0,
    };
    let index = encoder.add_source(source).unwrap();
    let mut writer = Writer::new(Vec::new(), &head(10.0, 0, 3)).unwrap();
    let mut live = RunBuilder::new(head(10.0, 0, 3));
    for number in 0..3 {
        let figure = Figure {
            name: "host.switches".into(),
            label: String::new(),
            unit: FigureUnit::Count,
            kind: SeriesKind::Counter,
            value: 100.0 * number as f64,
        };
        encoder.add(index, Nanos::from_secs(number), vec![figure]);
        let batch = encoder.take();
        writer.interval(&second(number, 10, 10, 5)).unwrap();
        writer.observations(&batch).unwrap();
        live.add(&second(number, 10, 10, 5));
        live.observe(&batch);
    }
    let bytes = writer.into_sink();
    let whole = read(&*bytes).unwrap().run;
    assert_eq!(whole.ending, Ending::Truncated);
    assert_eq!(whole.observations, live.end(Ending::Completed).observations, "live and saved are the same");
    assert_eq!(whole.observations.named("host.switches").next().unwrap().points.len(), 3);
    // Within the last frame.
    let torn = read(&bytes[..bytes.len() - 5]).unwrap().run;
    assert_eq!(torn.observations.named("host.switches").next().unwrap().points.len(), 2);
}
