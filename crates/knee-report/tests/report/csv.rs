//! The table of intervals.

use knee_report::{View, csv};

use super::fixture;

/// The rows of a table, read by another reader than the one that wrote it.
fn rows(text: &str) -> Vec<Vec<String>> {
    let reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.into_records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn every_interval_is_a_row_and_every_column_is_explained() {
    let run = fixture::three_endpoints();
    let rows = rows(&csv::render(&View::of(&run)));
    assert_eq!(rows.len(), run.series.len() + 1);
    assert_eq!(rows[0], csv::HEADER);
    let reference = include_str!("../../../../docs/reference/result-csv.md");
    for column in csv::HEADER {
        assert!(reference.contains(&format!("`{column}`")), "{column}");
    }
    let at = |row: usize, column: &str| {
        let position = csv::HEADER.iter().position(|name| *name == column).unwrap();
        rows[row][position].as_str()
    };
    assert_eq!((at(1, "warm_up"), at(3, "warm_up")), ("true", "false"));
    assert_eq!((at(3, "planned"), at(3, "to_s")), ("3000", "3"));
    assert_eq!(at(3, "response_p99_ms"), "", "3,000 requests cannot carry a 99th percentile");
    assert!(at(3, "response_p90_ms").parse::<f64>().unwrap() > 1.0);
}

#[test]
fn a_run_without_intervals_is_a_header() {
    let text = csv::render(&View::of(&fixture::empty()));
    assert_eq!(text, csv::HEADER.join(",") + "\r\n");
}

#[test]
fn a_title_is_never_a_formula() {
    for sign in ["=", "+", "-", "@", "=-", "+@"] {
        let mut run = fixture::all_refused();
        run.head.title = format!("{sign}HYPERLINK(\"http://evil/\",\"x\")\x1b[2J");
        let rows = rows(&csv::render(&View::of(&run)));
        assert_eq!(*rows[1].last().unwrap(), format!("'{sign}HYPERLINK(\"http://evil/\",\"x\")\\x1b[2J"));
    }
}
