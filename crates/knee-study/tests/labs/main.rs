//! The studies of the labs, as they are in this repository, have no mistakes and compare what can be compared.
//!
//! Does not run them.

#![allow(clippy::expect_used, reason = "a helper of a test fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use knee_study::definition::{Cell, Definition, Test};
use knee_study::metric::Metric;

/// The folder of the labs.
fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

/// Every folder of the labs that can hold a study.
fn folders() -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the folder can be listed");
        let paths = entries.map(|entry| entry.expect("the entry can be read").path());
        paths.filter(|path| path.is_dir()).collect()
    };
    let labs = inside(&labs());
    labs.iter().flat_map(|lab| inside(lab)).chain(labs.iter().cloned()).collect()
}

/// Every study with its folder within the labs.
fn studies() -> Vec<(String, Definition)> {
    let mut studies = Vec::new();
    for folder in folders() {
        let Ok(text) = fs::read_to_string(folder.join("study.toml")) else { continue };
        let read = Definition::read(&text, "study.toml", &|script| folder.join(script).exists());
        let study = read.unwrap_or_else(|mistakes| panic!("{}: {mistakes}", folder.display()));
        let name = folder.strip_prefix(labs()).expect("it is a folder of a lab");
        studies.push((name.display().to_string(), study));
    }
    studies
}

#[test]
fn every_study_of_the_labs_can_be_read() {
    let count = studies().len();
    assert!(count >= 5, "{count} studies of five labs");
}

/// A published figure of a variant under a workload.
fn published(study: &Definition, cell: &Cell, metric: Metric) -> Option<f64> {
    let figures = study.published.iter().filter(|figure| figure.cell == *cell && figure.metric == metric);
    figures.map(|figure| figure.value).next()
}

/// The published share of requests that failed, if any did.
fn failures(study: &Definition, cell: &Cell) -> Option<f64> {
    published(study, cell, Metric::Errors).filter(|share| *share > 0.0)
}

/// The published rates that count failures as goodput, and the claims that compare such a rate with goodput.
fn failures_as_goodput(study: &Definition) -> Vec<String> {
    let mut found = Vec::new();
    for figure in study.published.iter().filter(|figure| figure.metric == Metric::Goodput) {
        let Some(failed) = failures(study, &figure.cell) else { continue };
        let all = published(study, &figure.cell, Metric::Throughput);
        if all.is_none_or(|all| figure.value > all * (1.0 - failed)) {
            found.push(format!("goodput of {}, {}", figure.cell.variant, figure.cell.workload));
        }
    }
    for claim in study.claims.iter().filter(|claim| !claim.goal) {
        let is_size = matches!(claim.test, Test::Change { .. } | Test::Comparison { at_least: Some(_), .. });
        let fails = claim.test.cells().into_iter().any(|cell| failures(study, cell).is_some());
        if is_size && fails && claim.test.metric() == Some(Metric::Goodput) {
            found.push(format!("claim {}", claim.id));
        }
    }
    found
}

#[test]
fn a_published_rate_with_failures_in_it_is_compared_as_a_throughput() {
    for (folder, study) in studies() {
        assert_eq!(failures_as_goodput(&study), [""; 0], "{folder}: a tool's rate counts all responses");
    }
}

/// What the published interpreter of todos does for each row, at its whole cost, and one request at a time.
const INTERPRETER: [(&str, &str); 2] = [("row_cost", "165"), ("runtime_lock", "process")];

#[test]
fn published_claims_of_todos_are_tested_at_the_whole_cost_of_the_published_interpreter() {
    let mut tested = 0;
    for (folder, study) in studies().into_iter().filter(|(folder, _)| folder.starts_with("todos")) {
        for claim in study.claims.iter().filter(|claim| !claim.goal) {
            for variant in claim.test.cells().into_iter().filter_map(|cell| study.variant(&cell.variant)) {
                for (switch, whole) in INTERPRETER {
                    let value = variant.switches.get(switch).map(String::as_str);
                    assert_eq!(value, Some(whole), "{folder}, claim {}, {switch}", claim.id);
                    tested += 1;
                }
            }
        }
    }
    assert!(tested > 0, "the lab has published claims");
}
