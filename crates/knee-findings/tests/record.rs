//! Rules over saved records: whatever a version of `knee` wrote can be examined, and real services are judged right.
//!
//! The records of all versions belong to `knee-core`, which tests that they can be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use knee_core::observation::Observations;
use knee_core::record::run::read;
use knee_findings::{Confidence, Evidence, RULES, Report, examine};

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
