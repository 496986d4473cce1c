//! A run made up for tests of screens: a steady start, a stall, errors.
//!
//! Nothing random: the same events every time.

use std::sync::Arc;

use knee_core::event::Event;
use knee_core::generator::{GeneratorSample, WorkerSample};
use knee_core::interval::Interval;
use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::{Build, Head, Machine};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;

/// An open run of 60 s at 1,000/s with a warm-up of 2 s.
pub fn head() -> Head {
    head_with(
        Executor::Open { rate: Curve::constant(1_000.0), arrivals: Arrivals::Uniform, users_max: 50 },
        Stop::At(Nanos::from_secs(60)),
    )
}

/// A run with another load.
pub fn head_with(executor: Executor, stop: Stop) -> Head {
    Head {
        plan: Plan {
            scenarios: vec![Scenario::new("default", executor, stop)],
            endpoints: vec![Endpoint { name: "GET http://127.0.0.1:8080/".to_owned() }],
            warm_up: Nanos::from_secs(2),
            grace: Nanos::from_secs(5),
            request_timeout: None,
            connect_timeout: Nanos::from_secs(5),
            workers: 2,
            interval: Nanos::from_secs(1),
        },
        title: "http://127.0.0.1:8080/".to_owned(),
        started: Nanos::ZERO,
        build: Build::default(),
        machine: Machine::default(),
        co_located: Some(true),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::from_secs(2),
    }
}

/// The start of the run and its first `seconds` intervals.
pub fn events(seconds: u64) -> Vec<Event> {
    let started = Event::Started(Arc::new(head()));
    std::iter::once(started)
        .chain((0..seconds).map(|second| Event::Interval(Arc::new(interval(second)))))
        .collect()
}

/// One second: 1,000 requests around 1.2 ms; every twelfth second stalls and sheds some.
pub fn interval(second: u64) -> Interval {
    let stalled = second % 12 == 11;
    let mut interval = Interval {
        from: Nanos::from_secs(second),
        to: Nanos::from_secs(second + 1),
        backlog: if stalled { 40 } else { 0 },
        connections_open: 50,
        generator: GeneratorSample {
            workers: vec![
                WorkerSample { cpu: 0.31, run_delay: Some(0.001) },
                WorkerSample { cpu: 0.43, run_delay: Some(0.002) },
            ],
            ..GeneratorSample::default()
        },
        ..Interval::default()
    };
    interval.concurrency.at_end = if stalled { 50 } else { 2 };
    let tally = if second < 2 { &mut interval.warm_up } else { &mut interval.measured };
    fill(tally.endpoint_mut(EndpointId(0)), stalled);
    interval
}

fn fill(tally: &mut EndpointTally, stalled: bool) {
    tally.planned = 1_000;
    tally.bytes_received = 1_000 * 850;
    for number in 0..1_000u64 {
        let outcome = match number {
            990.. if stalled => Outcome::TransportError,
            980..990 if stalled => Outcome::HttpError,
            _ => Outcome::Ok,
        };
        let service = Nanos::from_micros(900 + number * number / 1_500);
        let queued = if stalled { Nanos::from_micros(400 * number) } else { Nanos::from_micros(20) };
        let times = &mut tally.outcomes[outcome as usize];
        times.service.record(service);
        times.response.record(service + queued);
        tally.generator_lag.record(Nanos::from_micros(10 + number / 40));
    }
    let failed = if stalled { 20 } else { 0 };
    tally.note_status(200, 1_000 - failed);
    if stalled {
        tally.note_status(503, 10);
        tally.note_fault(Fault::Reset, 7, Some("connection reset by peer"));
        tally.note_fault(Fault::RequestTimeout, 3, None);
    }
}
