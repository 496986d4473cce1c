//! The five published documents: which of their defects the audit finds, and whether it is silent where figures agree.
//!
//! Prints precision and recall: `cargo test -p knee-audit --test published -- --nocapture`.

use std::collections::BTreeSet;

use knee_audit::finding::Grade;
use knee_audit::{Known, audit};
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    about: String,
    expects: BTreeSet<String>,
    missed: Option<String>,
    input: String,
}

/// Checks that found something other than a note.
fn found(case: &Case) -> BTreeSet<String> {
    let report = audit(&case.id, case.input.as_bytes(), &Known::default())
        .unwrap_or_else(|error| panic!("{}: {error}", case.id));
    let real = report.findings.iter().filter(|finding| finding.grade != Grade::Note);
    real.map(|finding| finding.check.to_owned()).collect()
}

#[test]
fn the_defects_of_published_documents_are_found_and_sound_figures_raise_no_alarm() {
    let cases: Cases = toml::from_str(include_str!("published.toml")).unwrap();
    let (mut defects, mut hits, mut alarms, mut sound) = (0, 0, 0, 0);
    for case in &cases.case {
        let found = found(case);
        let wrong: Vec<&String> = found.difference(&case.expects).collect();
        assert!(wrong.is_empty(), "{} ({}): alarms of {wrong:?}", case.id, case.about);
        alarms += wrong.len();
        if case.expects.is_empty() {
            sound += 1;
            continue;
        }
        defects += 1;
        if case.missed.is_some() {
            assert!(found.is_empty(), "{}: found now, take `missed` away", case.id);
            continue;
        }
        let missing: Vec<&String> = case.expects.difference(&found).collect();
        assert!(missing.is_empty(), "{} ({}): {missing:?} did not find it", case.id, case.about);
        hits += 1;
    }
    println!("{hits} of {defects} defects found, {alarms} alarms on {sound} sound inputs");
    assert!(f64::from(hits) >= 0.95 * f64::from(defects));
}
