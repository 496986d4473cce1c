//! Runs made up request by request, without a server and without time.
//!
//! The figures come from a small generator of numbers with a fixed seed, so that every run is
//! the same everywhere. Does not judge: a fixture's verdict is what its maker says.

use knee_core::generator::{GeneratorSample, WorkerSample};
use knee_core::interval::Interval;
use knee_core::observation::{FigureUnit, Series, SeriesKind, Source, SourceKind, SourceState, Text};
use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::run::RunBuilder;
use knee_core::record::{Build, Ending, Head, Machine, Run};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::tally::{EndpointTally, Phase, Tally};
use knee_core::unit::Nanos;
use knee_core::validity::diagnostics::{Circumstances, Generator, Load, Quantiles, Requests};
use knee_core::validity::{Diagnostics, Validity, ValidityReport, Warning};
use knee_report::locust::Follower;

const SECOND: u64 = 1_000_000_000;

/// One request of a made-up run; times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Request {
    pub endpoint: u32,
    pub due: u64,
    pub lag: u64,
    /// Of a request that was never sent: none, and `lag` is how long it waited.
    pub service: Option<u64>,
    pub outcome: Outcome,
    pub status: Option<u16>,
    pub fault: Option<(Fault, &'static str)>,
}

impl Request {
    pub fn ok(due: u64, lag: u64, service: u64) -> Self {
        let (service, status) = (Some(service), Some(200));
        Self { endpoint: 0, due, lag, service, outcome: Outcome::Ok, status, fault: None }
    }

    pub fn failed(due: u64, lag: u64, service: u64, fault: Fault, example: &'static str) -> Self {
        let (outcome, fault) = (Outcome::TransportError, Some((fault, example)));
        Self { endpoint: 0, due, lag, service: Some(service), outcome, status: None, fault }
    }

    fn done(&self) -> u64 {
        self.due + self.lag + self.service.unwrap_or(0)
    }
}

/// Numbers that look random and are always the same (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    /// Evenly spread in 0 to 1, both excluded.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> u64 {
        (-self.share().ln() * mean) as u64
    }
}

/// A plan of one open scenario.
pub fn open(rate: f64, seconds: u64) -> Plan {
    let rate = Curve::constant(rate);
    plan(
        Executor::Open { rate, arrivals: Arrivals::Uniform, users_max: 50 },
        Stop::At(Nanos(seconds * SECOND)),
    )
}

/// A plan of one closed scenario.
pub fn closed(users: f64, stop: Stop) -> Plan {
    plan(Executor::Closed { vus: Curve::constant(users) }, stop)
}

fn plan(executor: Executor, stop: Stop) -> Plan {
    Plan {
        scenarios: vec![Scenario::new("default", executor, stop)],
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: Nanos::from_secs(30),
        request_timeout: Some(Nanos::from_secs(2)),
        connect_timeout: Nanos::from_secs(5),
        workers: 2,
        interval: Nanos(SECOND),
    }
}

/// A run that sent `requests` by `plan`, with a verdict of its own. Requests due before the end
/// of the warm-up are kept apart.
pub fn run(plan: Plan, requests: &[Request]) -> Run {
    let mut run = judged(plan, requests);
    run.validity = validity();
    run
}

/// A run with the verdict that the rules draw from it.
pub fn judged(plan: Plan, requests: &[Request]) -> Run {
    build(plan, requests, usize::MAX).end(Ending::Completed)
}

/// A run as a follower saw it to its end.
pub fn followed(plan: Plan, requests: &[Request]) -> (Run, Follower) {
    let run = run(plan, requests);
    let mut follower = Follower::new(&run.head);
    for interval in intervals(requests, run.ended.0, run.head.measured_from) {
        follower.add(&interval);
    }
    (run, follower)
}

/// A run, as far as its first `kept` intervals.
fn build(plan: Plan, requests: &[Request], kept: usize) -> RunBuilder {
    let end = plan.duration().map_or(0, |end| end.0);
    let ended = requests.iter().map(Request::done).max().unwrap_or(0).max(end);
    let head = head(plan);
    let mut builder = RunBuilder::new(head.clone());
    for interval in intervals(requests, ended, head.measured_from).iter().take(kept) {
        builder.add(interval);
    }
    builder
}

/// What `requests` leave behind, second by second.
fn intervals(requests: &[Request], ended: u64, measured_from: Nanos) -> Vec<Interval> {
    let count_of = ended.div_ceil(SECOND).max(1);
    let mut intervals: Vec<Interval> = (0..count_of)
        .map(|position| Interval {
            from: Nanos(position * SECOND),
            to: Nanos(((position + 1) * SECOND).min(ended)),
            generator: generator_sample(),
            ..Interval::default()
        })
        .collect();
    let position = |at: u64| (at / SECOND).min(count_of - 1) as usize;
    let mut unopened = 50;
    for request in requests {
        let id = EndpointId(request.endpoint);
        let warm_up = request.due < measured_from.0;
        part(&mut intervals[position(request.due)], warm_up).endpoint_mut(id).planned += 1;
        let tally = part(&mut intervals[position(request.done())], warm_up).endpoint_mut(id);
        if unopened > 0 && request.outcome == Outcome::Ok {
            unopened -= 1;
            tally.connections += 1;
            tally.phases[Phase::Connect as usize].record(Nanos(90_000 + unopened * 1_000));
        }
        count(tally, request);
    }
    intervals
}

fn part(interval: &mut Interval, warm_up: bool) -> &mut Tally {
    if warm_up { &mut interval.warm_up } else { &mut interval.measured }
}

fn count(tally: &mut EndpointTally, request: &Request) {
    let response = request.lag + request.service.unwrap_or(0);
    tally.outcomes[request.outcome as usize].response.record(Nanos(response));
    if let Some((fault, example)) = request.fault {
        tally.note_fault(fault, 1, Some(example));
    }
    let Some(service) = request.service else { return };
    tally.outcomes[request.outcome as usize].service.record(Nanos(service));
    tally.send_delay.record(Nanos(request.lag));
    tally.generator_lag.record(Nanos(request.lag.min(40_000)));
    tally.bytes_sent += 68;
    let Some(status) = request.status else { return };
    tally.note_status(status, 1);
    tally.phases[Phase::Send as usize].record(Nanos(6_000));
    tally.phases[Phase::Wait as usize].record(Nanos(service - 7_000));
    tally.phases[Phase::Receive as usize].record(Nanos(1_000));
    tally.bytes_received += 850;
    tally.bytes_body += 612;
    tally.bodies.note(7, 612);
}

fn head(mut plan: Plan) -> Head {
    plan.endpoints = vec![Endpoint { name: "GET http://127.0.0.1:8080/".into() }];
    Head {
        measured_from: plan.warm_up,
        plan,
        title: "http://127.0.0.1:8080/".into(),
        started: Nanos::from_secs(1_800_000_000),
        build: Build { version: "0.1.0".into(), commit: Some("0123abc".into()), optimized: true },
        machine: Machine {
            system: "Linux 6.8.0".into(),
            arch: "x86_64".into(),
            cpu: Some("Example CPU".into()),
            cores: 2,
            memory_bytes: Some(8 << 30),
        },
        co_located: Some(true),
        segment: None,
        fleet: None,
        http2_streams: None,
    }
}

fn validity() -> ValidityReport {
    let micros = |us: u64| Nanos::from_micros(us);
    let [p50, p90, p99, max] = [3_100, 7_700, 12_400, 412_000].map(Nanos);
    let loop_lag = Quantiles { p50: micros(20), p90: micros(60), p99: micros(140), max: micros(900) };
    ValidityReport {
        validity: Validity::Valid,
        warnings: Vec::new(),
        notes: vec!["target and generator share this machine's CPUs [co_located]".into()],
        diagnostics: Diagnostics {
            requests: Requests { connections_opened: 50, bodies: (1, false), ..Requests::default() },
            load: Load {
                area_residual: Some(0.0),
                little_residual: Some(0.0012),
                in_flight_mean: Some(12.345),
                in_flight_max: 50,
                ..Load::default()
            },
            generator: Generator {
                lag: Some(Quantiles { p50, p90, p99, max }),
                loop_lag: Some(loop_lag),
                worker_cpu_max: Some(0.43),
                worker_cpu_saturated: Some(0.0),
                run_delay: Some(0.0021),
                throttled: Some((0, 100)),
                steal: Some(0.0),
                descriptors: Some((67, 1_024)),
                ports: Some((50, 28_232)),
                wall_drift_ns: 1_200,
                suspended: Some(Nanos::ZERO),
                ..Generator::default()
            },
            run: Circumstances { co_located: Some(true), ..Circumstances::default() },
        },
    }
}

fn generator_sample() -> GeneratorSample {
    GeneratorSample {
        workers: vec![
            WorkerSample { cpu: 0.43, run_delay: Some(0.002) },
            WorkerSample { cpu: 0.31, run_delay: Some(0.001) },
        ],
        throttled: Some((0, 10)),
        steal: Some(0.0),
        host_busy: Some(0.61),
        descriptors: Some((67, 1_024)),
        ports: Some((50, 28_232)),
        resident_bytes: Some(12 << 20),
        wall_drift_ns: 1_200,
        suspended: None,
        ..GeneratorSample::default()
    }
}

/// Open, 12,000 requests/s for ten seconds, all answered in about a millisecond.
pub fn healthy_open() -> Run {
    run(open(12_000.0, 10), &healthy_requests())
}

fn healthy_requests() -> Vec<Request> {
    let mut dice = Dice(1);
    (0..120_000u64)
        .map(|k| {
            let (lag, service) = (2_000 + dice.exponential(2_000.0), 300_000 + dice.exponential(700_000.0));
            Request::ok(k * SECOND / 12_000, lag, service)
        })
        .collect()
}

/// Closed, 200 requests on 50 connections: too few for most percentiles.
pub fn small_closed() -> Run {
    let mut dice = Dice(2);
    let requests: Vec<_> = (0..200u64)
        .map(|k| Request::ok(k / 50 * 2_000_000, 1_500, 45_000 + dice.exponential(30_000.0)))
        .collect();
    run(closed(50.0, Stop::Requests(200)), &requests)
}

/// Open at twice what the server can: timeouts, arrivals never sent, answers with 503, and some
/// requests still open at the end.
pub fn overload() -> Run {
    let mut dice = Dice(3);
    let requests: Vec<_> = (0..20_000u64)
        .map(|k| {
            let due = k * SECOND / 2_000;
            let wait = due / 2;
            let service = 20_000_000 + dice.exponential(5_000_000.0);
            let mut request = Request::ok(due, wait.min(1_990_000_000), service);
            match k % 20 {
                0..=8 => request.outcome = Outcome::Ok,
                9 => (request.outcome, request.status) = (Outcome::HttpError, Some(503)),
                _ if wait < 2_000_000_000 => {}
                10..=12 => {
                    (request.outcome, request.status) = (Outcome::Timeout, None);
                    request.service = Some(2_000_000_000);
                    request.fault = Some((Fault::RequestTimeout, "no answer in 2 s"));
                }
                _ if k > 19_900 => {
                    (request.outcome, request.status) = (Outcome::Censored, None);
                    request.service = Some(31 * SECOND);
                }
                _ => {
                    (request.outcome, request.status) = (Outcome::Unsent, None);
                    (request.lag, request.service) = (2_000_000_000, None);
                }
            }
            request
        })
        .collect();
    let mut run = run(open(2_000.0, 10), &requests);
    run.validity.validity = Validity::Suspect;
    run.validity.warnings = ["rate", "stall", "lag", "ports"].map(warning).to_vec();
    run.validity.diagnostics.requests.censored = Some((40, Nanos::from_secs(33)));
    run
}

/// A warning with words of about the length that real ones have.
pub fn warning(code: &str) -> Warning {
    let (message, hint) = match code {
        "rate" => (
            "overloaded: the server takes 5,018 of 20,000 requests/s on 50 connections",
            "ask for a lower rate, or allow more connections",
        ),
        "stall" => ("knee stood still for 600 ms, 1.0 % of the measured time", "measure again"),
        "lag" => (
            "generator lag p99 12.0 ms of 40.0 ms, limit 25 %",
            "give knee more CPU, or ask for a lower rate",
        ),
        _ => ("28,000 of 28,232 local ports towards one address were taken", "keep connections alive"),
    };
    let (message, hint) = (message.into(), hint.into());
    Warning { code: code.into(), validity: Validity::Suspect, message, hint }
}

/// A server that refuses every connection.
pub fn all_refused() -> Run {
    let message = "Connection refused (os error 111)";
    let requests: Vec<_> =
        (0..500u64).map(|k| Request::failed(k * 1_000_000, 1_000, 80_000, Fault::Refused, message)).collect();
    let mut run = run(closed(5.0, Stop::Requests(500)), &requests);
    run.validity.validity = Validity::Invalid;
    run.validity.warnings = vec![Warning {
        code: "no_answer".into(),
        validity: Validity::Invalid,
        message: "no request was answered".into(),
        hint: "check that the server is running and that the URL is right".into(),
    }];
    run
}

/// A run that ended before anything was due.
pub fn empty() -> Run {
    let mut run = run(open(10.0, 1), &[]);
    run.measured = Tally::default();
    run.ended = Nanos::ZERO;
    run.series.clear();
    run.ending = Ending::Interrupted;
    run.validity.diagnostics = Diagnostics::default();
    run.validity.notes.clear();
    run
}

/// A run whose writer was killed after four seconds of ten.
pub fn truncated() -> Run {
    let mut run = build(open(12_000.0, 10), &healthy_requests(), 4).finish(None);
    run.validity = validity();
    run.validity.validity = Validity::Suspect;
    run.validity.warnings = vec![Warning {
        code: "truncated".into(),
        validity: Validity::Suspect,
        message: "the record has no end".into(),
        hint: "run again; the program was killed while it measured".into(),
    }];
    run
}

/// Three endpoints, one of them with errors, after a warm-up of two seconds.
pub fn three_endpoints() -> Run {
    let mut dice = Dice(4);
    let requests: Vec<_> = (0..36_000u64)
        .map(|k| {
            let endpoint = [0, 0, 0, 1, 1, 2][(k % 6) as usize];
            let mean = [800_000.0, 4_000_000.0, 19_000_000.0][endpoint as usize];
            let mut request = Request::ok(k * SECOND / 3_000, 4_000, 200_000 + dice.exponential(mean));
            request.endpoint = endpoint;
            if endpoint == 2 && k % 36 == 5 {
                (request.outcome, request.status) = (Outcome::HttpError, Some(500));
            }
            request
        })
        .collect();
    let mut plan = open(3_000.0, 12);
    plan.warm_up = Nanos::from_secs(2);
    let mut run = run(plan, &requests);
    run.endpoints =
        ["GET /todos", "POST /todos", "GET /search?q={words of the user, at some length}&page={n}"]
            .map(|name| Endpoint { name: name.into() })
            .to_vec();
    run
}

/// Three users, of whom two wait from the warm-up until after the end.
pub fn standing() -> Run {
    let mut plan = closed(3.0, Stop::At(Nanos(11 * SECOND)));
    plan.warm_up = Nanos(SECOND);
    let mut requests: Vec<_> =
        (0..110).map(|k| Request::ok(k * SECOND / 10, 4_000, SECOND / 10 - 4_000)).collect();
    requests.extend([4, 5].map(|k| Request::ok(k * SECOND / 10, 4_000, 108 * SECOND / 10 - 4_000)));
    judged(plan, &requests)
}

/// A server that answers with escape sequences, and a URL that holds some.
pub fn hostile() -> Run {
    let mut run = all_refused();
    let bite = "\x1b]0;owned\x07\x1b[2J\u{9b}31mred\r\nHTTP/1.1 200 OK \u{202e}gnp";
    run.head.title = format!("http://127.0.0.1/{bite}");
    run.endpoints = vec![Endpoint { name: bite.into() }, Endpoint { name: format!("=cmd|{bite}") }];
    run.measured.endpoints.push(run.measured.endpoints[0].clone());
    run.measured.endpoints[0].note_fault(Fault::MalformedHead, 1, Some(bite));
    run.validity.warnings[0].message = bite.into();
    run.validity.notes = vec![bite.into()];
    run.head.build.version = format!("0.1.0{bite}");
    run.head.machine.cpu = Some(bite.into());
    run
}

/// Every fixture with its name.
/// A run with observers of every state, and names that are hostile.
pub fn observed() -> Run {
    let mut run = small_closed();
    let source = |name: &str, kind, state| Source {
        name: name.to_owned(),
        kind,
        version: (kind == SourceKind::Postgres).then(|| "PostgreSQL 15.5".to_owned()),
        state,
        without: Vec::new(),
        left_out: 0,
    };
    let lost =
        SourceState::Lost { at: Nanos::from_millis(40), reason: "connection\u{1b}[2J closed".to_owned() };
    let refused = SourceState::Refused { reason: "there is no such process".to_owned() };
    run.observations.sources = vec![
        source("postgres://127.0.0.1:5432/shop", SourceKind::Postgres, SourceState::Read),
        source("redis://127.0.0.1:6379/", SourceKind::Redis, lost),
        source("pid 4242", SourceKind::Process, refused),
        source("host", SourceKind::Host, SourceState::Read),
        source("profile of shop (pid 7)", SourceKind::Profile, SourceState::Read),
    ];
    run.observations.sources[0].without = vec!["pg_stat_io: permission denied".to_owned()];
    let end = run.ended;
    let mut counter = |source: usize, name: &str, label: &str, unit: FigureUnit, rise: f64| {
        run.observations.series.push(Series {
            source,
            name: name.to_owned(),
            label: label.to_owned(),
            unit,
            kind: SeriesKind::Counter,
            points: vec![(Nanos::ZERO, 1_000.0), (end, 1_000.0 + rise)],
        });
    };
    counter(0, "activity.samples", "", FigureUnit::Count, 10.0);
    counter(0, "activity.state", "active", FigureUnit::Count, 40.0);
    counter(0, "activity.wait", "Lock:transactionid", FigureUnit::Count, 30.0);
    counter(0, "activity.wait", "CPU", FigureUnit::Count, 10.0);
    counter(0, "statement.exec_time", "-77", FigureUnit::Seconds, 0.5);
    counter(0, "statement.calls", "-77", FigureUnit::Count, 400.0);
    counter(0, "database.blocks.hit", "shop", FigureUnit::Count, 900.0);
    counter(0, "database.blocks.read", "shop", FigureUnit::Count, 100.0);
    counter(1, "redis.command.time", "get\u{1b}[2J", FigureUnit::Seconds, 0.01);
    counter(3, "host.cpu.busy", "0", FigureUnit::Seconds, 0.01);
    for (function, samples) in [
        ("shop::render\u{1b}[2J", 34.0),
        ("memcpy (libc.so.6)", 20.0),
        ("tcp_sendmsg (kernel)", 12.0),
        ("shop::sort", 6.0),
        ("shop::sixth", 3.0),
        ("shop::parse", 5.0),
        ("(other)", 20.0),
    ] {
        counter(4, "profile.samples", function, FigureUnit::Count, samples);
    }
    counter(4, "profile.modules", "kernel", FigureUnit::Count, 15.0);
    counter(4, "profile.syscalls", "read_write", FigureUnit::Count, 400.0);
    run.observations.texts.push(Text {
        source: 0,
        name: "statement.text".to_owned(),
        label: "-77".to_owned(),
        text: "SELECT * FROM items WHERE name LIKE $1 \u{1b}[2J ORDER BY created_at".to_owned(),
    });
    run
}

pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("healthy open", healthy_open()),
        ("small closed", small_closed()),
        ("overload", overload()),
        ("all refused", all_refused()),
        ("empty", empty()),
        ("truncated", truncated()),
        ("three endpoints", three_endpoints()),
        ("hostile", hostile()),
        ("observed", observed()),
    ]
}
