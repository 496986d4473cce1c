//! The four tables that programs written for Locust read.

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::{Endpoint, Stop};
use knee_core::unit::Nanos;
use knee_report::locust::table::{Table, render};

use super::fixture::{self, Request};

const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;

/// The rows of one of the tables, read by another reader than the one that wrote it.
fn rows(tables: &[Table; 4], ending: &str) -> Vec<Vec<String>> {
    let (_, text) = tables.iter().find(|(name, _)| *name == ending).unwrap();
    let reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.into_records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn at<'a>(rows: &'a [Vec<String>], row: usize, column: &str) -> &'a str {
    let position =
        rows[0].iter().position(|name| name == column).unwrap_or_else(|| panic!("no column {column}"));
    &rows[row][position]
}

/// Ten seconds of 100 requests/s by 5 users: lists of 10 ms, new todos of 20 ms. From the sixth second each
/// tenth list is answered with 503, and one new todo is refused.
fn tables() -> [Table; 4] {
    let mut requests: Vec<Request> = (0..1000)
        .map(|k| {
            let is_list = k % 2 == 0;
            let time = if is_list { 10 * MILLI } else { 20 * MILLI };
            let mut request = Request::ok(k * SECOND / 100, 0, time);
            request.endpoint = u32::from(!is_list);
            if k >= 500 && k % 20 == 0 {
                (request.outcome, request.status) = (Outcome::HttpError, Some(503));
            }
            request
        })
        .collect();
    let mut refused = Request::failed(3 * SECOND, 0, MILLI, Fault::Refused, "127.0.0.1:1");
    refused.endpoint = 1;
    requests.push(refused);
    let plan = fixture::closed(5.0, Stop::At(Nanos(10 * SECOND)));
    let (mut run, follower) = fixture::followed(plan, &requests);
    run.head.started = Nanos(1_600_000_000 * SECOND);
    run.endpoints = ["GET /todos/", "POST /todos/"].map(|name| Endpoint { name: name.into() }).to_vec();
    render(&follower.end(&run))
}

#[test]
fn the_headers_are_those_of_locust() {
    let tables = tables();
    let header = |ending| rows(&tables, ending)[0].join(",");
    let shares = "50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%";
    assert_eq!(
        header("_stats.csv"),
        format!(
            "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,\
             Max Response Time,Average Content Size,Requests/s,Failures/s,{shares}"
        )
    );
    assert_eq!(
        header("_stats_history.csv"),
        format!(
            "Timestamp,User Count,Type,Name,Requests/s,Failures/s,{shares},Total Request Count,\
             Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,\
             Total Max Response Time,Total Average Content Size"
        )
    );
    assert_eq!(header("_failures.csv"), "Method,Name,Error,Occurrences,First Seen,Last Seen");
    assert_eq!(header("_exceptions.csv"), "Count,Message,Traceback,Nodes");
}

#[test]
fn requests_are_rows_by_name_and_type_and_the_last_row_is_all_of_them() {
    let stats = rows(&tables(), "_stats.csv");
    let names: Vec<_> = stats[1..].iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    assert_eq!(names, [("GET", "/todos/"), ("POST", "/todos/"), ("", "Aggregated")]);
    for (row, requests, failures) in [(1, "500", "25"), (2, "501", "1"), (3, "1001", "26")] {
        assert_eq!(
            (at(&stats, row, "Request Count"), at(&stats, row, "Failure Count")),
            (requests, failures)
        );
    }
    assert_eq!(at(&stats, 1, "Requests/s"), "50");
    assert_eq!(at(&stats, 1, "Failures/s"), "2.5");
    assert_eq!(at(&stats, 1, "Average Response Time"), "10");
    assert_eq!((at(&stats, 3, "Min Response Time"), at(&stats, 3, "Max Response Time")), ("1", "20"));
    assert_eq!((at(&stats, 3, "50%"), at(&stats, 3, "90%"), at(&stats, 3, "100%")), ("10", "20", "20"));
    assert_eq!(at(&stats, 3, "99.99%"), "N/A", "1,001 requests cannot carry it");
}

#[test]
fn the_history_has_what_there_was_so_far_and_the_rate_of_each_second() {
    let history = rows(&tables(), "_stats_history.csv");
    assert_eq!(history.len(), 1 + 11, "ten seconds, and what came back after them");
    for second in 1..=9 {
        let time: u64 = at(&history, second, "Timestamp").parse().unwrap();
        let first: u64 = at(&history, 1, "Timestamp").parse().unwrap();
        assert_eq!(time - first, second as u64 - 1);
        assert_eq!((at(&history, second, "User Count"), at(&history, second, "Name")), ("5", "Aggregated"));
    }
    let total = |second| at(&history, second, "Total Request Count").parse::<u64>().unwrap();
    assert!((98..=102).contains(&total(1)) && (498..=502).contains(&total(5)), "{history:?}");
    assert_eq!(total(11), 1001);
    assert_eq!(at(&history, 5, "Total Failure Count"), "1");
    assert_eq!((at(&history, 7, "Requests/s"), at(&history, 7, "Failures/s")), ("100.000000", "5.000000"));
    assert_eq!(at(&history, 1, "50%"), "N/A", "a hundred requests cannot carry a median");
}

#[test]
fn failures_say_what_how_often_and_when() {
    let failures = rows(&tables(), "_failures.csv");
    let brief: Vec<_> = failures[1..].iter().map(|row| row[..4].join(" | ")).collect();
    let refused = Fault::Refused.sentence();
    assert_eq!(
        brief,
        ["GET | /todos/ | status 503 | 25".to_owned(), format!("POST | /todos/ | {refused} | 1")]
    );
    assert_eq!(
        (at(&failures, 1, "First Seen"), at(&failures, 1, "Last Seen")),
        ("2020-09-13T12:26:46Z", "2020-09-13T12:26:50Z")
    );
    assert_eq!(at(&failures, 2, "First Seen"), at(&failures, 2, "Last Seen"));
}

#[test]
fn failures_add_up_whatever_went_wrong_and_names_are_never_formulas() {
    let signs = ['=', '+', '-', '@'];
    for ((name, mut run), sign) in fixture::all().into_iter().zip(signs.into_iter().cycle()) {
        if let Some(endpoint) = run.endpoints.first_mut() {
            endpoint.name = format!("{sign}HYPERLINK(\"http://evil/\")");
        }
        let tables = render(&knee_report::locust::Follower::new(&run.head).end(&run));
        let stats = rows(&tables, "_stats.csv");
        let result: u64 =
            rows(&tables, "_failures.csv")[1..].iter().map(|row| row[3].parse::<u64>().unwrap()).sum();
        assert_eq!(result.to_string(), at(&stats, stats.len() - 1, "Failure Count"), "{name}");
        let formulas =
            stats.iter().flatten().filter(|cell| cell.starts_with(signs) && cell.parse::<f64>().is_err());
        assert_eq!(formulas.count(), 0, "{name}");
        let requests: u64 = stats[1..stats.len() - 1].iter().map(|row| row[2].parse::<u64>().unwrap()).sum();
        assert_eq!(requests.to_string(), at(&stats, stats.len() - 1, "Request Count"), "{name}");
    }
}
