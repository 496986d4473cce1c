//! What a merged record says, and what it refuses.

use super::*;
use crate::amendment::Amendment;
use crate::outcome::Outcome;
use crate::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use crate::record::run::read;
use crate::record::{Build, Head, Machine};
use crate::sampled::{Looks, Sampled};
use crate::schedule::{Arrivals, Curve};
use crate::share::Share;

const SECOND: Nanos = Nanos::from_secs(1);

/// 400 requests/s for 3 s, of which a part is `segment`.
fn head(segment: &str) -> Head {
    let executor =
        Executor::Open { rate: Curve::constant(400.0), arrivals: Arrivals::Uniform, users_max: 40 };
    let sequence = "0,1/4,1/2,3/4,1".parse().unwrap();
    let share = Share::new(Some(segment.parse().unwrap()), Some(&sequence)).unwrap();
    let scenario = Scenario::new("default", executor, Stop::At(Nanos::from_secs(3))).shared(&share);
    Head {
        plan: Plan {
            scenarios: vec![scenario],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::ZERO,
            grace: SECOND,
            request_timeout: None,
            connect_timeout: SECOND,
            workers: 1,
            interval: SECOND,
        },
        title: "http://host/".into(),
        started: Nanos::from_secs(1_000),
        build: Build { version: "0".into(), commit: None, optimized: true },
        machine: Machine { cores: 2, ..Machine::default() },
        co_located: Some(false),
        segment: Some((&share).into()),
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::ZERO,
    }
}

/// An interval in which 100 requests came due and `answered` were answered in `millis` each.
fn second(number: u64, answered: u64, millis: u64) -> Interval {
    // Each machine notices the end of an interval a little late, and differently so.
    let late = Nanos::from_micros(137 * millis);
    let from = if number == 0 { Nanos::ZERO } else { Nanos::from_secs(number) + late };
    let mut interval = Interval { from, to: Nanos::from_secs(number + 1) + late, ..Interval::default() };
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    endpoint.planned = 100;
    let ok = &mut endpoint.outcomes[Outcome::Ok as usize];
    ok.response.record_many(Nanos::from_millis(millis), answered);
    ok.service.record_many(Nanos::from_millis(millis), answered);
    endpoint.generator_lag.record_many(Nanos::from_micros(20), answered);
    interval
}

/// The record of a part whose requests take `millis`; cut off after `seconds` if that is below 3.
fn record(head: &Head, millis: u64, seconds: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), head).unwrap();
    let mut builder = RunBuilder::new(head.clone());
    for number in 0..seconds {
        let answered = if number + 1 == seconds && seconds < 3 { 90 } else { 100 };
        let interval = second(number, answered, millis);
        builder.add(&interval);
        writer.interval(&interval).unwrap();
    }
    if seconds < 3 {
        return writer.into_sink();
    }
    let run = builder.end(Ending::Completed);
    let mut sampled = Sampled::default();
    sampled.endpoints.insert(EndpointId(0), Looks { responses: millis, ..Looks::default() });
    sampled.add_server(EndpointId(0), &format!("10.0.0.{millis}:80"), Nanos::from_millis(millis));
    let tail =
        Tail { ending: run.ending, stopped: None, validity: run.validity, intervals: seconds, sampled };
    writer.tail(&tail).unwrap()
}

const SEGMENTS: [&str; 4] = ["0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"];

/// Four parts; the n-th answers in n ms.
fn four() -> Vec<Vec<u8>> {
    SEGMENTS.iter().zip(1..).map(|(segment, millis)| record(&head(segment), millis, 3)).collect()
}

fn merged(records: &[Vec<u8>]) -> Result<Merged<Vec<u8>>, MergeError> {
    merge(records.iter().map(Vec::as_slice).collect(), Vec::new())
}

fn codes(run: &Run) -> Vec<&str> {
    run.validity.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn a_part_that_was_steered_is_refused() {
    let mut parts = four();
    let mut writer = Writer::new(Vec::new(), &head(SEGMENTS[2])).unwrap();
    let amendment = Amendment { at: SECOND, from: 400.0, over: Nanos::ZERO, to: 1.0, first: 0.0 };
    writer.amendment(&amendment).unwrap();
    parts[2] = writer.into_sink();
    let error = merged(&parts).unwrap_err();
    assert!(matches!(error, MergeError::Steered { place: Place(2) }), "{error}");
}

#[test]
fn four_parts_are_the_run_of_one_machine() {
    let Merged { run, sink } = merged(&four()).unwrap();
    assert_eq!(run.measured.accounting().planned, 1_200);
    assert_eq!(run.measured.accounting().difference(), 0);
    assert_eq!(run.sampled.endpoints[&EndpointId(0)].responses, 1 + 2 + 3 + 4);
    assert_eq!(run.sampled.servers[&EndpointId(0)].len(), 4);
    let times = run.measured.all();
    let response = &times.outcomes[Outcome::Ok as usize].response;
    assert_eq!(response.quantile(0.25).map(|time| time.0 / 1_000), Some(1_000));
    assert_eq!(response.quantile(0.99), Some(Nanos::from_millis(4)));
    assert_eq!((run.series.len(), run.series[1].planned), (3, 400));
    assert_eq!(run.head.plan.scenarios[0].part, None);
    assert_eq!((run.head.plan.workers, run.head.machine.cores), (4, 8));
    assert_eq!(codes(&run), [""; 0]);
    assert_eq!(run.validity.diagnostics.run.parts.unwrap().arrivals_off, 0);
    let segments: Vec<_> = run.contributions.iter().map(|one| one.segment.as_str()).collect();
    assert_eq!(segments, SEGMENTS);
    assert_eq!(run.contributions[3].response.unwrap().p50, Nanos::from_millis(4));
    assert_eq!(read(&sink[..]).unwrap().run, run, "its record is read as the same run");
}

#[test]
fn the_order_of_the_records_does_not_matter() {
    let mut records = four();
    let first = merged(&records).unwrap().sink;
    records.rotate_left(1);
    records.swap(0, 2);
    assert_eq!(merged(&records).unwrap().sink, first);
}

#[test]
fn a_part_that_is_missing_is_named_with_its_share_of_the_load() {
    let mut records = four();
    records.remove(2);
    let run = merged(&records).unwrap().run;
    assert_eq!((codes(&run), run.validity.validity), (vec!["parts"], Validity::Invalid));
    assert_eq!(run.validity.warnings[0].message, "1 of 4 parts missing; the result lacks 25 % of the load");
}

#[test]
fn a_part_that_was_cut_off_keeps_what_it_measured_and_says_what_is_lost() {
    let mut records = four();
    records[1] = record(&head(SEGMENTS[1]), 2, 2);
    let run = merged(&records).unwrap().run;
    let books = run.measured.accounting();
    assert_eq!((books.planned, books.count(Outcome::Censored), books.difference()), (1_100, 10, 0));
    assert_eq!((run.contributions[1].lost, run.contributions[1].lost_share), (Some(100), Some(1.0 / 3.0)));
    assert_eq!(run.contributions[1].ending, Ending::Truncated);
    let parts = run.validity.diagnostics.run.parts.unwrap();
    assert_eq!((parts.ended_early, parts.lost_share), (1, 100.0 / 1_200.0));
    assert!(codes(&run).contains(&"parts"), "{:?}", codes(&run));
    let truncated = run.validity.warnings.iter().find(|warning| warning.code == "truncated").unwrap();
    assert!(truncated.message.starts_with("part 1/4:1/2: "), "{}", truncated.message);
}

/// Four parts of a script, of which the second was cut off. `change` is made to the scenario of each.
fn of_a_script(change: fn(&mut Scenario)) -> Vec<Vec<u8>> {
    let parts = SEGMENTS.iter().zip([3, 2, 3, 3]).map(|(segment, seconds)| {
        let mut head = head(segment);
        // The plan of a script numbers iterations, not requests.
        head.plan.endpoints.clear();
        change(&mut head.plan.scenarios[0]);
        record(&head, 1, seconds)
    });
    parts.collect()
}

#[test]
fn a_part_of_a_script_that_was_cut_off_says_which_share_of_its_users_time_is_lost() {
    let mut records = of_a_script(|_| {});
    records.remove(3);
    let run = merged(&records).unwrap().run;
    let lost: Vec<_> = run.contributions.iter().map(|one| (one.lost, one.lost_share)).collect();
    assert_eq!([lost[0], lost[2], lost[3]], [(Some(0), Some(0.0)), (Some(0), Some(0.0)), (None, Some(1.0))]);
    let (requests, share) = lost[1];
    assert_eq!(requests, None);
    // The third of three seconds.
    assert!(share.is_some_and(|share| (share - 1.0 / 3.0).abs() < 0.001), "{share:?}");
}

#[test]
fn the_share_that_is_lost_of_iterations_is_unknown_because_no_time_is_planned_for_them() {
    let records = of_a_script(|scenario| {
        scenario.stop = Stop::Requests(1_200);
        scenario.terms.max_duration = Some(Nanos::from_secs(600));
    });
    let run = merged(&records).unwrap().run;
    assert_eq!((run.contributions[1].lost, run.contributions[1].lost_share), (None, None));
}

#[test]
fn an_interval_that_is_lost_shifts_no_other_one() {
    let mut damaged = record(&head(SEGMENTS[0]), 1, 3);
    let intervals: Vec<usize> = damaged
        .windows(4)
        .enumerate()
        .filter(|(_, four)| *four == [0x28, 0xb5, 0x2f, 0xfd])
        .map(|(at, _)| at)
        .collect();
    // The head is the first frame, the second interval the third.
    damaged[intervals[2] + 20] ^= 1;
    let mut records = four();
    records[0] = damaged;
    let run = merged(&records).unwrap().run;
    let planned: Vec<u64> = run.series.iter().map(|point| point.planned).collect();
    assert_eq!(planned, [400, 300, 400]);
    assert!(codes(&run).contains(&"damaged"), "{:?}", codes(&run));
    assert_eq!(run.validity.diagnostics.run.parts.unwrap().arrivals_off, 100);
}

#[test]
fn a_machine_that_was_ill_is_named() {
    let mut records = four();
    let mut ill = head(SEGMENTS[3]);
    ill.build.optimized = false;
    records[3] = record(&ill, 4, 3);
    let run = merged(&records).unwrap().run;
    assert_eq!(codes(&run), ["debug_build"], "once, from the part");
    assert!(run.validity.warnings[0].message.starts_with("part 3/4:1: "));
}

#[test]
fn starts_one_after_another_are_suspect() {
    let mut records = four();
    let mut late = head(SEGMENTS[0]);
    late.started = Nanos::from_secs(1_003);
    records[0] = record(&late, 1, 3);
    let run = merged(&records).unwrap().run;
    assert_eq!((codes(&run), run.head.started), (vec!["start"], Nanos::from_secs(1_000)));
}

#[test]
fn endpoints_that_appear_during_the_run_are_joined_by_name() {
    let with = |segment: &str, met: [&str; 2]| {
        let mut head = head(segment);
        head.plan.endpoints.clear();
        let mut writer = Writer::new(Vec::new(), &head).unwrap();
        let mut interval = second(0, 100, 1);
        let two = interval.measured.endpoint_mut(EndpointId(0)).clone();
        interval.measured.endpoint_mut(EndpointId(1)).merge(&two);
        let named = met.into_iter().map(|name| Endpoint { name: name.to_owned() });
        interval.endpoints_met = (0..).map(EndpointId).zip(named).collect();
        writer.interval(&interval).unwrap();
        writer.into_sink()
    };
    let records = [with(SEGMENTS[0], ["a", "b"]), with(SEGMENTS[1], ["c", "a"])];
    let run = merged(&records).unwrap().run;
    let names: Vec<_> = run.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    let planned: Vec<_> = run.measured.endpoints.iter().map(|tally| tally.planned).collect();
    assert_eq!((names, planned), (vec!["a", "b", "c"], vec![200, 100, 100]));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let refused = |records: &[Vec<u8>]| merged(records).unwrap_err().to_string();
    let part = record(&head(SEGMENTS[0]), 1, 3);
    assert_eq!(refused(&[]), "there is no record to merge");
    assert_eq!(refused(&[part.clone(), part.clone()]), "record 1 and record 2 are both of the part 0:1/4");
    let mut whole = head(SEGMENTS[1]);
    whole.segment = None;
    assert_eq!(refused(&[part.clone(), record(&whole, 1, 3)]), "record 2 is not that of a part of a load");
    let mut other = head(SEGMENTS[1]);
    other.title = "http://other/".into();
    let text = "record 1 and record 2 are parts of different loads: the target differs";
    assert_eq!(refused(&[part.clone(), record(&other, 1, 3)]), text);
    let mut longer = head(SEGMENTS[1]);
    longer.plan.scenarios[0].stop = Stop::At(Nanos::from_secs(4));
    let text = "record 1 and record 2 are parts of different loads: the load differs";
    assert_eq!(refused(&[part.clone(), record(&longer, 1, 3)]), text);
    let merged_before = merged(&four()).unwrap().sink;
    assert_eq!(refused(&[merged_before, part]), "record 1 is not that of a part of a load");
    assert_eq!(refused(&[b"no record".to_vec()]), "record 1: this is not a knee record");
}
