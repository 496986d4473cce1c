//! Rules over saved records: whatever a version of `knee` wrote can be examined.
//!
//! The records belong to `knee-core`, which tests that they can be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use knee_core::observation::Observations;
use knee_core::record::run::read;
use knee_findings::{Evidence, RULES, examine};

#[test]
fn records_of_every_version_are_examined_and_those_of_healthy_services_give_no_finding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../knee-core/tests/fixtures");
    for name in ["v1.knee", "v1-truncated.knee", "v2.knee", "v2-later.knee"] {
        let run = read(BufReader::new(File::open(folder.join(name)).unwrap())).unwrap().run;
        let observations = Observations::default();
        let report = examine(&Evidence::of(&run, &observations));
        assert_eq!(report.findings, [], "{name}");
        assert_eq!(report.ran.len() + report.could_not_run.len(), RULES.len(), "{name}");
    }
}
