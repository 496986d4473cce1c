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
    let (before, _) = told.split_once("step ").unwrap();
    if let Some(shared) = document["cpu"]["shared_with_generator"].as_u64() {
        let said = before.contains("note: service and load generator share ");
        assert_eq!(said, shared > 0, "before the first step: {told}");
    }
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    if cfg!(debug_assertions) {
        assert_eq!(document["validity"], "invalid", "a debug build does not measure");
        assert_eq!(output.status.code(), Some(120));
    }
}

#[test]
fn a_server_that_sheds_load_is_called_that_and_its_503s_are_no_throughput() {
    let server = Server::start(Pace::Sheds(Duration::from_millis(5), 20));
    let home = tempfile::tempdir().unwrap();
    let flags =
        ["--from", "60", "--factor", "1.6", "--step", "1s", "--in-flight", "100", "--max-time", "25s"];
    let output = sweep(&server.url, home.path(), &flags).output().unwrap();
    let document = parsed(&output.stdout);
    let steps = document["steps"].as_array().unwrap();
    let rejected = steps.iter().filter(|step| step["rejected"].as_u64() > Some(0)).count();
    assert!(rejected >= 2, "{document:#}");
    for step in steps {
        // 20 can have waited when the step began.
        let most = LIMIT + 20.0 / step["seconds"].as_f64().unwrap();
        assert!(step["goodput"].as_f64().unwrap() <= most * 1.05, "a 503 is no service: {step:#}");
    }
    let saturation = document["saturation"]["goodput"].as_f64().unwrap();
    assert!(saturation <= LIMIT * 1.15, "{}", document["saturation"]);
    // On a busy machine steps can be void; what is usable must say what the server does.
    if steps.iter().all(|step| step["outcome"] != "void") {
        let headline = document["headline"].as_str().unwrap();
        assert!(headline.contains("The service sheds load beyond"), "{headline}");
        let keeps = document["shedding"]["goodput"].as_f64().unwrap();
        assert!(keeps <= LIMIT * 1.15, "{}", document["shedding"]);
        assert_eq!(document["saturation"]["reached"], true);
    }
}

#[test]
fn the_service_is_reset_before_every_step_but_those_after_an_overload() {
    let server = Server::start(Pace::InTurn(Duration::from_millis(5)));
    let home = tempfile::tempdir().unwrap();
    let count = home.path().join("resets");
    let reset = format!("echo reset >> '{}'", count.display());
    let flags = ["--rates", "60,400", "--step", "500ms", "--in-flight", "64", "--reset", &reset];
    let output = sweep(&server.url, home.path(), &flags).output().unwrap();
    let document = parsed(&output.stdout);
    let steps = document["steps"].as_array().unwrap();
    let asked = steps.iter().filter(|step| step["reset"] == true).count();
    assert_eq!(std::fs::read_to_string(count).unwrap().lines().count(), asked, "{document:#}");
    for step in steps {
        assert_eq!(step["reset"] == true, step["purpose"] != "descend", "{step:#}");
    }
}

#[test]
fn a_reset_that_fails_ends_the_sweep_with_an_error_and_the_result_so_far() {
    let server = Server::start(Pace::Each(Duration::from_millis(1)));
    let home = tempfile::tempdir().unwrap();
    let once = home.path().join("once");
    let reset = format!("test ! -e '{0}' && touch '{0}'", once.display());
    let flags = ["--rates", "20,30", "--step", "500ms", "--reset", &reset];
    let output = sweep(&server.url, home.path(), &flags).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("error: the reset before step 2 failed, `test ! -e"), "{told}");
    assert!(told.contains("hint: run the command by hand"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(parsed(&output.stdout)["steps"].as_array().unwrap().len(), 1);
}

/// The load, purpose and seed of each step.
fn steps_of(document: &Value) -> Vec<Value> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().map(|step| serde_json::json!([step["level"], step["purpose"], step["seed"]])).collect()
}

#[test]
fn a_sweep_that_was_killed_goes_on_with_its_saved_steps_and_concludes_from_all() {
    let server = Server::start(Pace::Each(Duration::from_millis(1)));
    let home = tempfile::tempdir().unwrap();
    let flags = ["--rates", "20,30,40,50,60", "--step", "500ms"];
    let mut child = sweep(&server.url, home.path(), &flags).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("step  2")));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();

    let resume = |flags: &[&str]| sweep(&server.url, home.path(), flags).arg("--resume").output().unwrap();
    let output = resume(&flags);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("resumed: steps already saved: "), "{told}");
    let document = parsed(&output.stdout);
    let measured = told.lines().filter(|line| line.starts_with("step ")).count();
    let steps = document["steps"].as_array().unwrap();
    assert!(steps.len() >= 5 && measured <= steps.len() - 2, "two were not run again: {told}");
    assert_eq!(document["ended"], "complete");

    // All steps are saved now: going on runs none, and says the same.
    let before = server.came();
    let again = parsed(&resume(&flags).stdout);
    assert_eq!(steps_of(&again), steps_of(&document));
    for figure in ["headline", "capacity", "saturation", "knee", "recovery", "steps"] {
        assert_eq!(again[figure], document[figure], "{figure}");
    }
    // The request that tests whether the server is there.
    assert!(server.came() <= before + 1, "no load");

    let other = resume(&["--rates", "20,30", "--step", "500ms"]);
    let told = String::from_utf8(other.stderr).unwrap();
    assert!(told.contains("with these flags is saved, for `--resume`"), "{told}");
    assert_eq!(other.status.code(), Some(104), "{told}");
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

#[test]
fn what_stops_it_is_said_at_the_first_level_beyond_the_limit_and_saved_with_the_result() {
    let server = Server::start(Pace::InTurn(Duration::from_millis(5)));
    let home = tempfile::tempdir().unwrap();
    let flags = ["--rates", "40,120,260", "--step", "1500ms", "--in-flight", "64"];
    let document = parsed(&sweep(&server.url, home.path(), &flags).output().unwrap().stdout);
    let findings = &document["findings"];
    let level = findings["level"].as_f64().unwrap();
    let beyond = document["capacity"]["high"].as_f64().filter(|_| findings["is_beyond"] == true);
    assert!(beyond.is_none_or(|beyond| level >= beyond), "{findings:#}");
    let of_step = |number: &Value| {
        let steps = document["steps"].as_array().unwrap();
        steps.iter().find(|step| &step["number"] == number).unwrap().clone()
    };
    assert_eq!(of_step(&findings["step"])["level"], findings["level"]);

    let mut report = Command::new(env!("CARGO_BIN_EXE_knee"));
    report.args(["report", "last", "--all-findings"]).env("KNEE_HOME", home.path());
    let told = String::from_utf8(report.output().unwrap().stdout).unwrap();
    assert!(told.contains("\nWhat stops it at "), "{told}");
    let ran = findings["report"]["ran"].as_array().unwrap();
    if cfg!(debug_assertions) {
        // A debug build does not measure.
        assert!(ran.is_empty() && told.contains("it needs a run that is not invalid"), "{told}");
        return;
    }
    let found = findings["report"]["findings"].as_array().unwrap();
    let places = found.iter().find(|one| one["code"] == "fixed_places");
    // On a busy machine the CPUs are full as well, or more steps fail than those beyond the limit.
    let is_calm = document["cpu"]["busy"].as_f64().is_some_and(|busy| busy < 0.5) && level > LIMIT;
    let has_run = ran.contains(&Value::from("fixed_places"));
    assert!((has_run && places.is_some()) || !is_calm, "the CPUs are known: {findings:#}");
    if let Some(places) = places {
        assert!(places["statement"].as_str().unwrap().contains(" places (CPUs "), "{places:#}");
    }
}

#[test]
fn a_search_for_the_limit_of_a_url_sweeps_first_and_looks_there() {
    let server = Server::start(Pace::InTurn(Duration::from_millis(5)));
    let home = tempfile::tempdir().unwrap();
    let mut find = Command::new(env!("CARGO_BIN_EXE_knee"));
    find.args(["find", "--sweep", "-z", "15s", "--output-format", "json"]).arg(&server.url);
    let output = find.env("KNEE_HOME", home.path()).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.lines().filter(|line| line.starts_with("step ")).count() >= 3, "{told}");
    assert!(told.contains("record: "), "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let title = document["title"].as_str().unwrap();
    assert!(title.starts_with(&format!("{} at ", server.url)) && title.contains(" requests/s"), "{title}");
    // The result of the sweep comes first. On a busy machine, no level can pass.
    let result = document["notes"][0].as_str().unwrap();
    assert!(result.starts_with("Capacity") || result.starts_with("Every level failed"), "{result}");
    assert_eq!(document["proof"]["state"], "not_tried");
}
