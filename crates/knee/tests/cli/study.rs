//! A study from its file to its result: a real rig, the demo server as the service, one block.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Two arms of the demo server, which differ in a variable that it does not know.
fn study_of_the_demo_server(folder: &Path) {
    let knee = env!("CARGO_BIN_EXE_knee");
    let text = format!(
        r#"title = "two servers that are the same"

[service.main]
command = ["{knee}", "demo", "--serve-only", "--listen", "127.0.0.1:{{port}}"]

[switches.color]
default = "red"
env = "DEMO_COLOR"

[arms.red]

[arms.blue]
on = "red"
switches = {{ color = "blue" }}

[workloads.page]
path = "/"
connections = 2

[design]
kind = "ladder"
order = ["red", "blue"]
warm_up = "200ms"
measure = "500ms"
"#
    );
    fs::write(folder.join("study.toml"), text).unwrap();
}

fn knee(folder: &Path, flags: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.arg("study").arg(folder).args(flags).env("KNEE_HOME", folder.join("home"));
    command.output().unwrap()
}

fn trials(folder: &Path) -> usize {
    let kept = fs::read_to_string(folder.join(".knee/trials.jsonl")).unwrap();
    kept.lines().count() - 1
}

#[test]
fn every_trial_is_run_kept_and_shown_and_a_study_that_is_over_has_nothing_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    assert_eq!(conclusion["over"], true, "{told}");
    let entries = conclusion["trials"].as_array().unwrap();
    let arms: Vec<&str> = entries.iter().map(|entry| entry["trial"]["arm"].as_str().unwrap()).collect();
    assert!(arms.contains(&"red") && arms.contains(&"blue"), "{arms:?}");
    for entry in entries {
        let measured = &entry["told"]["measured"];
        assert!(measured["requests"].as_u64().unwrap() > 0, "{entry:#}");
        assert!(Path::new(measured["record"].as_str().unwrap()).is_file(), "{entry:#}");
    }
    assert_eq!(trials(folder.path()), entries.len());

    let again = knee(folder.path(), &["--blocks", "1", "--resume", "--output-format", "json"]);
    let resumed: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(resumed["trials"], conclusion["trials"], "no trial is made twice");
    assert_eq!(trials(folder.path()), entries.len());
}

#[test]
fn a_mistake_in_a_study_is_told_with_its_line_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let text = fs::read_to_string(&file).unwrap().replace("on = \"red\"", "on = \"green\"");
    fs::write(&file, text).unwrap();
    let output = knee(folder.path(), &[]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{told}");
    assert!(
        told.starts_with("error: ") && told.contains("study.toml:13:") && told.contains("green"),
        "{told}"
    );
    assert!(told.contains("hint: "), "{told}");
    assert!(output.stdout.is_empty() && !folder.path().join(".knee").exists(), "{told}");
}

#[test]
fn a_service_that_does_not_come_up_costs_its_arm_and_says_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let broken = "[arms.blue]\ncommand = [\"/bin/sh\", \"-c\", \"echo no such color >&2; exit 3\"]\n";
    let text = fs::read_to_string(&file).unwrap().replace("[arms.blue]\n", broken);
    fs::write(&file, text).unwrap();
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    let blue = conclusion["arms"].as_array().unwrap().iter().find(|arm| arm["name"] == "blue").unwrap();
    assert!(blue["lost"].as_str().unwrap().contains("no such color"), "{blue:#}");
    assert!(conclusion["trials"].as_array().unwrap().iter().any(|entry| entry["trial"]["arm"] == "red"));
}
