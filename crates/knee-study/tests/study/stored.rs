//! Trials that an older version stored are still read.
//!
//! `fixtures/v0-trials.jsonl` was written before keys had their names of today: the heading of a study, and four trials.

use knee_core::validity::Validity;
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::study::{Entry, Options, Placement, TrialResult};
use serde::Deserialize;

const STORED: &str = include_str!("fixtures/v0-trials.jsonl");

/// The study of the heading, in keys of today.
const STUDY: &str = r#"
title = "kept"
[service.main]
command = ["server", "{port}"]
cpu_limit = 0.5
[postgres.db]
min_version = 14
[generator]
cpu_weight = 8
[switches.lock]
default = "coarse"
env = "LOCK"
[variants.stock]
[variants.best]
extends = "stock"
switches = { lock = "fine" }
[workloads.index]
path = "/"
arrival_rate = 400
[design]
kind = "pairs"
baseline = "stock"
settle = "2s"
blocks = 8
metrics = ["goodput", "p99.9"]
margins = { goodput = "3%" }
[claims.C1]
text = "best is faster"
variant = "best"
against = "stock"
workload = "index"
metric = "goodput"
expect = "faster"
[[published]]
variant = "stock"
workload = "index"
figures = { goodput = "400/s" }
"#;

#[derive(Deserialize)]
struct Heading {
    definition: Definition,
    options: Options,
}

#[test]
fn a_study_stored_under_old_keys_is_the_same_study() {
    let heading: Heading = serde_json::from_str(STORED.lines().next().unwrap()).unwrap();
    assert_eq!(heading.definition, Definition::read(STUDY, "study.toml", &|_| true).unwrap());
    assert_eq!(heading.options, Options { variants: vec!["best".to_owned()], ..Options::default() });
}

#[test]
fn trials_stored_under_old_keys_keep_their_results_and_warnings() {
    let entries: Vec<Entry> =
        STORED.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.iter().filter(|entry| entry.trial.variant == "stock").count(), 2);
    let TrialResult::Measured(first) = &entries[0].result else { panic!("{:?}", entries[0]) };
    assert_eq!((first.validity, first.requests), (Validity::Suspect, 6_000));
    assert!((first.figures[&Metric::Goodput].value - 1_234.5).abs() < 1e-9);
    assert!(first.figures[&Metric::P99_9].at_least);
    assert_eq!(first.messages(), "a worker of knee waited for a CPU during 1.1 % of the run");
    assert_eq!(first.warnings[0].code, "", "older versions did not store it");
    assert_eq!(first.placement.unavailable["service.main.cpus"], "this machine has 2 CPUs");
    assert_eq!(first.placement.generator_cpu_weight, Some(8));
    assert_eq!(entries[1].result, TrialResult::Died { reason: "exit code 3".to_owned() });
    assert_eq!(entries[2].result, TrialResult::NeverReady { reason: "no answer on port 80".to_owned() });
    let TrialResult::Measured(last) = &entries[3].result else { panic!("{:?}", entries[3]) };
    assert_eq!((last.validity, &last.placement), (Validity::Valid, &Placement::default()));
    for entry in &entries {
        let text = serde_json::to_string(entry).unwrap();
        assert!(
            !["\"arm\"", "\"told\"", "\"state\"", "\"rate\""].iter().any(|old| text.contains(old)),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), *entry);
    }
}

#[test]
fn a_study_file_with_old_keys_is_refused() {
    for (new, old) in [
        ("[variants.", "[arms."),
        ("cpu_limit", "cpu_share"),
        ("cpu_weight", "weight"),
        ("settle", "washout"),
    ] {
        let found =
            Definition::read(&STUDY.replace(new, old), "study.toml", &|_| true).unwrap_err().to_string();
        assert!(found.contains("unknown key"), "{old}: {found}");
    }
}
