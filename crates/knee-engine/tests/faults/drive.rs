//! Makes runs of the real engine against a server of these tests, and checks what must hold for every
//! run, whatever the server did.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use knee_core::event::Event;
use knee_core::interval::Interval;
use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
use knee_core::record::{Build, Head, Machine, Run};
use knee_core::schedule::{Arrivals, Curve};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;
use knee_core::validity::diagnostics::Http2Offer;
use knee_engine::control::Control;
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::Settings;
use knee_engine::http::tls;
use knee_engine::requests::{RequestBody, RequestSet, RequestTemplate};
use knee_engine::run::{HttpConfig, Listeners, RunError, run};
use url::Url;

use crate::identity;
use crate::server::WATCHDOG;

/// Body limits of these tests, on the wire and decoded.
pub const BODY_MAX: u64 = 1 << 20;

/// The settings of a run; tests change what matters to them.
#[derive(Clone)]
pub struct Drive {
    pub requests: Vec<RequestTemplate>,
    pub settings: Settings,
    pub defaults: Defaults,
    pub executor: Executor,
    pub stop: Stop,
    pub workers: u16,
    pub warm_up: Nanos,
    pub grace: Nanos,
    pub interval: Nanos,
    pub seed: u64,
    pub http2: Option<Http2Offer>,
    pub control: Control,
}

/// One GET of `url`.
pub fn request(url: &str) -> RequestTemplate {
    RequestTemplate {
        method: "GET".to_owned(),
        url: Url::parse(url).unwrap(),
        headers: Vec::new(),
        body: RequestBody::Empty,
        weight: 1.0,
        endpoint: EndpointId(0),
    }
}

impl Drive {
    /// `requests` requests over `users` connections, each waiting for its response.
    pub fn closed(url: &str, requests: u64, users: u32) -> Self {
        let settings = Settings { body_max: BODY_MAX, decoded_max: BODY_MAX, ..Settings::default() };
        Self {
            requests: vec![request(url)],
            settings,
            defaults: Defaults::default(),
            executor: Executor::Closed { vus: Curve::constant(f64::from(users)) },
            stop: Stop::Requests(requests),
            workers: 2,
            warm_up: Nanos::ZERO,
            grace: Nanos::from_secs(60),
            interval: Nanos::from_millis(100),
            seed: 1,
            http2: None,
            control: Control::new(),
        }
    }

    /// `requests` requests at `rate` per second over at most `users` connections.
    pub fn open(url: &str, requests: u64, users: u32, rate: f64) -> Self {
        let executor =
            Executor::Open { rate: Curve::constant(rate), arrivals: Arrivals::Uniform, users_max: users };
        Self { executor, ..Self::closed(url, requests, users) }
    }

    /// The same with another method, and a body if it is not empty.
    pub fn method(mut self, method: &str, body: &[u8]) -> Self {
        method.clone_into(&mut self.requests[0].method);
        if !body.is_empty() {
            self.requests[0].body = RequestBody::Fixed(body.to_vec());
        }
        self
    }

    /// The same with other settings.
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// The same with the authority of these tests trusted.
    pub fn trusting(self) -> Self {
        self.with(|settings| settings.tls.authorities = vec![identity::authority()])
    }

    /// The head of its record.
    pub fn head(&self) -> Head {
        let scenario = Scenario::new("default", self.executor.clone(), self.stop);
        let endpoints = self.requests.iter().map(|request| Endpoint { name: request.url.to_string() });
        let plan = Plan {
            scenarios: vec![scenario],
            endpoints: endpoints.collect(),
            warm_up: self.warm_up,
            grace: self.grace,
            request_timeout: self.settings.request_timeout,
            connect_timeout: self.settings.connect_timeout,
            workers: self.workers,
            interval: self.interval,
        };
        Head {
            plan,
            title: "test".to_owned(),
            started: Nanos::ZERO,
            build: Build::default(),
            machine: Machine::default(),
            co_located: Some(true),
            segment: None,
            fleet: None,
            http2_streams: None,
            measured_from: self.warm_up,
        }
    }

    /// Makes the run and checks what must hold for every run.
    pub fn run(&self) -> Run {
        self.run_with_intervals().expect("the run can be made").0
    }

    /// The same; also returns the intervals. Fails the test if the run does not end.
    pub fn run_with_intervals(&self) -> Result<(Run, Vec<Arc<Interval>>), RunError> {
        let secure = self.requests.iter().any(|request| request.url.scheme() == "https");
        let tls = secure.then(|| tls::configure(&self.settings.tls, self.settings.version).unwrap());
        let http = HttpConfig {
            settings: Arc::new(self.settings.clone()),
            defaults: self.defaults.clone(),
            tls,
            http2: self.http2,
        };
        let backs_off = matches!(self.executor, Executor::Closed { .. });
        let set =
            RequestSet::prepare(self.requests.clone(), &self.defaults, self.seed, backs_off, &[]).unwrap();
        let (head, control) = (self.head(), self.control.clone());
        let (send_event, events) = mpsc::sync_channel(100_000);
        let (send_run, runs) = mpsc::channel();
        thread::spawn(move || {
            let listeners =
                Listeners { journal: None, events: vec![send_event], observer: None, metrics: None };
            // Fails if the watchdog has ended the test.
            let _ = send_run.send(run(head, &Arc::new(set), &http, &control, listeners));
        });
        let run = runs.recv_timeout(WATCHDOG).expect("the run ends")?;
        let intervals: Vec<_> = events
            .try_iter()
            .filter_map(|event| if let Event::Interval(interval) = event { Some(interval) } else { None })
            .collect();
        check_books(&run);
        check_intervals(&run, &intervals);
        Ok((run, intervals))
    }
}

/// Every planned request ended once; every failed one has one fault, every response one status.
fn check_books(run: &Run) {
    for tally in [&run.warm_up, &run.measured] {
        let (books, all) = (tally.accounting(), tally.all());
        assert_eq!(books.difference(), 0, "every request has exactly one outcome: {books:?}");
        let faults: u64 = all.faults.iter().map(|tally| tally.count).sum();
        let failed = books.count(Outcome::TransportError) + books.count(Outcome::Timeout);
        assert_eq!(faults, failed, "each failed request has one fault: {:?}", all.faults);
        let statuses: u64 = all.status.iter().map(|(_, count)| count).sum();
        let answered = books.count(Outcome::Ok) + books.count(Outcome::HttpError);
        assert_eq!(statuses, answered, "each answered request has one status: {:?}", all.status);
        assert!(all.faults.iter().all(|tally| tally.examples.len() <= 3));
    }
    assert_eq!(run.concurrency.area, run.concurrency.clipped, "two counts of requests in flight agree");
    assert_eq!(run.concurrency.at_end, 0, "nothing is in flight after the end");
}

/// The run is the sum of its intervals, which have no gaps.
fn check_intervals(run: &Run, intervals: &[Arc<Interval>]) {
    let mut at = Nanos::ZERO;
    let mut sum = knee_core::tally::Tally::default();
    for interval in intervals {
        assert_eq!(interval.from, at, "intervals have no gaps");
        assert!(interval.to >= interval.from);
        at = interval.to;
        sum.merge(&interval.measured);
    }
    assert_eq!(sum.accounting(), run.measured.accounting());
}

/// Number of measured requests with this outcome.
pub fn count(run: &Run, outcome: Outcome) -> u64 {
    run.measured.accounting().count(outcome)
}

/// All endpoints of a run together.
pub fn all(run: &Run) -> EndpointTally {
    run.measured.all()
}

/// Faults with their counts, ascending by kind.
pub fn faults(run: &Run) -> Vec<(Fault, u64)> {
    all(run).faults.iter().map(|tally| (tally.fault, tally.count)).collect()
}

/// Requests of each run.
pub const REQUESTS: u64 = 20;
/// Number of connections whose first request meets the misbehaviour.
pub const BAD: u64 = 5;
/// Rates of the open runs, per second.
const RATES: [f64; 3] = [100.0, 500.0, 2_000.0];

/// One closed run, and one open run per rate; the URL is passed later.
pub fn runs() -> impl Iterator<Item = fn(&str) -> Drive> {
    let open: [fn(&str) -> Drive; 3] = [
        |url| Drive::open(url, REQUESTS, 10, RATES[0]),
        |url| Drive::open(url, REQUESTS, 10, RATES[1]),
        |url| Drive::open(url, REQUESTS, 10, RATES[2]),
    ];
    std::iter::once::<fn(&str) -> Drive>(|url| Drive::closed(url, REQUESTS, 3)).chain(open)
}
