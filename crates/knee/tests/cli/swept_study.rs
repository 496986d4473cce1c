//! A sweep of a study's variant, with the demo server as the service: what is started, reset and left behind.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::study::study_of_the_demo_server;

/// The study of the demo server, whose service writes its port and its colour to a file whenever it starts. Its data come
/// back to their first state between trials.
fn study(folder: &Path) {
    study_of_the_demo_server(folder);
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    let knee = env!("CARGO_BIN_EXE_knee");
    let started = folder.join("started").display().to_string();
    let service = format!(
        "command = [\"/bin/sh\", \"-c\", \"echo {{port}} $DEMO_COLOR >> {started}; exec {knee} demo --serve-only \
         --listen 127.0.0.1:{{port}}\"]\nseed = [\"/bin/sh\", \"-c\", \"true\"]\nreset = \"copy\""
    );
    let command = text.lines().find(|line| line.starts_with("command = ")).unwrap();
    fs::write(&file, text.replace(command, &service)).unwrap();
}

fn sweep(folder: &Path, flags: &[&str]) -> Output {
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.arg("sweep").arg(folder).args(flags);
    command.env("KNEE_HOME", folder.join("home")).env("TMPDIR", temporary).output().unwrap()
}

/// The lines that the service left when it started: port and colour.
fn starts(folder: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(folder.join("started")).unwrap_or_default();
    let words = text.lines().filter_map(|line| line.split_once(' '));
    words.map(|(port, color)| (port.to_owned(), color.to_owned())).collect()
}

/// A result, unless something was said in place of it.
fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The steps of a result.
fn steps(output: &Output) -> Vec<Value> {
    let mut result = result(output);
    let Value::Array(steps) = result["steps"].take() else { panic!("no steps: {result:#}") };
    steps
}

const SHORT: [&str; 6] = ["--rates", "20,40", "--step", "300ms", "--output-format", "json"];

#[test]
fn the_service_is_a_fresh_one_at_each_step_and_nothing_is_left_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    let output = sweep(folder, &[&SHORT[..], &["--variant", "blue", "--observe", "started"]].concat());
    let steps = steps(&output);
    assert!(steps.len() >= 2, "{steps:#?}");
    let starts = starts(folder);
    // The first step needs no reset: the service has just been started.
    let resets = steps.iter().filter(|step| step["reset"] == true).count();
    assert!(resets >= 2 && starts.len() == resets, "{starts:?}: {steps:#?}");
    let resources = steps.iter().flat_map(|step| step["resources"].as_array().into_iter().flatten());
    let names: Vec<&str> = resources.filter_map(|one| one["resource"].as_str()).collect();
    assert!(names.contains(&"CPUs of knee") && names.iter().all(|name| !name.contains("pid ")), "{names:?}");
    for (port, color) in &starts {
        assert_eq!(color, "blue");
        assert!(TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_err(), "{port} still answers");
    }
    assert!(!folder.join(".knee").exists(), "nothing was measured for the study");
}

#[test]
fn the_result_says_which_cpus_generator_and_service_had() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    let output = sweep(folder, &SHORT);
    let cpus = &result(&output)["cpus"];
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("CPUs: "), "{said}");
    // Where there is one CPU, or none can be chosen, they share it.
    match cpus["shared"].as_str() {
        None => assert_ne!(cpus["generator"], cpus["others"], "{cpus:#}"),
        Some(why) => assert!(["one_cpu", "unknown"].contains(&why), "{cpus:#}"),
    }
    let cpus = &result(&sweep(folder, &[&SHORT[..], &["--share-cpus"]].concat()))["cpus"];
    assert!(cpus["shared"] == "asked" && cpus["generator"] == cpus["others"], "{cpus:#}");
}

#[test]
fn an_interrupted_sweep_of_a_study_goes_on_and_one_of_another_variant_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    let first = sweep(folder, &SHORT);
    assert!(!steps(&first).is_empty());
    assert!(starts(folder).iter().all(|(_, color)| color == "red"), "the baseline");
    let again = sweep(folder, &[&SHORT[..], &["--resume"]].concat());
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("resumed: steps already saved: "), "{said}");
    let other = sweep(folder, &[&SHORT[..], &["--resume", "--variant", "blue"]].concat());
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(104), "{said}");
    assert!(said.contains("variant blue, workload page"), "{said}");
    // A title changes nothing that was measured; a path does.
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap().replace("two servers", "two demo servers");
    fs::write(&file, &text).unwrap();
    let again = sweep(folder, &[&SHORT[..], &["--resume"]].concat());
    assert!(!steps(&again).is_empty());
    fs::write(&file, text.replace("path = \"/\"", "path = \"/healthz\"")).unwrap();
    let begun = starts(folder).len();
    let changed = sweep(folder, &[&SHORT[..], &["--resume"]].concat());
    let said = String::from_utf8_lossy(&changed.stderr).into_owned();
    assert_eq!(changed.status.code(), Some(104), "{said}");
    assert!(said.contains("with these flags is saved"), "{said}");
    assert_eq!(starts(folder).len(), begun, "nothing was started for a sweep that is not there");
}

#[test]
fn a_script_of_a_study_finds_the_address_of_its_service() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    let script = "script = \"page.js\"\nenv = { PAGE = \"/healthz\" }\n";
    fs::write(&file, text.replace("path = \"/\"\nconnections = 2\n", script)).unwrap();
    let page = "import http from 'k6/http';
export default function () { http.get(__ENV.BASE_URL + __ENV.PAGE); }
";
    fs::write(folder.join("page.js"), page).unwrap();
    for step in steps(&sweep(folder, &SHORT)) {
        assert!(step["requests"].as_u64().unwrap() > 0, "{step:#}");
        assert_eq!(step["failed_share"], 0.0, "{step:#}");
    }
    assert!(starts(folder).len() >= 2);
}

#[test]
fn what_a_study_does_not_have_or_says_itself_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    for (flags, error) in [
        (&["--variant", "green"][..], "no variant `green` takes part; variants: red, blue"),
        (&["--workload", "list"], "no workload is called `list`"),
        (&["--reset", "true"], "a sweep of a study does not take `--reset`"),
        (&["--pid", "1"], "a sweep of a study does not take `--pid`"),
        (&["-m", "POST"], "a sweep of a study does not take flags about requests"),
        (&["--slo", "p99"], "`p99` is not a limit on response time"),
    ] {
        let output = sweep(folder, flags);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(104), "{flags:?}: {said}");
        assert!(said.contains(error), "{flags:?}: {said}");
    }
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "\n[workloads.health]\npath = \"/healthz\"\n").unwrap();
    let output = sweep(folder, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("choose one with `--workload`: the study has page, health"), "{said}");
    assert!(starts(folder).is_empty());
}

#[test]
fn a_study_with_one_variant_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study(folder);
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("order = [\"red\", \"blue\"]", "order = [\"red\"]")).unwrap();
    assert_eq!(steps(&sweep(folder, &SHORT)).len(), 2);
}
