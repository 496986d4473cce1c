//! Finds out by its content which tool wrote an output, and lets the reader of that format read it.
//!
//! Names of files do not matter. Outputs of single requests are streamed; all others must fit into memory.

mod ab;
mod block;
mod gob;
mod k6_samples;
mod k6_summary;
mod k6_text;
mod line;
mod locust;
mod markdown;
mod oha_json;
mod samples;
mod statement;
mod summary_text;
mod table;
mod vegeta;
mod vegeta_binary;
mod wrk;

use std::io::{BufRead, BufReader, Read};

use crate::measurement::{Document, Load, Measurement};
use crate::number::Figure;
use crate::problem::{BYTES_MAX, ReadError};

/// Facts about the load that the output does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Number of connections of a closed load.
    pub connections: Option<u64>,
}

/// Reads one output.
///
/// # Errors
///
/// If no reader knows the format, or the input cannot be read.
pub fn read(input: impl Read, known: &Known) -> Result<Document, ReadError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let start = input.fill_buf()?;
    if start.starts_with(&[0x1f, 0x8b]) || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err(ReadError::Compressed);
    }
    let is_binary = vegeta_binary::is_result(start);
    let head = start.trim_ascii_start();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default().to_owned();
    let mut document = if k6_samples::is_json_line(&first) {
        k6_samples::read_json(input)?
    } else if first.starts_with(k6_samples::CSV_HEADER) {
        k6_samples::read_csv(input)?
    } else if vegeta::is_result(&first) {
        vegeta::read_results(input)?
    } else if is_binary {
        vegeta_binary::read(input)?
    } else if first.starts_with(samples::HEY_HEADER) {
        samples::read_hey(input)?
    } else {
        whole(input)?
    };
    complete(&mut document, known);
    document.measurements.retain(|one| !one.is_empty());
    if document.measurements.is_empty() && document.statements.is_empty() {
        return Err(ReadError::Empty);
    }
    Ok(document)
}

/// Reads an output that is kept in memory.
fn whole(input: impl Read) -> Result<Document, ReadError> {
    let mut bytes = Vec::new();
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(ReadError::TooLarge);
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return Err(ReadError::UnknownFormat) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        return json(text);
    }
    if let Some(document) = locust::read(text)? {
        return Ok(document);
    }
    let plain = without_colors(text);
    if markdown::is_markdown(&plain) {
        return Ok(markdown::read(&plain));
    }
    let mut document = Document { format: "text".to_owned(), ..Document::default() };
    block::read(&plain, 0, &mut document);
    if document.measurements.is_empty() {
        return Err(ReadError::UnknownFormat);
    }
    document.measurements[0].tool.name().clone_into(&mut document.format);
    Ok(document)
}

/// Reads a JSON document.
fn json(text: &str) -> Result<Document, ReadError> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| ReadError::Damaged { line: error.line(), what: error.to_string() })?;
    oha_json::read(&value)
        .or_else(|| vegeta::read_report(&value))
        .or_else(|| k6_summary::read(&value))
        .ok_or(ReadError::UnknownFormat)
}

/// The text without the sequences that colour a terminal.
fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

/// Adds the facts that the user gave.
fn complete(document: &mut Document, known: &Known) {
    let Some(connections) = known.connections else { return };
    let needs = |one: &Measurement| one.connections.is_none() && one.load != Load::Open && !one.is_total;
    for one in document.measurements.iter_mut().filter(|one| needs(one)) {
        one.connections = Some(Figure::count(connections));
        one.load = Load::Closed;
    }
}
