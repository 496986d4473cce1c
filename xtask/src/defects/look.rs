//! One look: `knee find` at a variant of the study, and what it printed.
//!
//! Runs the program that users have, on a copy of the study that names the builds and the times. Does not compare.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::expected::Case;
use super::saved::{Looked, Said};

/// A study, as it is in the lab.
const STUDY: &str = "study.toml";
/// Its parts that a look replaces, beside the program.
const BUILD: &str = "build = \"cargo build --release -p findings\"\n";
const VIEWS: &str = "{data}/views.sqlite3";
const DURATION: &str = "DURATION = \"12s\"";
const MEASURE: &str = "measure = \"10s\"";
/// Load before the measured time, in seconds, as the studies have it.
const WARM_UP: u64 = 2;
/// What `knee find` expects a trial to take beside its load, in seconds.
const AROUND: u64 = 3;

/// Looks at cases.
pub(super) struct Looker {
    knee: PathBuf,
    service: PathBuf,
    /// The studies as they are in the lab, by their folders.
    studies: BTreeMap<String, String>,
    /// The copies of the studies, the file of SQLite, and the records.
    folder: TempDir,
}

impl Looker {
    /// A looker with these builds, at cases of the studies of a lab.
    pub fn new(lab: &Path, cases: &[&Case], knee: PathBuf, service: PathBuf) -> Result<Self> {
        let folder = TempDir::new()?;
        let workloads = folder.path().join("workloads");
        fs::create_dir(&workloads)?;
        fs::copy(lab.join("workloads/shop.js"), workloads.join("shop.js"))?;
        let absolute = |path: PathBuf| -> Result<PathBuf> {
            ensure!(path.is_file(), "there is no program {}", path.display());
            Ok(std::path::absolute(path)?)
        };
        let mut studies = BTreeMap::new();
        for case in cases {
            // Read once: a trial takes long, and a study must not change meanwhile.
            studies.insert(case.folder().to_owned(), super::text(&lab.join(case.folder()).join(STUDY))?);
        }
        Ok(Self { knee: absolute(knee)?, service: absolute(service)?, studies, folder })
    }

    /// Looks at a case for this many seconds. A look that fails says why.
    pub fn look(&self, case: &Case, seconds: u64) -> Looked {
        let mut looked = self
            .find(case, seconds)
            .unwrap_or_else(|error| Looked { problem: Some(format!("{error:#}")), ..Looked::default() });
        looked.variant.clone_from(&case.variant);
        looked.workload.clone_from(&case.workload);
        looked.seconds = seconds;
        looked.share_cpus = case.share_cpus;
        looked
    }

    fn find(&self, case: &Case, seconds: u64) -> Result<Looked> {
        Ok(read(&self.document(case, seconds, &["--no-proof"])?))
    }

    /// Searches a case for a remedy and proves it, if knee can apply one, in so many blocks: the document of `knee find`.
    pub fn search(&self, case: &Case, seconds: u64, blocks: u64) -> Result<Value> {
        let limit = format!("{}s", proof_time(seconds, blocks));
        self.document(case, seconds, &["--proof-time", &limit])
    }

    /// What `knee find` prints with these flags.
    fn document(&self, case: &Case, seconds: u64, flags: &[&str]) -> Result<Value> {
        let (own, home) = (self.folder.path().join(case.folder()), self.folder.path().join("home"));
        let views = self.folder.path().join("views.sqlite3");
        let text = self.studies.get(case.folder()).context("the study of this case was not read")?;
        let service = self.service.display().to_string();
        let study = study(text, &program(case.folder()), &service, &views, seconds)?;
        fs::create_dir_all(&own)?;
        fs::write(own.join(STUDY), study)?;
        let mut command = Command::new(&self.knee);
        command.arg("find").arg(&own).args(["--variant", &case.variant, "--workload", &case.workload]);
        command.args(flags).args(["--quiet", "--output-format", "json", "--observe"]);
        command.arg(format!("sqlite:{}", views.display()));
        if case.share_cpus {
            command.arg("--share-cpus");
        }
        command.env("KNEE_HOME", &home).stdin(Stdio::null());
        let output = command.output().context("cannot run `knee find`")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let error = || stderr.lines().find(|line| line.starts_with("error")).unwrap_or("no JSON").to_owned();
        let json: Value = serde_json::from_slice(&output.stdout).with_context(error)?;
        // Records of earlier looks are of no use.
        let _ = fs::remove_dir_all(&home);
        Ok(json)
    }
}

/// The time limit of a proof that gives it so many blocks, in seconds: half a block more than they are expected to take.
const fn proof_time(seconds: u64, blocks: u64) -> u64 {
    (2 * blocks + 1) * (WARM_UP + seconds + AROUND)
}

/// The program of the service as the study in this folder names it, with its quotes: without them, one path would be a
/// part of the other.
fn program(folder: &str) -> String {
    let up = if folder.is_empty() { "../.." } else { "../../.." };
    format!("\"{up}/target/release/findings\"")
}

/// The study with these builds and times.
fn study(text: &str, program: &str, service: &str, views: &Path, seconds: u64) -> Result<String> {
    let service = format!("\"{service}\"");
    let duration = format!("DURATION = \"{}s\"", seconds + WARM_UP);
    let (measure, views) = (format!("measure = \"{seconds}s\""), views.display().to_string());
    let mut text = text.to_owned();
    for (part, other) in
        [(BUILD, ""), (program, &service), (VIEWS, &views), (DURATION, &duration), (MEASURE, &measure)]
    {
        ensure!(text.contains(part), "the study has no `{part}`");
        text = text.replace(part, other);
    }
    Ok(text)
}

/// A text of a document; empty if it has none there.
pub(super) fn text_at(json: &Value, pointer: &str) -> String {
    json.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Version and commit of the knee that printed a document.
pub(super) fn build_of(json: &Value) -> String {
    let build = format!("{} {}", text_at(json, "/run/build/version"), text_at(json, "/run/build/commit"));
    build.trim().to_owned()
}

/// A figure with one decimal.
pub(super) fn round(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

/// What a document of `knee find` says.
fn read(json: &Value) -> Looked {
    let text = |pointer: &str| text_at(json, pointer);
    let count = |pointer: &str| json.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let list = |pointer: &str| json.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let member = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let said = |finding: &Value| Said {
        code: member(finding, "code"),
        confidence: member(finding, "confidence"),
        statement: member(finding, "statement"),
    };
    let lacked = |rule: &Value| (member(rule, "code"), member(rule, "lacks"));
    Looked {
        validity: text("/run/validity"),
        warnings: list("/run/warnings").iter().map(|warning| member(warning, "code")).collect(),
        said: list("/findings/findings").iter().map(said).collect(),
        could_not_run: list("/findings/could_not_run").iter().map(lacked).collect(),
        goodput_per_s: json.pointer("/run/goodput_per_s").and_then(Value::as_f64).map(round),
        mean_ms: json.pointer("/run/response_time_ms/mean").and_then(Value::as_f64).map(round),
        failed: count("/run/requests/planned").saturating_sub(count("/run/requests/ok")),
        build: build_of(json),
        machine: text("/run/machine/cpu"),
        ..Looked::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_of_the_lab_are_looked_at_with_other_builds_and_times() {
        for folder in ["", "replica"] {
            let path = crate::root().join("labs/findings").join(folder).join(STUDY);
            let text = super::super::text(&path).unwrap();
            let views = Path::new("/files/views");
            let text = study(&text, &program(folder), "/builds/findings", views, 30).unwrap();
            assert!(text.contains("\"/builds/findings\", \"serve\"") && text.contains("\"/files/views\""));
            assert!(text.contains("measure = \"30s\"") && text.contains("DURATION = \"32s\""));
            assert!(!text.contains("cargo build --release -p findings\"\n") && !text.contains("12s"));
            assert!(!text.contains("target/release"), "{folder}");
        }
    }

    #[test]
    fn a_proof_has_the_time_for_its_blocks_and_for_no_more() {
        for (seconds, blocks) in [(6, 6), (6, 8), (30, 6)] {
            let block = 2 * (WARM_UP + seconds + AROUND);
            assert_eq!(proof_time(seconds, blocks) / block, blocks);
            assert!(
                proof_time(seconds, blocks) > blocks * block,
                "a little more than planned is no block less"
            );
        }
    }

    #[test]
    fn findings_and_hints_are_read_in_their_order() {
        let json = serde_json::json!({
            "findings": {"findings": [
                {"code": "deep_offset", "confidence": "strong", "statement": "a statement skips rows"},
                {"code": "cpu_full", "confidence": "hint", "statement": "the CPUs are full"},
            ], "could_not_run": [{"code": "slow_replica", "lacks": "a replica"}]},
            "run": {"validity": "valid", "warnings": [{"code": "co_located"}], "goodput_per_s": 39.96,
                    "requests": {"planned": 400, "ok": 399}},
        });
        let looked = read(&json);
        assert_eq!(looked.says(), "deep_offset, (cpu_full) [valid]");
        assert_eq!((looked.failed, looked.goodput_per_s), (1, Some(40.0)));
        assert_eq!(looked.warnings, ["co_located"]);
        assert_eq!(looked.could_not_run, [("slow_replica".to_owned(), "a replica".to_owned())]);
    }
}
