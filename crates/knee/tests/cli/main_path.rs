//! Load a URL, read the result in every form, find the run again.

use serde_json::Value;

use crate::program::{Home, number, record, word};
use crate::server::Server;

const SCHEMA: &str = include_str!("../../../../docs/reference/result.schema.json");

#[test]
fn two_hundred_requests_are_two_hundred_requests() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 200 -c 50").arg(server.url("/")).run();
    assert_eq!(server.count(), 200);
    assert_eq!(server.connections(), 50);
    let run = finished.ended_as_it_says(&home);
    assert_eq!(number(&run, "/requests/planned"), 200);
    assert_eq!(number(&run, "/requests/ok"), 200);
    for part in [
        "Requests    200 planned = 200 ok\n",
        "Times in ",
        "response time      service time               lag\n",
        "Response time histogram",
        "Phases in ",
        "\nStatus codes\n  200   200 answers\n",
        "\nValidity: ",
    ] {
        assert!(finished.stdout.contains(part), "{part:?} is missing in\n{}", finished.stdout);
    }
    assert!(!finished.stdout.contains('\u{1b}'), "no colours in a pipe");
    assert!(
        finished.stderr.ends_with(&format!("record: {}", record(&home).display())),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_result_in_json_is_as_its_schema_says_and_the_report_says_the_same() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 500 -c 5 --output-format json").arg(server.url("/")).run();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    finished.ended_as(&document);
    let path = record(&home);
    for name in ["last", "last~0", &word(&path), path.file_stem().unwrap().to_str().unwrap()] {
        let report = home.knee("report --format json").arg(name).run();
        assert_eq!((report.code, report.stdout), (Some(0), finished.stdout.clone()), "{name}");
    }
}

#[test]
fn every_form_of_the_result_is_the_one_asked_for() {
    let (home, server) = (Home::new(), Server::start());
    let run = |format: &str| home.knee("-n 20 -c 2 --output-format").arg(format).arg(server.url("/")).run();
    let csv = run("csv");
    let columns: Vec<usize> = csv.stdout.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() >= 2 && columns.iter().all(|count| *count == columns[0]), "{}", csv.stdout);

    let oha: Value = serde_json::from_str(&run("oha-json").stdout).unwrap();
    assert_eq!(oha["summary"]["successRate"], 1.0);
    assert_eq!(oha["statusCodeDistribution"]["200"], 20);

    let quiet = run("quiet");
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    quiet.ended_as_it_says(&home);
}

#[test]
fn the_result_and_the_record_go_where_they_are_told_to() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 20 -c 2 --output-format json -o a/../result.json --out kept.knee");
    std::fs::create_dir(home.path("a")).unwrap();
    let finished = finished.arg(server.url("/")).run();
    assert_eq!(finished.stdout, "");
    assert!(finished.stderr.ends_with("record: kept.knee"), "{}", finished.stderr);
    let mut files: Vec<_> = home.files();
    files.sort();
    assert_eq!(files, [home.path("kept.knee"), home.path("result.json")], "nothing is kept twice");
    let result = std::fs::read_to_string(home.path("result.json")).unwrap();
    let report = home.knee("report kept.knee --format json").run();
    assert_eq!(report.stdout, result);
    // Written to a file, and in colours neither.
    home.knee("report kept.knee -o report.txt").run();
    let text = std::fs::read_to_string(home.path("report.txt")).unwrap();
    assert!(text.contains("20 planned = 20 ok") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_record_becomes_the_four_files_of_locust() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 300 -c 2 --out kept.knee").arg(server.url("/")).run();
    let unsaid = home.knee("report kept.knee --format locust-csv").run();
    assert_eq!(unsaid.code, Some(104), "{}", unsaid.stderr);
    assert!(unsaid.stderr.contains("hint: give the beginning of their names"), "{}", unsaid.stderr);
    std::fs::create_dir(home.path("folder")).unwrap();
    for (output, names) in [("run1", "run1_"), ("folder", "folder/")] {
        let written = home.knee("report kept.knee --format locust-csv -o").arg(output).run();
        assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{}", written.stderr);
        let read = |name: &str| std::fs::read_to_string(home.path(&format!("{names}{name}.csv"))).unwrap();
        let stats = read("stats");
        let all: Vec<&str> = stats.lines().last().unwrap().split(',').collect();
        assert_eq!(all[..4], ["", "Aggregated", "300", "0"], "{stats}");
        assert!(stats.lines().nth(1).unwrap().starts_with("GET,http://"), "{stats}");
        let history = read("stats_history");
        let last: Vec<&str> = history.lines().last().unwrap().split(',').collect();
        assert_eq!(last[17], "300", "{history}");
        assert_eq!((read("failures").lines().count(), read("exceptions").lines().count()), (1, 1));
    }
}

#[test]
fn runs_are_found_again_by_counting_back() {
    let (home, server) = (Home::new(), Server::start());
    for number in [3, 4] {
        home.knee(&format!("-n {number}")).arg(server.url("/")).run();
    }
    assert_eq!(number(&home.report("last"), "/requests/planned"), 4);
    assert_eq!(number(&home.report("last~1"), "/requests/planned"), 3);
    let list = home.knee("report --list").run();
    assert_eq!(list.stdout.lines().count(), 2);
    home.knee("report last~2")
        .run()
        .refused("`last~2` goes too far back: 2 runs have been kept", "`knee report --list` shows them");
}

#[test]
fn failures_of_the_target_are_part_of_the_result() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 30 -c 3").arg(server.url("/sorry")).run();
    let run = finished.ended_as_it_says(&home);
    assert_eq!(number(&run, "/requests/http_error"), 30);
    assert_eq!(number(&run, "/status/503"), 30);
    assert!(finished.stdout.contains("30 planned = 0 ok + 30 http_error"), "{}", finished.stdout);
}
