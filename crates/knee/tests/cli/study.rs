//! A study from its file to its result: a real fixture, the demo server as the service, one block.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Two variants of the demo server, which differ in a variable that it does not know.
pub fn study_of_the_demo_server(folder: &Path) {
    let knee = env!("CARGO_BIN_EXE_knee");
    let text = format!(
        r#"title = "two servers that are the same"

[service.main]
command = ["{knee}", "demo", "--serve-only", "--listen", "127.0.0.1:{{port}}"]

[switches.color]
default = "red"
env = "DEMO_COLOR"

[variants.red]

[variants.blue]
extends = "red"
switches = {{ color = "blue" }}

[workloads.page]
path = "/"
connections = 2

[design]
kind = "ladder"
order = ["red", "blue"]
warm_up = "200ms"
measure = "800ms"
"#
    );
    fs::write(folder.join("study.toml"), text).unwrap();
}

fn knee(folder: &Path, flags: &[&str]) -> std::process::Output {
    command(folder, flags).output().unwrap()
}

/// The command, with folders of its own for runs and for temporary files: another test is no neighbour.
fn command(folder: &Path, flags: &[&str]) -> Command {
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.arg("study").arg(folder).args(flags);
    command.env("KNEE_HOME", folder.join("home")).env("TMPDIR", temporary);
    command
}

/// The packed trials of a whole study, line by line.
pub fn saved(folder: &Path) -> String {
    let packed = fs::read(folder.join("trials.jsonl.zst")).unwrap();
    String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap()
}

/// The trials of a whole study as it leaves them when it is killed: the file, and its lines.
pub fn unpacked(folder: &Path) -> (PathBuf, String) {
    let (file, kept) = (folder.join(".knee/trials.jsonl"), saved(folder));
    fs::write(&file, &kept).unwrap();
    fs::remove_file(folder.join("trials.jsonl.zst")).unwrap();
    (file, kept)
}

fn trials(folder: &Path) -> usize {
    saved(folder).lines().filter(|line| line.starts_with(r#"{"trial""#)).count()
}

/// Whether the store of the study's runs has a record of this name.
fn is_saved(folder: &Path, record: &str) -> bool {
    let series = fs::read_dir(folder.join("home/trials")).unwrap();
    series.into_iter().any(|series| series.unwrap().path().join(record).is_file())
}

#[test]
fn every_trial_is_run_kept_and_shown_and_a_study_that_is_over_has_nothing_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    assert_eq!(conclusion["over"], true, "{told}");
    let schema = serde_json::from_str(include_str!("../../../../docs/reference/study.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&conclusion).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert!(conclusion["sessions"][0]["machine"]["cores"].as_u64().unwrap() > 0, "{told}");
    let entries = conclusion["trials"].as_array().unwrap();
    let arms: Vec<&str> = entries.iter().map(|entry| entry["trial"]["variant"].as_str().unwrap()).collect();
    assert!(arms.contains(&"red") && arms.contains(&"blue"), "{arms:?}");
    for entry in entries {
        let measured = &entry["result"]["measured"];
        assert!(measured["requests"].as_u64().unwrap() > 0, "{entry:#}");
        assert!(is_saved(folder.path(), measured["record"].as_str().unwrap()), "{entry:#}");
        let own = &measured["figures"]["generator_cpu_per_request"]["value"];
        assert!(own.as_f64().unwrap() > 0.0, "{entry:#}");
        if cfg!(target_os = "linux") {
            let cpus = &measured["placement"]["cpus"];
            assert!(cpus["generator"].is_string() && cpus["service.main"].is_string(), "{entry:#}");
        }
    }
    assert_eq!(trials(folder.path()), entries.len());

    let again = knee(folder.path(), &["--blocks", "1", "--resume", "--output-format", "json"]);
    let resumed: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(resumed["trials"], conclusion["trials"], "no trial is made twice");
    assert_eq!(trials(folder.path()), entries.len());
}

#[test]
fn a_mistake_in_a_study_is_reported_with_its_line_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let text = fs::read_to_string(&file).unwrap().replace("extends = \"red\"", "extends = \"green\"");
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

/// The study of the demo server with one text replaced; how its run ended.
fn changed(from: &str, to: &str, flags: &[&str]) -> (tempfile::TempDir, Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&file, text.replace(from, to)).unwrap();
    let output = knee(folder.path(), flags);
    (folder, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_study_whose_first_responses_are_all_404_stops_and_says_so() {
    let (_folder, code, stderr) = changed("path = \"/\"", "path = \"/nothing-here\"", &["--blocks", "2"]);
    assert_eq!(code, Some(120), "{stderr}");
    assert!(stderr.contains("every response of the first trial of `page` was 404"), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
}

#[test]
fn a_service_that_is_not_passed_its_port_is_refused_at_once() {
    let (folder, code, stderr) = changed("127.0.0.1:{port}", "127.0.0.1:1", &[]);
    assert_eq!(code, Some(104), "{stderr}");
    assert!(stderr.contains("`service.main.command` has no `{port}`"), "{stderr}");
    assert!(stderr.contains("hint: write {port} where"), "{stderr}");
    assert!(!folder.path().join(".knee/trials.jsonl").exists());
}

#[test]
fn the_last_words_of_a_service_that_does_not_come_up_are_shown_once_with_their_line_breaks() {
    let crash =
        "command = [\"sh\", \"-c\", \"echo first; echo second; exit 3\", \"{port}\"]\nbuild = \"true\" #";
    let (_folder, _, stderr) = changed("command = ", crash, &["--blocks", "1"]);
    let shown = stderr.matches("\n  | first\n  | second").count();
    assert!(shown >= 2 && shown == stderr.matches("warning: ").count(), "once per variant: {stderr}");
    assert_eq!(stderr.matches("\nbuilding: true\n").count(), 1, "before the build, once: {stderr}");
    assert!(stderr.contains("ended before it was ready (exit code 3)"), "{stderr}");
}

#[test]
fn a_second_study_in_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    fs::create_dir(folder.path().join(".knee")).unwrap();
    let lock = fs::File::create(folder.path().join(".knee/lock")).unwrap();
    lock.lock().unwrap();
    let output = knee(folder.path(), &["--blocks", "1"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{stderr}");
    assert!(stderr.contains("another `knee study` runs the study in this folder"), "{stderr}");
    let holder = format!("process {}", std::process::id());
    assert!(!cfg!(target_os = "linux") || stderr.contains(&holder), "it says which: {stderr}");
}

#[test]
fn a_second_measurement_on_the_machine_waits_and_says_which_command_it_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let mut waiting = command(folder.path(), &["--blocks", "1"]);
    let series = fs::File::create(folder.path().join("tmp/knee-series.lock")).unwrap();
    series.lock().unwrap();
    let mut child = waiting.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.by_ref().find(|line| line.starts_with("waiting: ")).unwrap();
    assert!(line.contains("measures on this machine"), "{line}");
    let holder = format!("process {}", std::process::id());
    assert!(!cfg!(target_os = "linux") || line.contains(&holder), "{line}");
    assert!(!folder.path().join(".knee/trials.jsonl").exists(), "nothing is started meanwhile");
    drop(series);
    let rest: Vec<String> = lines.collect();
    child.wait().unwrap();
    assert!(trials(folder.path()) >= 2, "{rest:?}");
}

#[test]
fn the_generator_has_cpus_of_its_own_and_every_form_says_so_in_one_line() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    let divided = cfg!(target_os = "linux") && cpus > 1;
    assert_eq!(conclusion["cpus"]["shared"].is_null(), divided, "{told}");
    for entry in conclusion["trials"].as_array().unwrap().iter().filter(|_| divided) {
        let placed = &entry["result"]["measured"]["placement"]["cpus"];
        assert_eq!(placed["generator"], conclusion["cpus"]["generator"], "{entry:#}");
        assert_eq!(placed["service.main"], conclusion["cpus"]["others"], "{entry:#}");
        assert_ne!(placed["generator"], placed["service.main"], "{entry:#}");
    }
    let line = if divided { "CPUs: generator on " } else { "CPUs: not divided (" };
    assert!(told.contains(line), "{told}");
    assert!(told.contains("time: ") && told.contains(" under load; without load "), "{told}");
    for format in ["text", "md", "json"] {
        let shown = knee(folder.path(), &["--report-only", "--output-format", format]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(line), "{format}: {shown}");
    }

    // Trials on shared CPUs are another study.
    let shared = knee(folder.path(), &["--blocks", "1", "--share-cpus", "--resume"]);
    let told = String::from_utf8_lossy(&shared.stderr).into_owned();
    assert_eq!(shared.status.code(), Some(104), "{told}");
    let shared = knee(folder.path(), &["--blocks", "1", "--share-cpus", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&shared.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&shared.stdout).expect(&told);
    assert_eq!(conclusion["cpus"]["shared"], "asked", "{told}");
    assert!(conclusion["command"].as_str().unwrap().contains("--share-cpus"), "{told}");

    // The saved trials say that they shared the CPUs: with the flag, as their documents give the command, and without.
    let results = fs::read_to_string(folder.path().join("RESULTS.md")).unwrap();
    assert!(results.contains("\nknee study . --blocks 1 --share-cpus --report-only\n"), "{results}");
    let report = ["--report-only", "--output-format", "json"];
    for flags in [report.to_vec(), ["--blocks", "1", "--share-cpus"].iter().chain(&report).copied().collect()]
    {
        let again = knee(folder.path(), &flags);
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        assert_eq!(shared.stdout, again.stdout, "{flags:?}: {told}");
        assert_eq!(fs::read_to_string(folder.path().join("RESULTS.md")).unwrap(), results, "{told}");
    }
    let apart = knee(folder.path(), &["--blocks", "1", "--report-only"]);
    let told = String::from_utf8_lossy(&apart.stderr).into_owned();
    assert_eq!(apart.status.code(), Some(104), "the trials are of other options: {told}");
}

#[test]
fn saved_trials_of_another_division_of_the_cpus_are_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    knee(folder.path(), &["--blocks", "1"]);
    let (file, kept) = unpacked(folder.path());
    // As on a machine with more CPUs, stopped before the last trial.
    let lines = kept.lines().count() - 1;
    let (heading, rest) = kept.split_once('\n').unwrap();
    let division = serde_json::json!({ "generator": "0-7", "others": "8-31" });
    let mut heading: Value = serde_json::from_str(heading).unwrap();
    assert!(heading["division"].is_object(), "{heading}");
    heading["division"] = division;
    let rest: Vec<&str> = rest.lines().take(lines - 1).collect();
    let older = format!("{heading}\n{}\n", rest.join("\n"));
    fs::write(&file, &older).unwrap();
    let output = knee(folder.path(), &["--blocks", "1", "--resume"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{told}");
    assert!(told.contains("the saved trials ran on another division of the CPUs"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), older, "they are still there");
}

#[test]
fn a_study_keeps_the_noise_that_was_known_when_it_began() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    knee(folder.path(), &["--blocks", "1"]);
    let (file, kept) = unpacked(folder.path());
    let (heading, rest) = kept.split_once('\n').unwrap();
    let mut heading: Value = serde_json::from_str(heading).unwrap();
    assert!(heading["calibration"].is_null(), "{heading}");
    let noise =
        serde_json::json!({ "of": "then", "blocks": 10, "deviations": { "goodput": 0.3 }, "suspicious": [] });
    heading["calibration"] = noise.clone();
    fs::write(&file, format!("{heading}\n{rest}")).unwrap();
    for flags in [
        &["--report-only", "--output-format", "json"][..],
        &["--blocks", "1", "--resume", "--output-format", "json"],
    ] {
        let output = knee(folder.path(), flags);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
        assert_eq!(conclusion["noise"], noise, "{flags:?}: {told}");
    }
}

#[test]
fn a_variant_that_is_up_can_be_looked_at_until_it_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let more: Vec<String> =
        (1..8).map(|number| format!("\n[workloads.more{number}]\npath = \"/\"\n")).collect();
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("[service.main]\n", "[service.main]\nmetrics = \"/figures\"\n");
    fs::write(&file, text + &more.concat()).unwrap();
    let mut up = command(folder.path(), &["--up", "blue"]);
    let mut child = up.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.by_ref().find(|line| line.starts_with("main is at ")).unwrap();
    let address = line.strip_prefix("main is at http://").unwrap().to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok(), "{address}");
    assert_eq!(lines.by_ref().next().unwrap(), format!("main has metrics at http://{address}/figures"));
    let attempt = lines.by_ref().find(|line| line.starts_with("to try `page`: ")).unwrap();
    assert!(attempt.ends_with(&format!("http://{address}/")), "{attempt}");
    let others: Vec<String> = lines.by_ref().take_while(|line| line.starts_with("to try ")).collect();
    assert_eq!(others.len(), 4, "a long list would hide the addresses: {others:?}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    assert!(std::net::TcpStream::connect(&address).is_err(), "{rest:?}");
    assert!(!folder.path().join(".knee").exists(), "nothing was measured");

    let output = knee(folder.path(), &["--up", "bleu"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{told}");
    assert!(told.contains("no variant `bleu` takes part; variants: red, blue"), "{told}");
}

#[test]
fn a_dry_run_lists_the_trials_in_their_order_with_the_time_they_take() {
    let (folder, code, stderr) = changed("path", "path", &["--blocks", "2", "--dry-run"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("trials:    ") && stderr.contains("time:      "), "{stderr}");
    assert!(stderr.contains("    1. block 1: page on "), "{stderr}");
    assert!(!folder.path().join(".knee").exists());
}

#[test]
fn a_script_gets_the_address_of_another_service_and_its_duration_and_the_generator_has_a_cpu_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    let main = text.split_once("[service.main]").unwrap().1.split_once("[switches").unwrap().0;
    let more = format!("[generator]\ncpus = \"0\"\n\n[service.called]{main}[service.main]");
    // The script has no duration of its own.
    let script = "script = \"both.js\"\nenv = { CALLED = \"http://localhost:{service.called.port}\", \
                  DURATION = \"{duration}\" }\n";
    let text = text.replacen("[service.main]", &more, 1).replace("path = \"/\"\nconnections = 2\n", script);
    fs::write(&file, &text).unwrap();
    let both = "import http from 'k6/http';
export const options = { vus: 1, duration: __ENV.DURATION };
export default function () {
    if (__ENV.CALLED === __ENV.BASE_URL) throw new Error('one and the same');
    http.get(`${__ENV.CALLED}/healthz`);
}
";
    fs::write(folder.path().join("both.js"), both).unwrap();
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    for entry in conclusion["trials"].as_array().unwrap() {
        let measured = &entry["result"]["measured"];
        assert!(measured["requests"].as_u64().unwrap() > 0, "{entry:#}");
        assert_eq!(measured["figures"]["errors"]["value"], 0.0, "{entry:#}");
        let warnings = measured["warnings"].as_array().unwrap();
        assert!(warnings.iter().all(|warning| warning["code"] != "cut_short"), "{entry:#}");
        if cfg!(target_os = "linux") {
            assert_eq!(measured["placement"]["cpus"]["generator"], "0", "{entry:#}");
        }
    }

    let kept = trials(folder.path());
    fs::write(&file, text.replace("{service.called.port}", "{service.caled.port}")).unwrap();
    let output = knee(folder.path(), &["--blocks", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{told}");
    assert!(
        told.contains("there is no placeholder `{service.caled.port}`, ")
            && told.contains("study.toml:24:18"),
        "{told}"
    );
    assert_eq!(trials(folder.path()), kept, "what was measured is not lost to a slip of the pen");
}

#[test]
fn a_service_that_does_not_come_up_costs_its_variant_and_says_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let file = folder.path().join("study.toml");
    let broken =
        "[variants.blue]\ncommand = [\"/bin/sh\", \"-c\", \"echo no such color >&2; exit 3\", \"{port}\"]\n";
    let text = fs::read_to_string(&file).unwrap().replace("[variants.blue]\n", broken);
    fs::write(&file, text).unwrap();
    let output = knee(folder.path(), &["--blocks", "1", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let conclusion: Value = serde_json::from_slice(&output.stdout).expect(&told);
    let blue =
        conclusion["variants"].as_array().unwrap().iter().find(|variant| variant["name"] == "blue").unwrap();
    assert!(blue["lost"].as_str().unwrap().contains("no such color"), "{blue:#}");
    assert!(conclusion["trials"].as_array().unwrap().iter().any(|entry| entry["trial"]["variant"] == "red"));
}

/// Makes the kept trials count, which a build without optimizations calls invalid.
fn let_trials_count(folder: &Path) {
    let (file, kept) = unpacked(folder);
    let valid = |line: &str| line.replace(r#""validity":"invalid""#, r#""validity":"valid""#) + "\n";
    fs::write(file, kept.lines().map(valid).collect::<String>()).unwrap();
}

/// How often a service was started that [`told_of_its_start`].
fn starts(folder: &Path) -> usize {
    fs::read_to_string(folder.join("started")).unwrap_or_default().lines().count()
}

/// The demo server as a service that leaves a line in a file each time it starts.
fn leaves_a_line_at_each_start(folder: &Path) {
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap();
    let command = text.lines().find(|line| line.starts_with("command = ")).unwrap();
    let knee = env!("CARGO_BIN_EXE_knee");
    let shell = format!(
        "command = [\"/bin/sh\", \"-c\", \"echo up >> started; exec {knee} demo --serve-only --listen 127.0.0.1:{{port}}\"]"
    );
    fs::write(&file, text.replace(command, &shell)).unwrap();
}

/// The documents of a study: the name and the bytes of each.
fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("plots")).unwrap().map(|file| file.unwrap().path()).collect();
    files.extend(["RESULTS.md", "README.md", "trials.jsonl.zst"].map(|name| folder.join(name)));
    files.sort();
    let name = |file: &Path| file.strip_prefix(folder).unwrap().display().to_string();
    files.iter().map(|file| (name(file), fs::read(file).unwrap())).collect()
}

const MARKED: &str =
    "# Two servers\n\nBy hand.\n\n<!-- knee:claims -->\nold\n<!-- /knee:claims -->\n\nBelow.\n";

const CLAIM: &str = "\n[claims.quick]\ntext = \"red is quick\"\nvariant = \"red\"\nworkload = \"page\"\n\
                     metric = \"p50\"\nbelow = \"9s\"\npublished = \"1 ms\"\nlike_for_like = \"no: another server\"\n";

#[test]
fn every_document_is_the_same_bytes_again_in_a_fresh_clone_that_has_only_the_saved_trials() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study_of_the_demo_server(folder);
    let file = folder.join("study.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap() + CLAIM).unwrap();
    fs::write(folder.join("README.md"), MARKED).unwrap();
    let live = knee(folder, &["--blocks", "1", "--output-format", "json"]);
    let first = knee(folder, &["--report-only", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&live.stderr).into_owned();
    assert_eq!(live.stdout, first.stdout, "what was measured is what was saved: {told}");
    let_trials_count(folder);
    let first = knee(folder, &["--report-only", "--output-format", "json"]);
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(
        readme.starts_with("# Two servers\n\nBy hand.\n\n<!-- knee:claims -->\n\n| published"),
        "{told}{readme}"
    );
    assert!(
        readme.contains("| red is quick | 1 ms |") && readme.contains("| no: another server |"),
        "{readme}"
    );
    assert!(
        readme.ends_with("\n<!-- /knee:claims -->\n\nBelow.\n") && !readme.contains("\nold\n"),
        "{readme}"
    );
    let results = fs::read_to_string(folder.join("RESULTS.md")).unwrap();
    assert!(results.lines().count() <= 200, "{results}");
    assert!(results.contains("\nknee study . --blocks 1 --report-only\n"), "{results}");

    // The clone has no `.knee` and none of the documents. Its program has a home of its own.
    let clone = tempfile::tempdir().unwrap();
    let clone = clone.path();
    for name in ["study.toml", "trials.jsonl.zst"] {
        fs::copy(folder.join(name), clone.join(name)).unwrap();
    }
    fs::write(clone.join("README.md"), MARKED).unwrap();
    let again = knee(clone, &["--report-only", "--output-format", "json"]);
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(first.stdout, again.stdout, "the JSON: {told}");
    assert_eq!(documents(folder), documents(clone), "{told}");
    assert!(!clone.join("home").exists() && !clone.join(".knee").exists(), "nothing was run: {told}");
}

#[test]
fn a_study_in_a_subfolder_fills_its_table_in_the_readme_above_it_and_leaves_the_other_one() {
    let lab = tempfile::tempdir().unwrap();
    let folder = lab.path().join("growth");
    fs::create_dir(&folder).unwrap();
    study_of_the_demo_server(&folder);
    let file = folder.join("study.toml");
    let named = "claims_in = [\"../docs/all.md\"]\n";
    fs::write(&file, named.to_owned() + &fs::read_to_string(&file).unwrap()).unwrap();
    let missing = String::from_utf8(knee(&folder, &[]).stderr).unwrap();
    assert!(
        missing.starts_with("error: there is no text file `../docs/all.md`, for `claims_in`"),
        "{missing}"
    );
    fs::create_dir(lab.path().join("docs")).unwrap();
    let all = "<!-- knee:claims ../growth -->\n<!-- /knee:claims -->\n";
    fs::write(lab.path().join("docs/all.md"), all).unwrap();
    let both = MARKED.to_owned() + "<!-- knee:claims growth -->\n<!-- /knee:claims -->\nEnd.\n";
    fs::write(lab.path().join("README.md"), &both).unwrap();
    let output = knee(&folder, &["--blocks", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = fs::read_to_string(lab.path().join("README.md")).unwrap();
    let (before, table) = text.split_once("<!-- knee:claims growth -->\n").unwrap();
    assert_eq!(before, MARKED, "{told}");
    assert!(
        table.contains("This study tests no published claim.") && table.contains("(growth/RESULTS.md)"),
        "{table}"
    );
    assert!(table.ends_with("\n<!-- /knee:claims -->\nEnd.\n"), "{table}");
    let all = fs::read_to_string(lab.path().join("docs/all.md")).unwrap();
    assert!(all.contains("(../growth/RESULTS.md)"), "{all}");
}

#[test]
fn a_quick_study_leaves_the_documents_of_the_whole_one_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study_of_the_demo_server(folder);
    fs::write(folder.join("README.md"), MARKED).unwrap();
    let output = knee(folder, &["--quick", "--blocks", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(fs::read_to_string(folder.join("README.md")).unwrap(), MARKED, "{told}");
    for name in ["RESULTS.md", "trials.jsonl.zst"] {
        assert!(!folder.join(name).exists() && folder.join(".knee").join(name).exists(), "{name}: {told}");
    }
    let again = knee(folder, &["--quick", "--blocks", "1", "--report-only"]);
    assert_eq!(again.stdout, output.stdout);
}

#[test]
fn results_of_all_trials_stay_until_those_that_replace_them_are_of_all_trials() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study_of_the_demo_server(folder);
    knee(folder, &["--blocks", "2"]);
    let results = || fs::read_to_string(folder.join("RESULTS.md")).unwrap();
    let finished = results();

    // As it is while a trial is left, in a folder that has the results of other rules and no trials of them.
    let (journal, kept) = unpacked(folder);
    let last = kept.trim_end().rfind('\n').unwrap();
    fs::write(&journal, &kept[..=last]).unwrap();
    let output = knee(folder, &["--blocks", "2", "--report-only"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(results(), finished, "{told}");
    assert!(told.contains("RESULTS.md keeps the results of all trials before"), "{told}");

    // Where there are none, those of the trials so far are better than none, and the next ones replace them.
    fs::remove_file(folder.join("RESULTS.md")).unwrap();
    knee(folder, &["--blocks", "2", "--report-only"]);
    assert!(results().contains("trials are left. -->"), "{}", results());
    let output = knee(folder, &["--blocks", "2", "--resume"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!results().contains("trials are left. -->"), "{told}");
}

#[test]
fn results_that_a_person_wrote_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study_of_the_demo_server(folder);
    fs::write(folder.join("RESULTS.md"), "by hand\n").unwrap();
    knee(folder, &["--blocks", "1"]);
    assert_eq!(fs::read_to_string(folder.join(".knee/RESULTS.before.md")).unwrap(), "by hand\n");
    assert!(fs::read_to_string(folder.join("RESULTS.md")).unwrap().starts_with("# "));
}

#[test]
fn a_trial_is_one_short_line_and_what_its_codes_mean_is_said_once() {
    let (_folder, _, stderr) = changed("path", "path", &["--blocks", "2"]);
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("block ")).collect();
    assert!(lines.len() >= 4, "{stderr}");
    assert!(lines.iter().all(|line| line.chars().count() <= 120), "{stderr}");
    // The tests run a build without optimizations, whose trials are invalid.
    if cfg!(debug_assertions) {
        assert!(
            lines.iter().all(|line| line.contains("invalid [") && line.contains("debug_build")),
            "{stderr}"
        );
        assert_eq!(stderr.matches("see `knee explain debug_build`").count(), 1, "{stderr}");
    }
}

#[test]
fn a_document_is_made_again_from_the_trials_of_a_killed_study_without_starting_anything() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    study_of_the_demo_server(folder);
    leaves_a_line_at_each_start(folder);
    let first = knee(folder, &["--blocks", "1"]);
    let told = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(starts(folder) > 0, "{told}");
    // Two, and those that neighbours on the host disturbed.
    let made = trials(folder);
    assert!(made >= 2, "{told}");
    let_trials_count(folder);
    let started = starts(folder);

    // Texts, claims and published figures can follow later.
    let file = folder.join("study.toml");
    let text = fs::read_to_string(&file).unwrap().replace("that are the same", "with colours");
    let claim = "\n[claims.late]\ntext = \"red is quick\"\nvariant = \"red\"\nworkload = \"page\"\nmetric = \"p50\"\nbelow = \"9s\"\ngoal = true\n";
    fs::write(&file, text + claim).unwrap();
    let again = knee(folder, &["--report-only"]);
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    let document = fs::read_to_string(folder.join("RESULTS.md")).unwrap();
    assert_eq!(starts(folder), started, "{told}");
    assert_eq!(trials(folder), made, "the trials are packed now: {told}");
    assert!(!folder.join(".knee/trials.jsonl").exists(), "{told}");
    assert!(document.contains("a verdict needs 6 blocks"), "{document}");
    assert!(document.contains("red is quick (changed after the data of 20"), "{document}");
    assert!(document.contains("](plots/") && folder.join("plots/timeline-page.svg").is_file(), "{document}");

    let resumed = knee(folder, &["--blocks", "1", "--resume"]);
    assert_eq!(starts(folder), started, "no trial is left: {}", String::from_utf8_lossy(&resumed.stderr));

    // Another load is another study.
    let other = fs::read_to_string(&file).unwrap().replace("connections = 2", "connections = 3");
    fs::write(&file, other).unwrap();
    let refused = knee(folder, &["--report-only"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(104), "{told}");
    assert!(told.contains("belong to another study.toml"), "{told}");
}

#[test]
fn a_file_whose_table_of_claims_does_not_end_is_refused_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    study_of_the_demo_server(folder.path());
    let readme = folder.path().join("README.md");
    let text = "By hand.\n<!-- knee:claims -->\nMore by hand.\n";
    fs::write(&readme, text).unwrap();
    let output = knee(folder.path(), &["--blocks", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(104), "{told}");
    assert!(
        told.contains("does not say where its table of claims begins and ends") && told.contains("hint: "),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&readme).unwrap(), text);
    assert!(!folder.path().join(".knee").exists(), "{told}");
}
