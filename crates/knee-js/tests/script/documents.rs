//! Whole workloads, as users write them: a job scheduler under a fixed rate, and two on-sales of tickets.
//!
//! Each is asked what it wants when left alone, and run shortened against a stub of its service, which refuses
//! what the service would refuse and counts what it is asked. The stubs do no work; how fast the services are
//! is not tried here.

#![allow(
    clippy::float_cmp,
    clippy::disallowed_methods,
    reason = "counters hold whole numbers; a stub has no clock but the machine's"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use knee_core::unit::Nanos;
use knee_js::program::Limits;
use knee_k6::options::{ExecutorSpec, ScenarioSpec};
use serde_json::{Value, json};

use super::harness::{Outcome, options_of, run_against};
use super::server::{Asked, Server, reply};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(name)
}

/// The one scenario of a script, without options from outside.
fn scenario_of(name: &str) -> ScenarioSpec {
    let options = options_of(&script(name), &[]);
    assert_eq!(options.scenarios.len(), 1, "{name}");
    options.scenarios[0].clone()
}

/// What the stub of the scheduler was asked.
#[derive(Clone, Debug, Default)]
struct Jobs {
    now: usize,
    later: usize,
    list: usize,
    refused: Vec<String>,
    names: BTreeSet<String>,
    arrivals: Vec<Instant>,
}

impl Jobs {
    /// The answer to a request, as far as these clients can tell the service from it.
    fn answer(&mut self, asked: &Asked) -> String {
        self.arrivals.push(Instant::now());
        if asked.header("authorization") != Some("Bearer pk_live_a.sk_live_b") {
            return self.refuse(401, "the key");
        }
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/api/v1/tasks") => {
                self.list += 1;
                reply(200, r#"{"data":[],"has_more":false,"limit":50,"offset":0}"#)
            }
            ("POST", "/api/v1/tasks") => self.create(asked),
            _ => self.refuse(404, &asked.path),
        }
    }

    fn create(&mut self, asked: &Asked) -> String {
        let task: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let is = |key: &str, value: Value| task[key] == value;
        let name = task["name"].as_str().unwrap_or_default().to_owned();
        let common = asked.header("content-type") == Some("application/json")
            && is("url", json!("https://httpbin.org/get"))
            && is("method", json!("GET"))
            && self.names.insert(name);
        let (now, later) = (
            is("delay", Value::Null) && is("retry_attempts", json!(1)) && is("timeout_ms", json!(10_000)),
            is("delay", json!("5s")),
        );
        match (common, now, later) {
            (true, true, _) => self.now += 1,
            (true, _, true) => self.later += 1,
            _ => return self.refuse(422, &asked.body),
        }
        let data =
            json!({"task_id": "t", "execution_id": format!("e{}", self.names.len()), "status": "pending"});
        reply(202, &json!({"data": data, "message": "accepted"}).to_string())
    }

    fn refuse(&mut self, status: u16, why: &str) -> String {
        self.refused.push(format!("{status} {why}"));
        reply(status, r#"{"error":{"code":"refused"}}"#)
    }
}

/// Runs the scheduler's clients for a second at 200/s against a stub that needs `delay` for each answer.
fn run_scheduler(delay: Duration, seed: &str) -> (Outcome, Jobs) {
    let jobs = Arc::new(Mutex::new(Jobs::default()));
    let kept = jobs.clone();
    let server = Server::start_with(move |asked| {
        let answer = kept.lock().unwrap().answer(asked);
        thread::sleep(delay);
        Some(answer)
    });
    let environment = [("RATE", "200"), ("DURATION", "1s"), ("KEY", "pk_live_a.sk_live_b"), ("SEED", seed)];
    let outcome = run_against(&server, &script("job_scheduler.js"), Limits::default(), &environment);
    assert_eq!(outcome.refused, None);
    let jobs = jobs.lock().unwrap().clone();
    (outcome, jobs)
}

#[test]
fn the_scheduler_is_loaded_at_a_constant_rate_of_arrivals() {
    let scenario = scenario_of("job_scheduler.js");
    let expected = ExecutorSpec::ConstantArrivalRate {
        rate: 25,
        time_unit: Nanos::from_secs(1),
        duration: Nanos::from_secs(120),
        pre_allocated_vus: 25,
        max_vus: 75,
    };
    assert_eq!(scenario.executor, expected);
    let faster = options_of(&script("job_scheduler.js"), &[("RATE", "50"), ("DURATION", "30s")]);
    let expected = ExecutorSpec::ConstantArrivalRate {
        rate: 50,
        time_unit: Nanos::from_secs(1),
        duration: Nanos::from_secs(30),
        pre_allocated_vus: 50,
        max_vus: 150,
    };
    assert_eq!(faster.scenarios[0].executor, expected);
}

#[test]
fn the_scheduler_is_asked_in_the_proportions_of_its_clients() {
    let (outcome, jobs) = run_scheduler(Duration::ZERO, "7");
    assert_eq!(jobs.refused, Vec::<String>::new());
    // 200 per second for a second, the arrival at its very end included.
    assert_eq!((outcome.iterations, outcome.requests.len()), (201.0, 201));
    assert_eq!(jobs.now + jobs.later + jobs.list, 201);
    // 140, 30 and 30 of 200 are to be expected; the draw is a fixed one, and the bounds are four standard deviations.
    assert!((115..=165).contains(&jobs.now), "{jobs:?}");
    assert!((10..=50).contains(&jobs.later) && (10..=50).contains(&jobs.list), "{jobs:?}");
    // Two checks for each call to make at once, one for every other request; nothing failed.
    assert_eq!(outcome.checks, (201 + jobs.now as u64, 0), "{:?}", outcome.failed);
    assert_eq!(outcome.counters["tasks_created"], jobs.now as f64);
    assert_eq!(outcome.counters["http_reqs"], 201.0);
    assert_eq!(outcome.crossed, Vec::<String>::new());
    // The same seed draws the same mix, another one another.
    let mix = |seed| {
        let (_, jobs) = run_scheduler(Duration::ZERO, seed);
        (jobs.now, jobs.later, jobs.list)
    };
    assert_eq!(mix("7"), (jobs.now, jobs.later, jobs.list));
    assert_ne!(mix("1000"), (jobs.now, jobs.later, jobs.list));
}

#[test]
fn a_slow_scheduler_is_asked_no_less() {
    // One client that waits for its answers would manage 5 requests in this second.
    let (outcome, jobs) = run_scheduler(Duration::from_millis(200), "7");
    assert_eq!((outcome.iterations, jobs.arrivals.len()), (201.0, 201));
    assert!(!outcome.counters.contains_key("dropped_iterations"), "{:?}", outcome.counters);
    // The requests are spread over the second. A busy machine can make the first late, not all of them.
    let span = *jobs.arrivals.iter().max().unwrap() - *jobs.arrivals.iter().min().unwrap();
    assert!(span > Duration::from_millis(500), "{span:?}");
}

#[test]
fn a_scheduler_that_refuses_fails_the_checks_and_crosses_a_threshold() {
    let server = Server::start_with(|_| Some(reply(503, "{}")));
    let environment = [("RATE", "20"), ("DURATION", "1s"), ("SEED", "7")];
    let outcome = run_against(&server, &script("job_scheduler.js"), Limits::default(), &environment);
    assert_eq!(outcome.checks.0, 0);
    assert_eq!(outcome.crossed, ["http_req_failed"]);
    assert!(!outcome.counters.contains_key("tasks_created"), "{:?}", outcome.counters);
}

/// The bodies that reached the service of tickets, in the order of arrival.
fn run_on_sale(name: &str, path: &'static str, environment: &[(&str, &str)]) -> (Outcome, Vec<Value>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = bodies.clone();
    let server = Server::start_with(move |asked| {
        if (asked.method.as_str(), asked.path.as_str()) != ("POST", path) {
            return Some(reply(404, "no such route"));
        }
        kept.lock().unwrap().push(serde_json::from_str(&asked.body).unwrap_or_default());
        Some(reply(200, "Success"))
    });
    let outcome = run_against(&server, &script(name), Limits::default(), environment);
    assert_eq!(outcome.refused, None);
    let bodies = bodies.lock().unwrap().clone();
    (outcome, bodies)
}

/// A crowd that shares its purchases, for 10 min 30 s at most.
fn assert_crowd(name: &str, vus: u32, iterations: u64) {
    let options = options_of(&script(name), &[]);
    assert!(options.thresholds.is_empty());
    let scenario = scenario_of(name);
    let max_duration = Nanos::from_secs(600);
    assert_eq!(scenario.executor, ExecutorSpec::SharedIterations { vus, iterations, max_duration });
    assert_eq!(scenario.graceful_stop, Nanos::from_secs(30));
}

#[test]
fn ticket_counters_are_bought_from_by_a_crowd_that_shares_its_purchases() {
    assert_crowd("ticket_counters.js", 10_000, 1_000_000);
    for route in ["simple-redis-decrement", "complex-redis-decrement"] {
        let path =
            if route.starts_with("simple") { "/simple-redis-decrement" } else { "/complex-redis-decrement" };
        let environment = [("VUS", "20"), ("ITERATIONS", "500"), ("ROUTE", route)];
        let (outcome, bodies) = run_on_sale("ticket_counters.js", path, &environment);
        assert_eq!((outcome.iterations, outcome.checks), (500.0, (0, 0)));
        let purchase = json!({"tickets": [{"id": "a", "count": 2}, {"id": "b", "count": 2}]});
        assert_eq!(bodies, vec![purchase; 500]);
    }
}

#[test]
fn ticket_units_are_bought_in_one_to_three_lines_of_one_to_three_tickets() {
    assert_crowd("ticket_units.js", 1_000, 100_000);
    let environment = [("VUS", "20"), ("ITERATIONS", "1000"), ("SEED", "7")];
    let (outcome, bodies) = run_on_sale("ticket_units.js", "/pg-reserve-ticket", &environment);
    assert_eq!((outcome.iterations, outcome.checks), (1_000.0, (0, 0)));
    assert_eq!(bodies.len(), 1_000);

    let mut by_lines = BTreeMap::new();
    let mut by_kind = BTreeMap::new();
    let (mut units, mut repeats) = (0, 0);
    for body in &bodies {
        let lines = body["tickets"].as_array().unwrap();
        *by_lines.entry(lines.len()).or_insert(0) += 1;
        let kinds: BTreeSet<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
        repeats += usize::from(kinds.len() < lines.len());
        for line in lines {
            *by_kind.entry(line["id"].as_str().unwrap()).or_insert(0) += 1;
            let count = line["count"].as_u64().unwrap();
            assert!((1..=3).contains(&count), "{body}");
            units += count;
        }
    }
    // Four standard deviations around what is due; the draw is a fixed one.
    assert_eq!(by_lines.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert!(by_lines.values().all(|count| (273..=393).contains(count)), "{by_lines:?}");
    assert_eq!(by_kind.keys().copied().collect::<String>(), "abcdefghij");
    assert!(by_kind.values().all(|count| (140..=260).contains(count)), "{by_kind:?}");
    assert!((3_750..=4_250).contains(&units), "{units} units, where 4 a purchase are due");
    assert!((85..=170).contains(&repeats), "{repeats} purchases with a kind twice, where 127 are due");

    // Whichever VU makes them, the purchases of one seed are the same.
    let (_, again) = run_on_sale("ticket_units.js", "/pg-reserve-ticket", &environment);
    let sorted = |bodies: Vec<Value>| {
        let mut texts: Vec<String> = bodies.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    };
    assert_eq!(sorted(bodies), sorted(again));
}
