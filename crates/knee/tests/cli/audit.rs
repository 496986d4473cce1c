//! `knee audit`: the answer, its exit code, its document, and files that are none.
//!
//! Sends no load; the outputs are written here.

use std::fs::File;

use serde_json::Value;

use crate::program::Home;

/// A hand-written list with the figures of a run of hey above its limit.
const CAPPED: &str = "# Load\n\n- **Concurrent Connections**: 200\n- **Total Requests**: 3,957,982\n\
     - **Requests/Second**: 131,921\n- **Average Response Time**: 6ms\n";

/// A sound output of wrk.
const SOUND: &str = "Running 30s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n  Thread Stats   Avg      \
     Stdev     Max   +/- Stdev\n    Latency     1.00ms    0.50ms  12.92ms   93.69%\n  300000 requests in 30.00s, \
     1.00MB read\nRequests/sec:  10000.00\n";

#[test]
fn the_answer_comes_first_and_the_exit_code_says_whether_the_figures_can_be_used() {
    let home = Home::new();
    home.file("README.md", CAPPED);
    home.file("wrk.txt", SOUND);
    let finished = home.knee("audit README.md").run();
    assert_eq!(finished.code, Some(120), "{finished:?}");
    assert!(finished.stdout.starts_with("1 statement cannot be true\n"), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("= 131,921 requests/s x 1.52 ms = 200 in flight"),
        "{}",
        finished.stdout
    );
    let finished = home.knee("audit wrk.txt").run();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.starts_with("consistent: "), "{}", finished.stdout);
    assert_eq!(home.knee("audit README.md --format quiet").run().stdout, "");
}

#[test]
fn the_document_is_as_its_schema_says() {
    let home = Home::new();
    home.file("README.md", CAPPED);
    home.file("wrk.txt", SOUND);
    let finished = home.knee("audit README.md wrk.txt --format json").run();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../docs/reference/audit.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert_eq!(document["outputs"][0]["findings"][0]["check"], "little");
    assert_eq!(document["outputs"][1]["consistent"], true);
}

#[test]
fn files_that_are_no_output_are_refused_with_what_to_do() {
    let home = Home::new();
    home.file("a.bin", [0xff, 0xfe, 0x00, 0x80]);
    home.file("b.json", "{\"a\": 1}");
    home.file("c.gz", [0x1f, 0x8b, 8, 0]);
    home.file("empty.txt", "");
    home.file("cut.json", "{\"summary\": {");
    for (name, words) in [
        ("a.bin", "the format is not known"),
        ("b.json", "the format is not known"),
        ("c.gz", "the file is compressed"),
        ("empty.txt", "the format is not known"),
        ("cut.json", "line 1: "),
        ("missing.txt", "`missing.txt`: "),
        (".", "`.` is a folder"),
    ] {
        let finished = home.knee("audit").arg(name).run();
        assert_eq!(finished.code, Some(104), "{name}: {finished:?}");
        assert!(
            finished.stderr.contains(words) && finished.stderr.contains("\nhint: "),
            "{}",
            finished.stderr
        );
        assert_eq!(finished.stdout, "", "{name}");
    }
}

#[test]
fn an_output_can_come_through_a_pipe_and_cannot_steer_the_terminal() {
    let home = Home::new();
    let text = "# x\n\n| Change | rps | p95 (ms) |\n|---|---|---|\n| a | 300 | 762 |\n| b \u{1b}]0;owned\u{7} | 300 | 762 |\n";
    let path = home.file("table.md", text);
    let finished = home.knee("audit -").stdin(File::open(path).unwrap()).run();
    assert_eq!(finished.code, Some(120), "{finished:?}");
    assert!(finished.stdout.contains("stdin: Markdown"), "{}", finished.stdout);
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
}
