//! A study that is killed in each of its phases and resumed: each trial is there once, nothing is left behind, and the
//! conclusion is the one of a study that was never killed.
//!
//! The service itself says in which phase the study is: its build and its seed wait as long as a file is there. No test
//! asserts how long something took.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::study::{saved, unpacked};

/// Twelve trials, none of which needs a pilot.
const FLAGS: [&str; 2] = ["--blocks", "6"];

const TRIALS: usize = 12;

/// How often and how many times a condition is looked at before a test gives up.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: usize = 60_000;

/// A study of the demo server, whose build and seed wait while there is a file `hold-build` or `hold-seed`.
fn prepare(folder: &Path) {
    let (knee, place) = (env!("CARGO_BIN_EXE_knee"), folder.display());
    let held = |phase: &str| {
        format!("touch {place}/at-{phase}; while [ -e {place}/hold-{phase} ]; do sleep 0.05; done")
    };
    let (build, seed) = (held("build"), held("seed"));
    let text = format!(
        r#"title = "two servers that are the same"

[generator]
share_cpus = true

[service.main]
build = "{build}"
seed = ["/bin/sh", "-c", "{seed}; echo rows > {{data}}/rows"]
command = ["/bin/sh", "-c", "echo $$ >> {place}/pids; exec {knee} demo --serve-only --listen 127.0.0.1:{{port}}", "{{data}}"]

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
metrics = ["goodput"]
margin = "5%"
warm_up = "500ms"
measure = "500ms"

[claims.quick]
text = "red is quick"
variant = "red"
workload = "page"
metric = "p50"
below = "9s"
goal = true

[claims.slow]
text = "blue is slow"
variant = "blue"
workload = "page"
metric = "p50"
above = "9s"
goal = true
"#
    );
    fs::create_dir_all(folder.join("tmp")).unwrap();
    fs::write(folder.join("study.toml"), text).unwrap();
}

/// The command, with folders of its own for runs and for temporary files: another test is no neighbour.
fn command(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knee"));
    command.arg("study").arg(folder).args(FLAGS).args(more).stdin(Stdio::null());
    command.env("KNEE_HOME", folder.join("home")).env("TMPDIR", folder.join("tmp"));
    command
}

/// The study until its end: its conclusion.
fn concluded(folder: &Path, more: &[&str]) -> Value {
    let output = command(folder, more).args(["--output-format", "json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).expect(&said)
}

/// A study that runs, with its narration in the file `narration`.
struct RunningStudy<'a> {
    child: Child,
    folder: &'a Path,
}

impl<'a> RunningStudy<'a> {
    fn start(folder: &'a Path, more: &[&str]) -> Self {
        let narration = File::options().create(true).append(true).open(folder.join("narration")).unwrap();
        let child = command(folder, more).stdout(Stdio::null()).stderr(narration).spawn().unwrap();
        Self { child, folder }
    }

    fn narration(&self) -> String {
        fs::read_to_string(self.folder.join("narration")).unwrap()
    }

    /// Waits until something is so, which must be before the study ends.
    fn wait_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..LOOKS {
            if is_so(self) {
                return;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{what}: the study ended ({ended:?}): {}", self.narration());
            thread::sleep(LOOK);
        }
        panic!("{what}: {}", self.narration());
    }

    /// Kills it, and waits until everything that it started is gone.
    fn kill(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
        self.child.wait().unwrap();
        nothing_is_left(self.folder);
    }
}

impl Drop for RunningStudy<'_> {
    fn drop(&mut self) {
        // One that has ended needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nothing_is_left(folder: &Path) {
    for _ in 0..LOOKS {
        if left(folder, None).is_empty() {
            return;
        }
        thread::sleep(LOOK);
    }
    panic!("these are left: {:?}", left(folder, None));
}

/// The processes that a study in `folder` has started, without the process `except`: on Linux all that inherited a
/// folder of it, elsewhere its services.
fn left(folder: &Path, except: Option<u32>) -> Vec<u32> {
    let is_of_study = |pid: &u32| {
        if cfg!(target_os = "linux") {
            // That of a process which has ended is empty.
            let inherited = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            return String::from_utf8_lossy(&inherited).contains(&folder.display().to_string());
        }
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    };
    let known: Vec<u32> = if cfg!(target_os = "linux") {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    } else {
        let services = fs::read_to_string(folder.join("pids")).unwrap_or_default();
        services.lines().filter_map(|line| line.parse().ok()).collect()
    };
    known.into_iter().filter(|pid| Some(*pid) != except).filter(is_of_study).collect()
}

/// The lines of the trials that are saved while the study runs. A part of a line is none.
fn journal(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(".knee/trials.jsonl")).unwrap_or_default();
    let is_trial = |line: &&str| line.starts_with(r#"{"trial""#) && line.ends_with('\n');
    text.split_inclusive('\n').filter(is_trial).map(str::to_owned).collect()
}

/// How many records of trials there are, whole or not: the record of a trial is there from its first moment.
fn records(folder: &Path) -> usize {
    let series = fs::read_dir(folder.join("home/trials")).into_iter().flatten().flatten();
    let files = series.filter_map(|series| fs::read_dir(series.path()).ok()).flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|end| end == "knee")).count()
}

/// Kills the study while a command of its service waits, which begins with `more`.
fn kill_at_command(folder: &Path, phase: &str, more: &[&str]) {
    let (hold, reached) = (folder.join(format!("hold-{phase}")), folder.join(format!("at-{phase}")));
    fs::write(&hold, "").unwrap();
    let _ = fs::remove_file(&reached);
    let mut study = RunningStudy::start(folder, more);
    study.wait_until(phase, |_| reached.exists());
    study.kill();
    fs::remove_file(hold).unwrap();
    assert!(journal(folder).is_empty(), "{phase}: no trial was made");
}

/// Kills the study after it has saved `trials` trials, this long after the load of the next one began.
fn kill_in_trial(folder: &Path, trials: usize, after: Duration) {
    let before = records(folder);
    let made = trials.saturating_sub(journal(folder).len());
    let mut study = RunningStudy::start(folder, &["--resume"]);
    study.wait_until("a trial", |_| journal(folder).len() >= trials && records(folder) > before + made);
    // The moment is the fault that is tried; nothing is measured by it.
    thread::sleep(after);
    study.kill();
}

/// Kills the study while it packs its trials: the file that it would write takes nothing.
fn kill_while_packing(folder: &Path) {
    let fresh = folder.join(".knee/trials.jsonl.zst.new");
    assert!(Command::new("mkfifo").arg(&fresh).status().unwrap().success());
    let mut study = RunningStudy::start(folder, &["--resume"]);
    study.wait_until("the last trial", |_| journal(folder).len() >= TRIALS);
    study.wait_until("the end of the trials", |study| study.narration().contains("\ntime: "));
    study.wait_until("the end of the services", |study| left(folder, Some(study.child.id())).is_empty());
    study.kill();
    assert!(!folder.join("trials.jsonl.zst").exists() && folder.join(".knee/trials.jsonl").exists());
    // As after a kill in the middle of the file.
    fs::remove_file(&fresh).unwrap();
    fs::write(&fresh, "half of it").unwrap();
}

/// Puts a noise floor of this machine there that the study did not have when it began.
fn calibrate(folder: &Path) {
    let text = fs::read_to_string(folder.join(".knee/trials.jsonl")).unwrap();
    let session = text.lines().find(|line| line.starts_with(r#"{"session""#)).unwrap();
    let session: Value = serde_json::from_str(session).unwrap();
    let (machine, build) = (&session["session"]["machine"], &session["session"]["build"]);
    let cpu = machine["cpu"].as_str().or(machine["arch"].as_str()).unwrap();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { ' ' };
    let words: String = cpu.chars().map(plain).collect();
    let name = words.split_whitespace().collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let noise =
        json!({ "of": "another day", "blocks": 10, "deviations": { "goodput": 0.3 }, "suspicious": [] });
    let kept = json!({
        "format": "knee-calibration", "version": 2, "made": session["session"]["started"],
        "build": build, "machine": machine, "calibration": noise
    });
    let calibration = folder.join("home/calibration");
    fs::create_dir_all(&calibration).unwrap();
    fs::write(calibration.join(format!("{name}-{}.json", machine["cores"])), kept.to_string()).unwrap();
    // A new study has it: its margin is refused.
    let refused = command(folder, &["--dry-run"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("within this machine's noise"), "{said}");
}

/// The study, killed in each phase; its conclusion.
fn killed_and_resumed(folder: &Path) -> Value {
    prepare(folder);
    kill_at_command(folder, "build", &[]);
    calibrate(folder);
    kill_at_command(folder, "seed", &["--resume"]);
    kill_in_trial(folder, 0, Duration::ZERO);
    kill_in_trial(folder, 2, Duration::from_millis(750));
    // As after a kill while a trial is saved.
    let file = folder.join(".knee/trials.jsonl");
    let last = journal(folder).pop().unwrap();
    let half: String = last.chars().take(last.len() / 2).collect();
    fs::write(&file, fs::read_to_string(&file).unwrap() + &half).unwrap();
    kill_in_trial(folder, 5, Duration::from_millis(750));
    kill_while_packing(folder);
    let conclusion = concluded(folder, &["--resume"]);
    nothing_is_left(folder);
    for name in [".knee/trials.jsonl", ".knee/trials.jsonl.new", ".knee/trials.jsonl.zst.new"] {
        assert!(!folder.join(name).exists(), "{name}");
    }
    conclusion
}

/// The trials of the plan, in the order in which they were run; repeats are left out.
fn planned(conclusion: &Value) -> Vec<Value> {
    let entries = conclusion["trials"].as_array().unwrap().iter().map(|entry| &entry["trial"]);
    entries.filter(|trial| trial["attempt"] == 1).cloned().collect()
}

/// Every record of the trials is there, belongs to one trial alone, and is whole.
fn assert_whole_records(folder: &Path, conclusion: &Value) {
    let series: Vec<_> = fs::read_dir(folder.join("home/trials")).unwrap().flatten().collect();
    let mut names = Vec::new();
    for entry in conclusion["trials"].as_array().unwrap() {
        let measured = &entry["result"]["measured"];
        let name = measured["record"].as_str().unwrap();
        assert!(series.iter().any(|series| series.path().join(name).is_file()), "{name}");
        let warnings = measured["warnings"].as_array().unwrap();
        assert!(warnings.iter().all(|warning| warning["code"] != "truncated"), "{entry:#}");
        names.push(name);
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a record is of one trial");
}

/// What comparisons are of, and what became of the claims, as if the build did not make the trials invalid.
fn answers(folder: &Path) -> (Vec<Value>, Vec<Value>, Value) {
    let (file, kept) = unpacked(folder);
    let valid = ["invalid", "suspect"]
        .iter()
        .fold(kept, |text, state| text.replace(&format!(r#""validity":"{state}""#), r#""validity":"valid""#));
    fs::write(file, valid).unwrap();
    let conclusion = concluded(folder, &["--report-only"]);
    let list = |name: &str| conclusion[name].as_array().unwrap().clone();
    let effects = list("effects");
    let effects = effects.iter().map(|one| json!([one["from"], one["to"], one["relation"], one["metric"]]));
    let claims = list("claims");
    let kind = |one: &Value| one["basis"]["kind"].clone();
    let claims = claims.iter().map(|one| json!([one["id"], one["test"], one["verdict"], kind(one)]));
    (effects.collect(), claims.collect(), conclusion["totals"].clone())
}

#[test]
fn a_study_that_is_killed_in_each_phase_and_resumed_has_each_trial_once_and_concludes_the_same() {
    let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (undisturbed, resumed) = thread::scope(|scope| {
        let undisturbed = scope.spawn(|| {
            prepare(whole.path());
            concluded(whole.path(), &[])
        });
        let resumed = killed_and_resumed(killed.path());
        (undisturbed.join().unwrap(), resumed)
    });
    for (folder, conclusion) in [(whole.path(), &undisturbed), (killed.path(), &resumed)] {
        assert_eq!((&conclusion["over"], &conclusion["left"]), (&json!(true), &json!(0)));
        assert_eq!(conclusion["noise"], Value::Null, "the noise floor of its first day");
        assert_whole_records(folder, conclusion);
        let made = conclusion["trials"].as_array().unwrap().len();
        let lines = saved(folder);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert_eq!(lines.filter(|line| line["trial"].is_object()).count(), made);
    }
    let (one, other) = (planned(&undisturbed), planned(&resumed));
    assert_eq!(one.len(), TRIALS);
    assert_eq!(one, other);
    let ((effects, claims, before), (same_effects, same_claims, after)) =
        (answers(whole.path()), answers(killed.path()));
    assert!(!effects.is_empty());
    assert_eq!(effects, same_effects);
    assert_eq!(claims, same_claims);
    let verdicts: Vec<&Value> = claims.iter().map(|claim| &claim[2]).collect();
    assert_eq!(verdicts, ["confirmed", "refuted"]);
    let count = |totals: &Value, name: &str| totals[name].as_u64().unwrap();
    let repeats = count(&before, "repeats") + count(&after, "repeats");
    assert!(count(&before, "valid").abs_diff(count(&after, "valid")) <= repeats, "{before} {after}");
}
