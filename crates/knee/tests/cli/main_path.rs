//! Load a URL, read the result in every form, find the run again.

use serde_json::Value;

use crate::program::{Home, number, record, word};
use crate::server::Server;

const SCHEMA: &str = include_str!("../../../../docs/reference/result.schema.json");

#[test]
fn two_hundred_requests_are_two_hundred_requests() {
    let (home, server) = (Home::new(), Server::start());
    // Slow, so that each connection is needed.
    let finished = home.knee("-n 200 -c 50").arg(server.url("/slow")).run();
    assert_eq!(server.count(), 200);
    assert_eq!(server.connections(), 50);
    let run = finished.ended_as_it_says(&home);
    assert_eq!(number(&run, "/requests/planned"), 200);
    assert_eq!(number(&run, "/requests/ok"), 200);
    for part in [
        "Requests    200 planned = 200 ok\n",
        "Times in ",
        "response time      service time        send delay\n",
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

    let html = run("html").stdout;
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"), "{html}");
    assert!(html.contains("20 requests") && html.contains("id=\"knee-data\""), "{html}");

    let quiet = run("quiet");
    quiet.ended_as_it_says(&home);
    assert_eq!(quiet.stdout, "");
    for silent in [quiet, csv] {
        let reasons =
            silent.stderr.lines().filter(|line| line.starts_with("invalid: ") && line.ends_with(']'));
        assert_eq!(reasons.count(), usize::from(silent.code == Some(120)), "{}", silent.stderr);
    }
}

#[test]
fn the_result_and_the_record_go_to_the_files_that_are_named() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 20 -c 2 --output-format json -o a/../result.json --record kept.knee");
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
    home.knee("-n 300 -c 2 --record kept.knee").arg(server.url("/")).run();
    let unsaid = home.knee("report kept.knee --format locust-csv").run();
    assert_eq!(unsaid.code, Some(104), "{}", unsaid.stderr);
    assert!(unsaid.stderr.contains("hint: give a prefix"), "{}", unsaid.stderr);
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
    let list = home.knee("report --list").run().stdout;
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows[0].starts_with("RUN     TIME (UTC)"), "{list}");
    for (row, [name, load]) in
        [["last ", "4 connections, 4 requests"], ["last~1", "3 connections, 3 requests"]].iter().enumerate()
    {
        let row = rows[row + 1];
        assert!(row.starts_with(name) && row.contains(load) && row.ends_with(&server.url("/")), "{list}");
    }
    assert_eq!(rows.len(), 4, "{list}");
    assert!(rows[3].starts_with("in "), "{list}");
    home.knee("report last~2")
        .run()
        .refused("`last~2` goes too far back: 2 runs are saved", "`knee report --list` lists them");
}

#[test]
fn the_steps_of_a_sweep_are_listed_under_it_and_are_no_runs() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 3").arg(server.url("/")).run();
    home.knee("sweep --rates 20,30 --step 1s --max-time 3s -q").arg(server.url("/")).run();
    assert!(home.report("last")["steps"].is_array(), "the last result is that of the sweep");
    assert_eq!(number(&home.report("last~1"), "/requests/planned"), 3);
    let list = home.knee("report --list").run().stdout;
    assert_eq!(list.matches("last").count(), 2, "{list}");
    let series =
        list.lines().find(|line| line.contains("-sweep-127.0.0.1")).unwrap_or_else(|| panic!("{list}"));
    let series = series.split_whitespace().next().unwrap();
    let trials = home.knee("report --list").arg(series).run().stdout;
    let step = trials.lines().nth(1).and_then(|row| row.split_whitespace().next()).unwrap();
    assert!(trials.contains(" 20.0/s, "), "{trials}");
    assert!(number(&home.report(step), "/requests/planned") > 3, "{trials}");
    home.knee("report --list nothing").run().refused(
        "there are no saved trials of `nothing`",
        "`knee report --list` lists the studies, sweeps and comparisons with saved trials",
    );
}

#[test]
fn names_and_titles_in_a_list_cannot_steer_the_terminal() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 3").arg(server.url("/")).run();
    home.file("runs/20990101T000000.000Z-a\u{1b}[2J\nb.knee", "no record");
    let list = home.knee("report --list").run().stdout;
    assert!(!list.contains('\u{1b}') && list.contains("\\x1b[2J\\nb"), "{list:?}");
    assert!(list.contains("unreadable"), "{list}");
}

#[test]
fn connections_that_the_warm_up_opened_are_counted() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-c 2 -q 50 --warm-up 1s -z 1s").arg(server.url("/slow")).run();
    assert!(!finished.stdout.contains(" 0 opened"), "{}", finished.stdout);
    assert!(finished.stdout.contains("in the warm-up"), "{}", finished.stdout);
}

#[test]
fn a_server_without_tls_is_pointed_out() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-n 2").arg(server.url("/").replace("http:", "https:")).run();
    assert!(finished.stderr.contains("hint: the TLS handshake failed; "), "{}", finished.stderr);
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

#[cfg(target_os = "linux")]
#[test]
fn what_is_observed_is_in_the_result_and_in_the_record_and_what_cannot_be_read_does_not_stop_the_run() {
    let (home, server) = (Home::new(), Server::start());
    let pid = std::process::id().to_string();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let finished = home
        .knee("-n 200 -c 5 --output-format json --observe host --observe")
        .arg(format!("pid:{pid}"))
        .arg("--observe")
        .arg(format!("postgres://u:hunter2@{closed}/shop"))
        .arg(server.url("/"))
        .run();
    let warning = format!("warning: postgres://{closed}/shop is not observed: ");
    assert!(finished.stderr.contains(&warning), "{}", finished.stderr);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    finished.ended_as(&document);
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    assert!(validator.is_valid(&document));
    let states = ["read", "read", "refused"];
    let sources = document["observations"]["sources"].as_array().unwrap();
    assert_eq!(sources.iter().map(|source| source["state"].as_str().unwrap()).collect::<Vec<_>>(), states);
    let report = home.knee("report --format json last").run();
    assert_eq!((report.code, report.stdout), (Some(0), finished.stdout.clone()));
    let text = home.knee("report last").run();
    for part in ["Beside the run", "CPUs used", "not read: "] {
        assert!(text.stdout.contains(part), "{part:?} is missing in\n{}", text.stdout);
    }
    let record = std::fs::read(record(&home)).unwrap();
    let secret = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"hunter2");
    assert!(!secret(&record) && !secret(finished.stdout.as_bytes()) && !secret(finished.stderr.as_bytes()));
}
