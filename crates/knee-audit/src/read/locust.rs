//! Locust's files: statistics and history as CSV, and the report as HTML.
//!
//! The HTML holds its figures as JSON; only reports that do are read.

use serde_json::Value;

use crate::measurement::{Document, Measurement};
use crate::number::Figure;

use super::ReadError;
use super::table::{Row, measurements};

/// What comes before the figures of a report.
const HTML_DATA: &str = "window.templateArgs = ";

/// Most rows of a file that are checked.
const ROWS_MAX: usize = 100_000;

/// Reads one of Locust's files; `None` if it is none.
///
/// # Errors
///
/// If it is damaged.
pub fn read(text: &str) -> Result<Option<Document>, ReadError> {
    if let Some(at) = text.find(HTML_DATA) {
        return html(&text[at + HTML_DATA.len()..]).map(Some);
    }
    let first = text.lines().next().unwrap_or_default().replace('"', "");
    if first.starts_with("Type,Name,Request Count,") {
        return Ok(Some(document("Locust statistics", measurements_of(text, None)?)));
    }
    if first.starts_with("Timestamp,User Count,Type,Name,") {
        return Ok(Some(document("Locust history", history(text)?)));
    }
    Ok(None)
}

fn document(format: &str, measurements: Vec<Measurement>) -> Document {
    Document { format: format.to_owned(), measurements, ..Document::default() }
}

/// Titles and rows of a CSV.
fn rows(text: &str) -> Result<(Vec<String>, Vec<Row>), ReadError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let damaged = |error: csv::Error| ReadError::Damaged {
        line: error.position().map_or(1, |position| position.line() as usize),
        what: error.to_string(),
    };
    let titles = reader.headers().map_err(damaged)?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records().take(ROWS_MAX) {
        let record = record.map_err(damaged)?;
        let line = record.position().map_or(1, |position| position.line() as usize);
        rows.push((line, record.iter().map(str::to_owned).collect()));
    }
    Ok((titles, rows))
}

fn measurements_of(text: &str, table: Option<usize>) -> Result<Vec<Measurement>, ReadError> {
    let (titles, rows) = rows(text)?;
    Ok(measurements(&titles, &rows, table.unwrap_or(0)))
}

/// Of the history, the last row of all requests has the totals so far.
fn history(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let (titles, rows) = rows(text)?;
    let at = |title: &str| titles.iter().position(|known| known == title);
    let is_total =
        |row: &&Row| at("Name").and_then(|at| row.1.get(at)).is_some_and(|name| name == "Aggregated");
    let Some(last) = rows.iter().rfind(is_total) else { return Ok(Vec::new()) };
    // The totals have names of their own; below the names of the statistics they are read like those.
    let renamed: Vec<String> = titles
        .iter()
        .map(|title| match title.as_str() {
            "Total Request Count" => "Request Count".to_owned(),
            "Total Failure Count" => "Failure Count".to_owned(),
            "Total Average Response Time" => "Average Response Time".to_owned(),
            "Total Min Response Time" => "Min Response Time".to_owned(),
            "Total Max Response Time" => "Max Response Time".to_owned(),
            // These are of the last ten seconds.
            _ => format!("of the interval: {title}"),
        })
        .collect();
    let mut found = measurements(&renamed, std::slice::from_ref(last), 0);
    for one in &mut found {
        one.percentiles.clear();
        one.rate = None;
        one.is_total = false;
        "all requests".clone_into(&mut one.label);
    }
    let users = rows.iter().filter_map(|row| row.1.get(at("User Count")?)?.parse::<u64>().ok()).max();
    if let (Some(users), Some(one)) = (users.filter(|users| *users > 0), found.first_mut()) {
        one.connections = Some(Figure::count(users));
    }
    Ok(found)
}

fn html(text: &str) -> Result<Document, ReadError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value =
        values.next().transpose().map_err(|error| ReadError::Damaged { line: 1, what: error.to_string() })?;
    let list = value.as_ref().and_then(|value| value.get("requests_statistics")).and_then(Value::as_array);
    let Some(list) = list else { return Err(ReadError::UnknownFormat) };
    const KEYS: [(&str, &str); 9] = [
        ("method", "Type"),
        ("name", "Name"),
        ("num_requests", "Request Count"),
        ("num_failures", "Failure Count"),
        ("median_response_time", "Median Response Time"),
        ("avg_response_time", "Average Response Time"),
        ("min_response_time", "Min Response Time"),
        ("max_response_time", "Max Response Time"),
        ("avg_content_length", "Average Content Size"),
    ];
    let titles: Vec<String> = KEYS.iter().map(|(_, title)| (*title).to_owned()).collect();
    let cell = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let rows: Vec<Row> =
        list.iter().map(|one| (1, KEYS.iter().map(|(key, _)| cell(one.get(*key))).collect())).collect();
    Ok(document("Locust report", measurements(&titles, &rows, 0)))
}
