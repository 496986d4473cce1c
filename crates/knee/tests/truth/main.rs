//! The program against servers that are slow in known ways: does it say what is true?
//!
//! The server waits because waiting is what is measured; the expectations follow from what it really
//! did. They are bounds that a busy machine cannot break: it makes answers later, never earlier. How
//! close the figures are to the truth is measured by `cargo xtask truth`.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    missing_docs,
    reason = "a test binary, whose parts are outside of its tests"
)]
#![allow(clippy::disallowed_methods, reason = "the server's clock must not be the one under test")]

mod server;

mod sweep;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use server::{Pace, Server};

/// More than a busy machine adds to a response, in milliseconds.
const SLACK: f64 = 1_500.0;

/// Histograms keep three digits.
const DIGITS: f64 = 0.998;

fn start(url: &str, flags: &str, record: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_knee"))
        .arg(url)
        .args(flags.split(' '))
        .args(["--no-tui", "--output-format", "json", "--record"])
        .arg(record)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn load(url: &str, flags: &str) -> Value {
    let scratch = tempfile::tempdir().unwrap();
    result(start(url, flags, &scratch.path().join("run.knee")))
}

fn figure(result: &Value, pointer: &str) -> f64 {
    result.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {result}"))
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[test]
fn a_server_that_stands_still_is_charged_for_every_request_due_meanwhile() {
    let server = Server::start(Pace::Each(Duration::ZERO));
    let scratch = tempfile::tempdir().unwrap();
    let running = start(&server.url, "-c 16 -q 1000 -z 5s", &scratch.path().join("run.knee"));
    let stood = millis(server.stand_still(500, Duration::from_secs(1)));
    let result = result(running);
    for (name, p) in [("p90", 0.90), ("p95", 0.95)] {
        // A request due x before the server goes on takes at least x, and they are evenly spaced.
        let truth = stood - (1.0 - p) * 5_000.0;
        let seen = figure(&result, &format!("/response_time_ms/{name}"));
        assert!(seen >= truth * 0.98 && seen <= truth + SLACK, "{name}: {seen} ms, truth {truth} ms");
    }
    // The sixteen that were under way say little about it, and that is all that service time sees.
    let service = figure(&result, "/service_time_ms/p95");
    assert!(service < figure(&result, "/response_time_ms/p95"), "{service}");
}

#[test]
fn no_request_is_faster_than_its_server() {
    let server = Server::start(Pace::Each(Duration::from_millis(20)));
    let result = load(&server.url, "-c 32 -q 100 -z 3s");
    let held = server.held();
    assert_eq!(figure(&result, "/requests/ok"), held.len() as f64);
    let mean = held.iter().copied().map(millis).sum::<f64>() / held.len() as f64;
    let p50 = millis(held[held.len() / 2 - 1]);
    for (name, truth) in [("mean", mean), ("p50", p50), ("min", millis(held[0]))] {
        for time in ["service", "response"] {
            let seen = figure(&result, &format!("/{time}_time_ms/{name}"));
            let near = truth * DIGITS..truth + SLACK;
            assert!(near.contains(&seen), "{name} of {time} time: {seen} ms, the server took {truth} ms");
        }
    }
}

#[test]
fn under_twice_the_load_it_can_take_every_request_is_accounted_for_once() {
    let server = Server::start(Pace::InTurn(Duration::from_millis(5)));
    let result = load(&server.url, "-c 8 -q 400 -z 3s -t 500ms");
    let count = |name: &str| result["requests"][name].as_u64().unwrap();
    let ends = ["ok", "http_error", "transport_error", "timeout", "unsent", "censored"];
    assert_eq!(count("planned"), 1_200);
    assert_eq!(ends.map(count).iter().sum::<u64>(), 1_200, "{}", result["requests"]);
    assert!(count("unsent") > 0, "{}", result["requests"]);
    assert!(count("ok") > 0 && count("ok") <= server.held().len() as u64, "{}", result["requests"]);
}
