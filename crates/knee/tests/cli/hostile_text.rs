//! Records and scripts whose texts try to steer a terminal: whatever the command, they are shown and not obeyed.

use knee_report::clean::is_hostile;
use serde_json::{Value, json};

use crate::program::{Finished, Home};
use crate::record::{INTERVAL, NOTE, TAIL, frame, head, packed, record};

/// Clears the screen, sets the title, begins a line of its own, and turns the direction of reading.
const BITE: &str = "x\u{1b}[2J\u{9b}31m\u{1b}]0;owned\u{7}\r\nFORGED \u{202e}gnp\u{200b}\tx";

/// A run of a second in which every text is the bite.
fn bitten(tail: bool) -> Vec<u8> {
    let mut head = head();
    head["title"] = json!(BITE);
    head["build"]["version"] = json!(BITE);
    head["build"]["commit"] = json!(BITE);
    for name in ["system", "arch", "cpu"] {
        head["machine"][name] = json!(BITE);
    }
    head["plan"]["endpoints"][0]["name"] = json!(BITE);
    head["plan"]["scenarios"][0]["name"] = json!(BITE);
    let again = head["plan"]["scenarios"][0].clone();
    head["plan"]["scenarios"].as_array_mut().unwrap().push(again);
    let times =
        json!({ "count": 9, "overflow": 0, "sum": [0, 45], "min": 5, "max": 5, "gaps_and_counts": [5, 9] });
    let nothing = json!({ "response": {}, "service": {} });
    let endpoint = json!({
        "planned": 9,
        "outcomes": [nothing, nothing, { "response": times, "service": times }, nothing, nothing, nothing],
        "faults": [{ "fault": "reset", "count": 9, "examples": [BITE] }],
    });
    let interval = json!({
        "from": 1_000_000_000_u64, "to": 2_000_000_000_u64, "measured": { "endpoints": [endpoint, endpoint] },
        "endpoints_met": [[1, { "name": BITE }]],
    });
    let warning = json!({ "code": BITE, "state": "invalid", "text": BITE, "advice": BITE });
    let truth = json!({ "state": "invalid", "reasons": [warning], "notes": [BITE], "figures": {} });
    let note = frame(NOTE, &packed(&json!({ "at": 5, "text": BITE })));
    let mut frames = vec![note, frame(INTERVAL, &packed(&interval))];
    if tail {
        frames.push(frame(TAIL, &packed(&json!({ "ending": "completed", "truth": truth, "intervals": 1 }))));
    } else {
        let end = json!({ "at": 5, "text": format!("the record ends here, the run did not: {BITE}") });
        frames.push(frame(NOTE, &packed(&end)));
    }
    record(&packed(&head), &frames)
}

fn assert_harmless(finished: &Finished, what: &str) {
    assert_eq!(finished.code, Some(0), "{what}: {}", finished.stderr);
    for text in [&finished.stdout, &finished.stderr] {
        let bitten: Vec<_> = text.lines().filter(|line| line.chars().any(is_hostile)).collect();
        assert_eq!(bitten, [""; 0], "{what}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{what}: {text}");
    }
}

#[test]
fn a_saved_run_cannot_steer_the_terminal_in_any_format() {
    let home = Home::new();
    for tail in [true, false] {
        home.file("bitten.knee", bitten(tail));
        for format in ["text", "html", "json", "oha-json"] {
            assert_harmless(&home.knee("report bitten.knee --format").arg(format).run(), format);
        }
        let csv = home.knee("report bitten.knee --format csv").run();
        assert_harmless(&Finished { stdout: csv.stdout.replace("\r\n", "\n"), ..csv }, "csv");
    }
}

#[test]
fn the_list_of_saved_runs_and_trials_cannot_steer_the_terminal() {
    let home = Home::new();
    home.file(&format!("runs/{BITE}.knee"), bitten(true));
    home.file(&format!("runs/{BITE}2.knee"), "no record");
    home.file(&format!("trials/{BITE}/{BITE}.knee"), bitten(true));
    assert_harmless(&home.knee("report --list").run(), "list");
    assert_harmless(&home.knee("report --list").arg(BITE).run(), "trials");
}

#[test]
fn a_comparison_of_saved_runs_cannot_steer_the_terminal() {
    let home = Home::new();
    let path = home.file(&format!("{BITE}.knee"), bitten(true));
    for format in ["text", "md", "json"] {
        assert_harmless(
            &home.knee("compare --output-format").arg(format).arg(&path).arg(&path).run(),
            format,
        );
    }
}

#[test]
fn an_error_about_a_record_cannot_steer_the_terminal() {
    let home = Home::new();
    let mut wrong: Value = head();
    wrong["plan"]["scenarios"][0]["stop"] = json!({ BITE: 5 });
    let path = home.file(&format!("{BITE}.knee"), record(&packed(&wrong), &[]));
    let finished = home.knee("report").arg(path).run();
    assert_eq!(finished.code, Some(104));
    assert!(!finished.stderr.chars().any(|c| c != '\n' && is_hostile(c)), "{:?}", finished.stderr);
    assert!(!finished.stderr.lines().any(|line| line.starts_with("FORGED")), "{}", finished.stderr);
}

/// The bite as a constant of a script.
fn bite_of_script() -> String {
    format!("const bite = {};", json!(BITE))
}

#[test]
fn names_and_lines_of_a_script_cannot_steer_the_terminal() {
    let home = Home::new();
    let script = format!(
        "import {{ check, group }} from 'k6'; {}
         export const options = {{ iterations: 2, thresholds: {{ [`checks{{a:${{bite}}}}`]: ['rate>0'] }} }};
         export default function () {{
            console.log(bite);
            group(bite, () => check(__ITER, {{ [bite]: (turn) => turn == 0 }}, {{ a: bite }}));
         }}",
        bite_of_script()
    );
    home.file("script.js", script);
    for flags in ["", "--summary-mode full"] {
        let finished = home.knee("run script.js").args(flags).run();
        assert_harmless(&finished, flags);
        assert!(finished.stdout.contains("✗ x\\x1b[2J\\u{9b}31m\\x1b]0;owned"), "{}", finished.stdout);
        assert!(finished.stderr.contains("owned"), "the line is there: {}", finished.stderr);
    }
    assert_harmless(&home.knee("report last").run(), "report");
}

#[test]
fn an_error_of_a_script_cannot_steer_the_terminal() {
    let home = Home::new();
    for (what, rest) in [
        ("init", "throw new Error(bite);"),
        ("setup", "export function setup() { throw new Error(bite); }"),
        ("abort", "import exec from 'k6/execution'; export function setup() { exec.test.abort(bite); }"),
        ("summary", "export function handleSummary() { throw new Error(bite); }"),
        ("pieces", "export function handleSummary() { return { [bite]: 5 }; }"),
        ("threshold", "export const options = { thresholds: { checks: [bite] } };"),
        ("metric", "export const options = { thresholds: { [bite]: ['rate==1'] } };"),
        ("scenario", "export const options = { scenarios: { [bite]: { executor: 'shared-iterations' } } };"),
        ("executor", "export const options = { scenarios: { a: { executor: bite } } };"),
        (
            "default",
            "export const options = { scenarios: { a: { executor: 'shared-iterations', exec: bite } } };",
        ),
    ] {
        home.file("script.js", format!("{} {rest} export default function () {{}}", bite_of_script()));
        let finished = home.knee("run script.js").run();
        assert!(finished.stderr.contains("owned"), "{what}: {}", finished.stderr);
        for text in [&finished.stdout, &finished.stderr] {
            let acting: Vec<char> =
                text.chars().filter(|c| !matches!(c, '\n' | '\t') && is_hostile(*c)).collect();
            assert!(acting.is_empty(), "{what}: {acting:?} in {text:?}");
        }
    }
}
