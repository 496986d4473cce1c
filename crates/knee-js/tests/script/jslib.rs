//! Our own answers to well-known libraries do what is documented of them, on this crate's own runtime.
//!
//! Each file in `tests/jslib` runs one library through its values and says with checks whether they are right.

use knee_js::loader::replacement;
use knee_js::program::Limits;

use super::harness::{expectations, run_script, scripts};

#[test]
fn every_library_does_what_is_documented_of_it() {
    for script in scripts("jslib") {
        let expected = expectations(&script);
        let outcome = run_script(&script, Limits::default());
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(outcome.refused, None, "{name}");
        let lines = outcome.lines.join("\n");
        assert_eq!(lines, "", "{name} says what is wrong with it");
        assert_eq!(Some(&outcome.checks.0.to_string()), expected.get("passed"), "{name}");
        assert_eq!(Some(&outcome.checks.1.to_string()), expected.get("failed"), "{name}");
        let names: Vec<&String> =
            expected.iter().filter(|(key, _)| key.starts_with("name ")).map(|(_, name)| name).collect();
        if !names.is_empty() {
            assert_eq!(outcome.failed.iter().collect::<Vec<_>>(), names, "{name}: checks that failed");
        }
        if let Some(requests) = expected.get("requests") {
            assert_eq!(&outcome.requests.join(", "), requests, "{name}");
        }
    }
}

#[test]
fn only_versions_that_are_known_are_answered() {
    let found =
        |path: &str| replacement::find(&format!("https://jslib.k6.io/{path}")).map(|found| found.library);
    assert_eq!(found("k6-utils/1.2.0/index.js"), Some("k6-utils"));
    assert_eq!(found("k6chaijs/4.3.4.0/index.js"), Some("k6chaijs"));
    for path in ["k6-utils/9.0.0/index.js", "k6-utils/1.2.0/other.js", "aws/0.12.0/index.js", "k6-utils", ""]
    {
        assert_eq!(found(path), None, "{path}");
    }
    assert_eq!(replacement::find("https://elsewhere/k6-utils/1.2.0/index.js"), None);
}
