//! Rules over saved records: whatever a version of `knee` wrote can be examined, and real services are judged right.
//!
//! The records of all versions belong to `knee-core`, which tests that they can be read.
//!
//! `tests/recorded` has records of real services with real observers beside them, and `tests/snapshots` what the rules
//! say about each. To add one: look at a variant, copy the record that the command names, and let the test write what
//! is found. Read that before you keep it. The name of a variant is not in the record; names of files can be.
//!
//! ```sh
//! knee find labs/findings --variant deep-offset --workload archive --no-proof    # ends with `record: FILE`
//! cp FILE crates/knee-findings/tests/recorded/deep-offset.knee
//! INSTA_UPDATE=always cargo test -p knee-findings --test record
//! ```

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use knee_core::observation::{Observations, SeriesKind, SourceKind};
use knee_core::record::Run;
use knee_core::record::run::read;
use knee_findings::{Confidence, Evidence, Gain, RULES, Report, Signal, examine};

/// The records with observations.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");

/// Most bytes of one of them.
const BYTES_MAX: u64 = 100_000;

/// What observers can write, and the beginning of what they take over from pages of a service.
const PAGE: &str = include_str!("../../../docs/reference/observations.md");
const METRICS: &str = "prometheus.";

/// What the rules say about a record, by its path from this crate.
fn examined(path: &str) -> Report {
    let file = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let run = read(BufReader::new(file)).unwrap().run;
    examine(&Evidence::of(&run, &Observations::default()))
}

#[test]
fn records_of_every_version_are_examined_and_those_of_healthy_services_give_no_finding() {
    for name in ["v1.knee", "v1-truncated.knee", "v2.knee", "v2-later.knee"] {
        let report = examined(&format!("../knee-core/tests/fixtures/{name}"));
        assert_eq!(report.findings, [], "{name}");
        assert_eq!(report.ran.len() + report.could_not_run.len(), RULES.len(), "{name}");
    }
}

/// A service with Python's `http.server` that works for 4 ms. In one record its `wbufsize` is 0 and it writes head and body
/// apart, in the other a response is written at once. Each was loaded for 6 s with 8 connections.
#[test]
fn a_python_service_that_writes_head_and_body_apart_is_found_by_its_record_and_its_twin_is_healthy() {
    let report = examined("tests/records/written-apart.knee");
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.code, finding.confidence)).collect();
    assert_eq!(found, [("delayed_ack", Confidence::Strong)]);
    assert!(report.findings[0].gain.as_ref().unwrap().share() > 0.6);
    assert_eq!(examined("tests/records/written-at-once.knee").findings, []);
}

/// The records with observations, by their names without an ending.
fn recorded() -> Vec<(String, Run)> {
    let entries = fs::read_dir(RECORDED).unwrap_or_else(|error| panic!("{RECORDED}: {error}"));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "knee")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{RECORDED} has no record: this file says how to make one");
    let run = |path: &PathBuf| {
        let bytes = fs::metadata(path).unwrap().len();
        assert!(bytes <= BYTES_MAX, "{}: {bytes} bytes are more than {BYTES_MAX}", path.display());
        let reading = read(BufReader::new(File::open(path).unwrap())).unwrap();
        assert!(reading.damage.is_none(), "{}: {:?}", path.display(), reading.damage);
        (path.file_stem().unwrap().to_string_lossy().into_owned(), reading.run)
    };
    paths.iter().map(run).collect()
}

/// Findings with their evidence, and the resource that is nearest to its bound.
fn written(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "[{}] {} ({})", finding.code, finding.statement, finding.confidence.name());
        for signal in &finding.evidence {
            let Signal { what, figure, limit, source, .. } = signal;
            let _ = writeln!(text, "  {what}: {figure:.3} {limit:?} ({source})");
        }
        let _ = writeln!(text, "  {:?}", finding.remedy);
        let _ = writeln!(text, "  saves {:.2}", finding.gain.as_ref().map_or(0.0, Gain::share));
    }
    if let Some(bound) = report.bounds.first() {
        let _ = writeln!(text, "nearest bound: {}, {:.2} reached", bound.resource, bound.reached);
    }
    text
}

#[test]
fn what_is_found_in_records_of_real_services_is_as_it_was_when_they_were_made() {
    for (name, run) in recorded() {
        let report = examine(&Evidence::of(&run, &run.observations));
        assert!(report.ran.len() > 1, "{name}: no rule runs on it: {:?}", report.could_not_run.first());
        insta::assert_snapshot!(name, written(&report));
    }
}

#[test]
fn records_of_real_services_have_every_kind_of_source_that_most_rules_need() {
    let there: Vec<SourceKind> = recorded()
        .iter()
        .flat_map(|(_, run)| run.observations.sources.iter().map(|source| source.kind))
        .collect();
    let needed =
        [SourceKind::Host, SourceKind::Process, SourceKind::Postgres, SourceKind::Redis, SourceKind::Sqlite];
    let missing: Vec<SourceKind> = needed.into_iter().filter(|kind| !there.contains(kind)).collect();
    assert!(missing.is_empty(), "{RECORDED} has no record of {missing:?}");
}

/// The rules ask for figures by the names and kinds of this page, which their tests check.
#[test]
fn every_figure_that_observers_wrote_is_on_the_page_of_observations_with_its_kind() {
    let rows: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    for (record, run) in recorded() {
        for series in run.observations.series.iter().filter(|series| !series.name.starts_with(METRICS)) {
            let kind = match series.kind {
                SeriesKind::Counter => "| counter |",
                SeriesKind::Gauge => "| gauge |",
            };
            let name = format!("`{}`", series.name);
            let is_there = |row: &&str| row.contains(&name) && row.contains(kind);
            assert!(rows.iter().any(is_there), "{record}: {name}, {kind}");
        }
        for text in &run.observations.texts {
            assert!(PAGE.contains(&format!("`{}`", text.name)), "{record}: text {}", text.name);
        }
    }
}
