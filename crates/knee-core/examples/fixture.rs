//! Writes the small records from which the fixtures of the current format version were made.
//!
//! ```text
//! cargo run -p knee-core --example fixture > crates/knee-core/tests/fixtures/v2.knee
//! cargo run -p knee-core --example fixture later > crates/knee-core/tests/fixtures/v2-later.knee
//! ```
//!
//! The second one is what a later program could write: with an outcome, a phase and a fault that this version does not
//! know, and with frames of kinds that are reserved.
//!
//! Run it only for a new version of the format: the fixture of a released version is never
//! written again, because it stands for the files that people have. Does not measure anything.

use std::io::{self, Write};

use knee_core::generator::{GeneratorSample, WorkerSample};
use knee_core::interval::Interval;
use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::format::{Note, Writer};
use knee_core::record::run::RunBuilder;
use knee_core::record::{Build, Ending, Head, Machine, Run, Tail};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

/// Requests per second.
const RATE: u64 = 200;
/// Seconds of warm-up, then of measuring, then of grace that was used.
const SECONDS: (u64, u64, u64) = (1, 4, 1);

fn main() -> io::Result<()> {
    let later = std::env::args().nth(1).is_some_and(|argument| argument == "later");
    let head = head();
    let mut writer = Writer::new(Vec::new(), &head)?;
    let mut builder = RunBuilder::new(head);
    for second in 0..SECONDS.0 + SECONDS.1 + SECONDS.2 {
        let mut interval = interval(second);
        if later && interval.measured.accounting().planned > 0 {
            shed(interval.measured.endpoint_mut(EndpointId(0)));
        }
        writer.interval(&interval)?;
        if later {
            writer.sink_mut().extend(observation(second));
        }
        builder.add(&interval);
        if second == 2 {
            let text = "the disk is nearly full".to_owned();
            writer.note(&Note { at: Nanos::from_millis(2_999), text })?;
        }
    }
    let intervals = builder.intervals();
    let Run { ending, stopped, validity, sampled, .. } = builder.end(Ending::Completed);
    let bytes = writer.tail(&Tail { ending, stopped, validity, intervals, sampled })?;
    io::stdout().write_all(&bytes)
}

fn head() -> Head {
    let executor = Executor::Open {
        rate: Curve::constant(RATE as f64),
        arrivals: Arrivals::Poisson { seed: 7 },
        users_max: 50,
    };
    let stop = Stop::At(Nanos::from_secs(SECONDS.0 + SECONDS.1));
    Head {
        plan: Plan {
            scenarios: vec![Scenario::new("default", executor, stop)],
            endpoints: vec![Endpoint { name: "GET http://127.0.0.1:8080/".into() }],
            warm_up: Nanos::from_secs(SECONDS.0),
            grace: Nanos::from_secs(5),
            request_timeout: Some(Nanos::from_secs(1)),
            connect_timeout: Nanos::from_secs(5),
            workers: 1,
            interval: Nanos::from_secs(1),
        },
        title: "http://127.0.0.1:8080/".into(),
        started: Nanos::from_secs(1_750_000_000),
        build: Build { version: "0.1.0".into(), commit: Some("0123abc".into()), optimized: true },
        machine: Machine {
            system: "Linux 6.12".into(),
            arch: "x86_64".into(),
            cpu: Some("Example CPU".into()),
            cores: 2,
            memory_bytes: Some(8 << 30),
        },
        co_located: Some(true),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::from_secs(SECONDS.0),
    }
}

/// Two of a second's requests stay open past its end, one to each endpoint, and end in the next.
fn interval(second: u64) -> Interval {
    let mut interval = Interval {
        from: Nanos::from_secs(second),
        to: Nanos::from_secs(second + 1),
        connections_open: 8,
        generator: GeneratorSample {
            workers: vec![WorkerSample { cpu: 0.125, run_delay: Some(0.002) }],
            throttled: Some((0, 10)),
            steal: Some(0.0),
            host_busy: Some(0.25),
            descriptors: Some((20, 1_024)),
            ports: Some((8, 28_232)),
            resident_bytes: Some(10 << 20),
            wall_drift_ns: 1_000 * second.cast_signed(),
            suspended: Some(Nanos::ZERO),
            ..GeneratorSample::default()
        },
        ..Interval::default()
    };
    let sending = second < SECONDS.0 + SECONDS.1;
    let tally = if second < SECONDS.0 { &mut interval.warm_up } else { &mut interval.measured };
    if sending {
        for (id, planned) in [(0, RATE - 50), (1, 50)] {
            let endpoint = tally.endpoint_mut(EndpointId(id));
            endpoint.planned = planned;
            answer(endpoint, second, planned - 1);
        }
        interval.concurrency.at_end = 2;
        interval.concurrency.max = 9;
    }
    if second == 0 {
        let endpoint = Endpoint { name: "GET http://127.0.0.1:8080/api".into() };
        interval.endpoints_met.push((EndpointId(1), endpoint));
    } else {
        // What was due in the second before.
        let before = if second == SECONDS.0 { &mut interval.warm_up } else { &mut interval.measured };
        give_up(before.endpoint_mut(EndpointId(0)), Outcome::Timeout, Fault::RequestTimeout);
        give_up(before.endpoint_mut(EndpointId(1)), Outcome::TransportError, Fault::Reset);
    }
    // 2 to 6 ms each, and a second for the one that was given up.
    interval.concurrency.area = if sending { 2_500_000_000 } else { 20_000_000 };
    interval.concurrency.clipped = interval.concurrency.area;
    interval
}

/// `count` answers in 2,000, 2,025, 2,050, … us and one us for each second, every tenth of them
/// with status 503.
fn answer(endpoint: &mut EndpointTally, second: u64, count: u64) {
    for number in 0..count {
        let service = Nanos::from_micros(2_000 + number * 25 + second);
        let lag = Nanos::from_micros(20 + number % 7);
        let (outcome, status) = if number % 10 == 9 { (Outcome::HttpError, 503) } else { (Outcome::Ok, 200) };
        let tally = &mut endpoint.outcomes[outcome as usize];
        tally.service.record(service);
        tally.response.record(service + lag);
        endpoint.send_delay.record(lag);
        endpoint.generator_lag.record(lag);
        endpoint.phases[Phase::Wait as usize].record(service);
        endpoint.note_status(status, 1);
        endpoint.bodies.note(0xC0FF_EE00 + u32::from(status), 42);
    }
    endpoint.bytes_sent += count * 80;
    endpoint.bytes_received += count * 200;
    endpoint.bytes_body += count * 42;
}

/// Three requests that end in a way that no version knows yet.
fn shed(endpoint: &mut EndpointTally) {
    endpoint.planned += 3;
    let unknown = &mut endpoint.unknown;
    unknown.outcome_mut("shed").times.response.record_many(Nanos::from_millis(1), 3);
    unknown.phase_mut("queue").times.record_many(Nanos::from_micros(700), 3);
    unknown.note_fault("overloaded", Some(Blame::Server), 3, Some("come back later"));
}

/// A frame of the kind that is reserved for observations.
fn observation(second: u64) -> Vec<u8> {
    let content = zstd::bulk::compress(&[0x81, 0xa2, b'a', b't', second as u8], 3).unwrap_or_default();
    let body = [&[9], &content[..]].concat();
    let mut frame = (body.len() as u32).to_le_bytes().to_vec();
    frame.extend(crc32fast::hash(&body).to_le_bytes());
    frame.extend(body);
    frame
}

fn give_up(endpoint: &mut EndpointTally, outcome: Outcome, fault: Fault) {
    let tally = &mut endpoint.outcomes[outcome as usize];
    tally.service.record(Nanos::from_secs(1));
    tally.response.record(Nanos::from_secs(1) + Nanos::from_micros(20));
    endpoint.note_fault(fault, 1, Some("Connection reset by peer (os error 104)"));
    endpoint.connections += 1;
}
