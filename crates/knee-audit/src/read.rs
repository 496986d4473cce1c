//! Finds out by its content which tool wrote an output, and lets the reader of that format read it.
//!
//! Names of files do not matter. Outputs of single requests are streamed; all others must fit into memory.

mod ab;
mod block;
mod k6_samples;
mod k6_summary;
mod k6_text;
mod locust;
mod markdown;
mod oha_json;
mod samples;
mod statement;
mod summary_text;
mod table;
mod vegeta;
mod wrk;

use std::io::{BufRead, BufReader, Read};

use crate::measurement::{Document, Load, Measurement};
use crate::number::Figure;

/// Largest output that is read as a whole, in bytes.
pub const BYTES_MAX: u64 = 64 << 20;

/// What every hint about an unknown format names.
pub const FORMATS: &str = "k6 (summary JSON, JSON lines, CSV, end-of-test text), oha (text, JSON), hey (text, CSV), \
     wrk and wrk2 (text), ab (text), vegeta (JSON report, JSON results), Locust (stats CSV, history CSV, HTML), and \
     Markdown with tables or outputs of these";

/// Facts about the load that the output does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Number of connections of a closed load.
    pub connections: Option<u64>,
}

/// Why an output cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No reader knows it.
    #[error("the format is not known")]
    UnknownFormat,
    /// It is compressed.
    #[error("the file is compressed")]
    Compressed,
    /// vegeta's binary results.
    #[error("the file has binary results of vegeta")]
    Binary,
    /// The format is known, but the content is damaged.
    #[error("line {line}: {what}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It is too large to be read as a whole.
    #[error("the file has more than {} MiB, and its format is not one that is read in pieces", BYTES_MAX >> 20)]
    TooLarge,
    /// It has no figures.
    #[error("the file has no figures to check")]
    Empty,
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ReadError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownFormat | Self::Empty => format!("formats: {FORMATS}"),
            Self::Compressed => "unpack it first, as in `gunzip FILE`".to_owned(),
            Self::Binary => "convert it first: `vegeta encode FILE > results.json`".to_owned(),
            Self::Damaged { .. } => "give the output as the tool wrote it".to_owned(),
            Self::TooLarge => "give the tool's summary instead".to_owned(),
            Self::Io(_) => "check the file and its permissions".to_owned(),
        }
    }
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
    let head = start.trim_ascii_start();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default().to_owned();
    let mut document = if k6_samples::is_json_line(&first) {
        k6_samples::read_json(input)?
    } else if first.starts_with(k6_samples::CSV_HEADER) {
        k6_samples::read_csv(input)?
    } else if vegeta::is_result(&first) {
        vegeta::read_results(input)?
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
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let has = |word: &[u8]| bytes.windows(word.len()).take(4096).any(|window| window == word);
        return Err(if has(b"Attack") && has(b"Latency") {
            ReadError::Binary
        } else {
            ReadError::UnknownFormat
        });
    };
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
    document.format = document.measurements[0].tool.name().to_owned();
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
