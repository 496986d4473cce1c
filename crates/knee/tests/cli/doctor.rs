//! `knee doctor`: the answer, the exit code, and the document.
//!
//! What it finds depends on the machine and the build, so the exit code is compared with the document.

use serde_json::Value;

use crate::program::Home;

#[test]
fn the_exit_code_says_whether_the_machine_is_fit_and_the_document_says_why() {
    let home = Home::new();
    let finished = home.knee("doctor --json").run();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(document["kind"], "doctor");
    let fit = document["fit"].as_bool().unwrap();
    assert_eq!(finished.code, Some(if fit { 0 } else { 120 }), "{finished:?}");
    let checks = document["checks"].as_array().unwrap();
    let unfit: Vec<&Value> = checks.iter().filter(|check| check["grade"] == "unfit").collect();
    assert_eq!(fit, unfit.is_empty(), "{document:#}");
    let start = if fit { "Fit to measure" } else { "Not fit to measure: " };
    assert!(document["answer"].as_str().unwrap().starts_with(start), "{document:#}");
    for check in checks.iter().filter(|check| check["grade"] != "ok" && check["grade"] != "unknown") {
        assert_ne!(check["effect"], "", "{check:#}");
        assert_ne!(check["remedy"], "", "{check:#}");
    }
    if cfg!(debug_assertions) {
        assert!(unfit.iter().any(|check| check["name"] == "build"), "{document:#}");
    }
}

#[test]
fn the_text_begins_with_the_answer_and_nothing_is_saved() {
    let home = Home::new();
    let finished = home.knee("doctor").run();
    assert!(finished.stdout.contains("it to measure"), "{}", finished.stdout);
    assert!(finished.stdout.lines().any(|line| line.contains(" files ")), "{}", finished.stdout);
    assert_eq!(home.files(), Vec::<std::path::PathBuf>::new());
    assert_eq!(home.knee("doctor --format quiet").run().stdout, "");
}
