//! A sweep of a server whose limit is known, with real processes, in short form.
//!
//! The server works on one request at a time for 5 ms and more, so it does 200 a second at the most.
//! A busy machine makes it slower, never faster: what is asserted are bounds from above. How near the
//! figures are is measured by `cargo xtask truth`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::server::{Pace, Server};

/// Most requests per second that the server can do.
const LIMIT: f64 = 200.0;

fn sweep(url: &str, home: &std::path::Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.args(["sweep", "--output-format", "json"]).arg(url).args(flags).env("KNEE_HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Fails unless the document is as its schema says.
fn parsed(stdout: &[u8]) -> Value {
    let schema = serde_json::from_str(include_str!("../../../../docs/reference/sweep.schema.json")).unwrap();
    let document: Value = serde_json::from_slice(stdout).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    document
}

#[test]
fn no_capacity_is_named_that_the_server_does_not_have_and_every_step_is_kept() {
    let server = Server::start(Pace::InTurn(Duration::from_millis(5)));
    let home = tempfile::tempdir().unwrap();
    let svg = home.path().join("curve.svg");
    let flags = ["--from", "60", "--factor", "1.5", "--step", "1s", "--in-flight", "64", "--svg"];
    let output = sweep(&server.url, home.path(), &flags).arg(&svg).output().unwrap();
    let document = parsed(&output.stdout);
    let steps = document["steps"].as_array().unwrap();
    let passed = steps.iter().filter(|step| step["outcome"] == "pass");
    for step in passed {
        let level = step["level"].as_f64().unwrap();
        // A queue can begin to grow unseen: 30 requests in a step, by the rules.
        assert!(level <= LIMIT * 1.07 + 30.0 / step["seconds"].as_f64().unwrap(), "{step:#}");
        assert!(step["throughput"].as_f64().unwrap() <= LIMIT * 1.1, "{step:#}");
    }
    if let Some(low) = document["capacity"]["low"].as_f64() {
        assert!(low <= LIMIT * 1.2, "{}", document["capacity"]);
    }
    assert_ne!(document["capacity"]["known"], "at_least", "the ladder goes on until something fails");
    for step in steps {
        let record = step["record"].as_str().unwrap();
        assert!(std::path::Path::new(record).is_file(), "{record}");
    }
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().filter(|line| line.starts_with("step ")).count(), steps.len(), "{told}");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    if cfg!(debug_assertions) {
        assert_eq!(document["validity"], "invalid", "a debug build does not measure");
        assert_eq!(output.status.code(), Some(120));
    }
}

#[test]
fn an_interrupted_sweep_concludes_from_what_is_there() {
    let server = Server::start(Pace::Each(Duration::from_millis(1)));
    let home = tempfile::tempdir().unwrap();
    let mut child =
        sweep(&server.url, home.path(), &["--rates", "20,30,40,50", "--step", "1s"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("step  1")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(lines.any(|line| line.unwrap().starts_with("interrupted")));
    let output = child.wait_with_output().unwrap();
    let document = parsed(&output.stdout);
    assert_eq!(document["ended"], "interrupted");
    assert!(!document["steps"].as_array().unwrap().is_empty());
    assert_eq!(document["capacity"]["known"], "at_least");
    assert_eq!(output.status.code(), Some(if cfg!(debug_assertions) { 120 } else { 105 }));
}

#[test]
fn a_script_climbs_in_iterations_and_its_requests_are_counted() {
    let server = Server::start(Pace::Each(Duration::from_millis(1)));
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("two.js");
    let source = format!(
        "import http from 'k6/http';\nexport default function () {{ http.get('{0}'); http.get('{0}'); }}\n",
        server.url
    );
    std::fs::write(&script, source).unwrap();
    let flags = ["--rates", "10,20", "--step", "1s", "--in-flight", "8"];
    let output = sweep(script.to_str().unwrap(), home.path(), &flags).output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let document = parsed(&output.stdout);
    assert_eq!(document["unit"], "iterations/s");
    let steps = document["steps"].as_array().unwrap();
    for step in steps {
        let each = step["requests_per_arrival"].as_f64().unwrap();
        assert!((1.5..=2.0).contains(&each), "{step:#}");
    }
    assert_eq!(steps[0]["level"], 10.0);
}
