//! Locust's four tables, as `locust --csv` writes them.
//!
//! Calculates nothing. Text that a spreadsheet would take for a formula is made safe (see [`crate::clean::cell`]).

use jiff::Timestamp;
use knee_core::unit::Nanos;

use super::{Failure, Locust, Moment, Row, SHARES};
use crate::clean;

/// A file: what its name ends with, and its text.
pub type Table = (&'static str, String);

const STATS: [&str; 11] = [
    "Type",
    "Name",
    "Request Count",
    "Failure Count",
    "Median Response Time",
    "Average Response Time",
    "Min Response Time",
    "Max Response Time",
    "Average Content Size",
    "Requests/s",
    "Failures/s",
];
const HISTORY_BEFORE: [&str; 6] = ["Timestamp", "User Count", "Type", "Name", "Requests/s", "Failures/s"];
const HISTORY_AFTER: [&str; 7] = [
    "Total Request Count",
    "Total Failure Count",
    "Total Median Response Time",
    "Total Average Response Time",
    "Total Min Response Time",
    "Total Max Response Time",
    "Total Average Content Size",
];
const FAILURES: [&str; 6] = ["Method", "Name", "Error", "Occurrences", "First Seen", "Last Seen"];
const EXCEPTIONS: [&str; 4] = ["Count", "Message", "Traceback", "Nodes"];

/// All four. A record keeps no exceptions of scripts, so the last is always without rows.
pub fn render(locust: &Locust) -> [Table; 4] {
    let stats = locust.requests.iter().chain([&locust.total]).map(stats);
    [
        ("_stats.csv", table(&[&STATS, &shares()], stats)),
        (
            "_stats_history.csv",
            table(&[&HISTORY_BEFORE, &shares(), &HISTORY_AFTER], locust.history.iter().map(moment)),
        ),
        ("_failures.csv", table(&[&FAILURES], locust.failures.iter().map(failure))),
        ("_exceptions.csv", table(&[&EXCEPTIONS], std::iter::empty())),
    ]
}

fn shares() -> Vec<&'static str> {
    SHARES.iter().map(|(name, _)| *name).chain(["100%"]).collect()
}

fn table(header: &[&[&str]], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let header = header.concat().into_iter().map(str::to_owned).collect();
    for row in std::iter::once(header).chain(rows) {
        // Writing to memory fails only if rows differ in length, and they do not.
        let _ = writer.write_record(&row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn stats(row: &Row) -> Vec<String> {
    let mut cells = vec![cell(&row.kind), cell(&row.name)];
    cells.extend(totals(row));
    cells.extend([row.per_second.to_string(), row.failures_per_second.to_string()]);
    cells.extend(percentiles(row));
    cells
}

fn moment(moment: &Moment) -> Vec<String> {
    let row = &moment.so_far;
    let mut cells =
        vec![moment.timestamp.to_string(), moment.users.to_string(), cell(&row.kind), cell(&row.name)];
    cells.extend([format!("{:.6}", row.per_second), format!("{:.6}", row.failures_per_second)]);
    cells.extend(percentiles(row));
    cells.extend(totals(row));
    cells
}

/// From the number of requests to the size of answers: the same columns in both tables.
fn totals(row: &Row) -> [String; 7] {
    let times = &row.times;
    // As in Locust, 0 without requests.
    let exact = |nanos: Option<Nanos>| millis(nanos.unwrap_or(Nanos::ZERO).0 as f64);
    [
        row.requests.to_string(),
        row.failures.to_string(),
        times.percentiles[0].nanos().map_or_else(|| "N/A".to_owned(), millis),
        exact(times.mean),
        exact(times.min),
        exact(times.max),
        row.size.to_string(),
    ]
}

/// Whole milliseconds, as Locust has them.
fn percentiles(row: &Row) -> Vec<String> {
    let whole = |nanos: Option<f64>| {
        nanos.map_or_else(|| "N/A".to_owned(), |nanos| (nanos / 1e6).round().to_string())
    };
    let shares = row.times.percentiles.iter().map(|reading| whole(reading.nanos()));
    shares.chain([whole(row.times.max.map(|nanos| nanos.0 as f64))]).collect()
}

fn failure(failure: &Failure) -> Vec<String> {
    let time = |seconds: u64| {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
    };
    let mut cells = vec![cell(&failure.kind), cell(&failure.name), cell(&failure.error)];
    cells.extend([failure.count.to_string(), time(failure.first), time(failure.last)]);
    cells
}

/// Milliseconds down to a microsecond.
fn millis(nanos: f64) -> String {
    ((nanos / 1e3).round() / 1e3).to_string()
}

fn cell(text: &str) -> String {
    clean::cell(text).into_owned()
}
