//! Outputs of other tools in `knee compare` and `knee report`: their figures, the caveat, the warnings, and files that
//! do not have enough.
//!
//! Sends no load, except to have a saved run of knee beside an output. The outputs are written here.

use serde_json::Value;

use crate::program::{Finished, Home};
use crate::server::Server;

/// What every comparison of outputs says.
const CAVEAT: &str = "one run each: no interval, no verdict";

const K6: &str = r#"{"metrics":{
"http_req_duration":{"type":"trend","contains":"time","values":{"avg":50,"min":10,"med":40,"max":200,"p(90)":90,"p(95)":120}},
"http_reqs":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
"http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.02,"passes":20,"fails":980}},
"iteration_duration":{"type":"trend","contains":"time","values":{"avg":60,"min":20,"med":50,"max":210}},
"iterations":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
"vus_max":{"type":"gauge","contains":"default","values":{"value":10,"min":10,"max":10}}},
"state":{"testRunDurationMs":10000}}"#;

/// Five requests of ten connections, which the tool gave up at its deadline, stood still for 2 s.
const STALLED: &str = r#"{"summary":{"successRate":1.0,"total":10.0,"slowest":2.0,"fastest":0.005,"average":0.02,
"requestsPerSec":101.0,"totalData":1000,"sizePerRequest":1,"sizePerSec":100.0},
"responseTimeHistogram":{"0.01":995,"2.0":5},"latencyPercentiles":{"p50":0.009,"p95":0.0095,"p99":0.01},
"statusCodeDistribution":{"200":1000},"errorDistribution":{"aborted due to deadline":10}}"#;

const WRK: &str = "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n  Thread Stats   Avg      \
     Stdev     Max   +/- Stdev\n    Latency     1.00ms    0.50ms  12.92ms   93.69%\n  1000 requests in 10.00s, 1.00MB \
     read\nRequests/sec:    100.00\n";

/// hey's CSV of 100 requests, ten per second, of which each takes 0.1 s.
fn hey_csv() -> String {
    let head = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset";
    let rows = (0..100).map(|row| format!("0.1,0,0,0,0.1,0,200,{:.1}", f64::from(row) * 0.1));
    std::iter::once(head.to_owned()).chain(rows).collect::<Vec<_>>().join("\n") + "\n"
}

/// The document, if it is as its schema says.
fn parsed(finished: &Finished, schema: &str) -> Value {
    let schema = serde_json::from_str(schema).unwrap();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0], "{document:#}");
    document
}

fn compared(finished: &Finished) -> Value {
    parsed(finished, include_str!("../../../../docs/reference/compare.schema.json"))
}

/// A figure of both sides: A, B and the change.
fn figure(document: &Value, name: &str) -> [f64; 3] {
    let figures = document["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["figure"] == name);
    let found = found.unwrap_or_else(|| panic!("{name} in {document:#}"));
    ["a", "b", "change"].map(|key| found[key].as_f64().unwrap())
}

fn assert_near(found: [f64; 3], expected: [f64; 3]) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} instead of {expected}");
    }
}

#[test]
fn two_outputs_of_one_tool_are_compared_without_a_verdict() {
    let home = Home::new();
    home.file("before.json", K6);
    home.file(
        "after.json",
        K6.replace("\"p(95)\":120", "\"p(95)\":96").replace("1000,\"rate\":100", "1100,\"rate\":110"),
    );
    let finished = home.knee("compare before.json after.json").run();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    assert!(finished.stdout.contains(CAVEAT), "{}", finished.stdout);
    assert!(finished.stdout.contains("-20.0 %"), "{}", finished.stdout);
    for verdict in ["faster", "slower", "same"] {
        assert!(!finished.stdout.contains(verdict), "{verdict}: {}", finished.stdout);
    }
    let finished = home.knee("compare before.json after.json --output-format json").run();
    let document = compared(&finished);
    assert_eq!(document["kind"], "outputs");
    assert_eq!(document["a"]["tool"], "k6");
    assert_near(figure(&document, "p95"), [120e6, 96e6, -0.2]);
    assert_near(figure(&document, "goodput"), [98.0, 107.8, 0.1]);
    let markdown = home.knee("compare before.json after.json --output-format md").run().stdout;
    assert!(markdown.starts_with("# A against B: one run each\n"), "{markdown}");
    assert!(markdown.contains(&format!("**{CAVEAT}**")), "{markdown}");
}

#[test]
fn a_user_sees_why_a_side_misleads_before_its_figures_and_what_differs_besides_the_service() {
    let home = Home::new();
    home.file("k6.json", K6);
    home.file("oha.json", STALLED);
    let text = home.knee("compare k6.json oha.json").run().stdout;
    let warning = text.find("B: misleading: p99 10.0 ms hides a stall of 2.00 s [omission]");
    let figures = text.find("\nFigures\n");
    assert!(warning.is_some() && warning < figures, "{text}");
    assert!(text.contains("the tools differ: k6 and oha"), "{text}");
    let document = compared(&home.knee("compare k6.json oha.json --output-format json").run());
    let warnings = document["b"]["warnings"].as_array().unwrap();
    let is_said = warnings.iter().any(|one| one.as_str().unwrap().contains("hides a stall"));
    assert!(is_said, "{document:#}");
    assert_near(figure(&document, "mean"), [50e6, 20e6, -0.6]);
}

#[test]
fn other_users_and_another_duration_are_said() {
    let home = Home::new();
    home.file("a.txt", WRK);
    let other = WRK.replace("10 connections", "50 connections");
    home.file("b.txt", other.replace("1000 requests in 10.00s", "2000 requests in 20.00s"));
    let text = home.knee("compare a.txt b.txt").run().stdout;
    for words in ["10 connections and 50 connections", "the durations differ: 10.0 s and 20.0 s"] {
        assert!(text.contains(words), "{text}");
    }
    // wrk prints no percentiles unless it is asked.
    assert!(text.contains("`wrk --latency`"), "{text}");
}

#[test]
fn an_output_of_single_requests_and_a_saved_run_can_be_sides() {
    let (home, server) = (Home::new(), Server::start());
    home.file("hey.csv", hey_csv());
    home.file("wrk.txt", WRK);
    let document = compared(&home.knee("compare wrk.txt hey.csv --output-format json").run());
    let [a, b, _] = figure(&document, "mean");
    assert!((a - 1e6).abs() < 1.0 && (b - 1e8).abs() < 1.0, "{a} {b}");
    let names = document["figures"].to_string();
    assert!(!names.contains("goodput"), "hey's CSV leaves failures out: {names}");
    home.knee(&format!("{} -n 50 -c 2", server.url("/"))).run();
    let finished = home.knee("compare last wrk.txt").run();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains(CAVEAT) && finished.stdout.contains("knee record"),
        "{}",
        finished.stdout
    );
    let document = compared(&home.knee("compare wrk.txt last --output-format json").run());
    assert_eq!(document["b"]["tool"], "knee");
    assert!(figure(&document, "errors")[1].abs() < 1e-9, "{document:#}");
}

#[test]
fn a_report_of_an_output_has_its_figures_its_findings_and_what_it_lacks() {
    let home = Home::new();
    home.file("oha.json", STALLED);
    home.file("hey.csv", hey_csv());
    let finished = home.knee("report oha.json").run();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    for words in [
        "oha JSON: oha.json",
        "hides a stall",
        "p99",
        "10.0 ms",
        "What the file does not have",
        "connections or users",
    ] {
        assert!(finished.stdout.contains(words), "{words}: {}", finished.stdout);
    }
    let in_seconds = home.knee("report oha.json -u s").run().stdout;
    assert!(in_seconds.contains("2.00 s") && !in_seconds.contains("9.00 ms"), "{in_seconds}");
    let schema = include_str!("../../../../docs/reference/output.schema.json");
    let document = parsed(&home.knee("report hey.csv --format json").run(), schema);
    assert_eq!(document["run"]["format"], "hey CSV");
    assert!(document["run"]["missing"].to_string().contains("share of failed requests"), "{document:#}");
    let markdown = home.knee("report hey.csv --format md").run().stdout;
    assert!(markdown.starts_with("# hey CSV: hey.csv\n") && markdown.contains("| p50 | "), "{markdown}");
    home.knee("report oha.json --format html")
        .run()
        .refused("`oha.json` is an output of oha, which has no such format", "use text, md or json");
}

#[test]
fn a_page_of_locust_is_no_page_of_knee() {
    let home = Home::new();
    let row = r#""num_requests":100,"num_failures":5,"median_response_time":10,"avg_response_time":12.5,
        "min_response_time":1,"max_response_time":40,"avg_content_length":10"#;
    let rows = format!(r#"{{"method":"GET","name":"/a",{row}}},{{"method":"","name":"Aggregated",{row}}}"#);
    let script = format!("<script>window.templateArgs = {{\"requests_statistics\":[{rows}]}}</script>");
    home.file("locust.html", format!("<!DOCTYPE html>\n<html>{script}</html>"));
    let finished = home.knee("report locust.html").run();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for words in ["Locust report: locust.html", "5.0 %", "12.5 ms"] {
        assert!(finished.stdout.contains(words), "{words}: {}", finished.stdout);
    }
    home.file("other.html", "<!DOCTYPE html>\n<html></html>");
    assert_eq!(home.knee("report other.html").run().code, Some(104));
}

#[test]
fn files_that_are_not_enough_are_refused_with_what_to_do() {
    let home = Home::new();
    home.file("mean.json", r#"{"metrics":{"http_req_duration":{"type":"trend","contains":"time","values":{"avg":50}},"vus":{}}}"#);
    let untimed = r#"{"summary":{"total":10.0,"requestsPerSec":100.0},"responseTimeHistogram":{},"statusCodeDistribution":{"200":1000}}"#;
    home.file("untimed.json", untimed);
    home.file("table.md", "# x\n\n| Change | rps | p95 (ms) |\n|---|---|---|\n| a | 300 | 762 |\n");
    home.file("two.txt", format!("{WRK}\n{WRK}"));
    home.file("wrk.txt", WRK);
    let table = "give the output as the tool wrote it; `knee audit` also reads tables and statements";
    for (line, error, hint) in [
        (
            "compare mean.json untimed.json",
            "`mean.json` and `untimed.json` have no figure in common that can be compared",
            "A has mean; B has requests, throughput, goodput, errors",
        ),
        ("compare wrk.txt table.md", "`table.md`: the file has no figures of the requests of a run", table),
        ("report table.md", "`table.md`: the file has no figures of the requests of a run", table),
        (
            "report two.txt",
            "`two.txt`: the file has the outputs of 2 runs",
            "give each output as a file of its own",
        ),
        (
            "compare wrk.txt wrk.txt --output-format html",
            "a comparison with the output of another tool has no page",
            "use text, md or json",
        ),
        (
            "compare gone.json wrk.txt",
            "there is no saved run `gone.json`",
            "give `last`, `last~1` or a file; `knee report --list` lists saved runs",
        ),
    ] {
        home.knee(line).run().refused(error, hint);
    }
    home.file("unknown.json", "{\"a\": 1}");
    let finished = home.knee("report unknown.json").run();
    assert_eq!(finished.code, Some(104), "{finished:?}");
    assert!(finished.stderr.contains("\nhint: give the file of a saved run"), "{}", finished.stderr);
}

#[test]
fn names_in_an_output_and_of_its_file_cannot_steer_the_terminal() {
    let home = Home::new();
    // A check whose share contradicts its counts, so that its name is in a finding.
    let hostile = r#""name\u001b]0;owned\u0007 | <b>":{"type":"rate","contains":"default","values":{"rate":0.5,"passes":1,"fails":9}},"#;
    let text = K6.replacen("\"http_reqs\"", &format!("{hostile}\"http_reqs\""), 1);
    home.file("a\u{1b}[2J.json", &text);
    home.file("b.json", K6);
    for line in ["compare", "compare --output-format md", "compare --output-format json"] {
        let finished = home.knee(line).arg("a\u{1b}[2J.json").arg("b.json").run();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stdout.contains("owned"), "{}", finished.stdout);
        assert!(!finished.stdout.contains(['\u{1b}', '\u{7}']), "{}", finished.stdout);
    }
    for line in ["report", "report --format md", "report --format json"] {
        let finished = home.knee(line).arg("a\u{1b}[2J.json").run();
        assert!(
            finished.stdout.contains("cannot be true") || finished.stdout.contains("impossible"),
            "{finished:?}"
        );
        assert!(!finished.stdout.contains(['\u{1b}', '\u{7}']), "{}", finished.stdout);
    }
}
