//! Rows of files of comma-separated values, as `k6/experimental/csv` yields them.
//!
//! Knows no JavaScript and reads no files. [`reader`] splits a text into records; this module applies k6's options.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

pub mod reader;

use reader::{Misread, Reader};

/// The options of k6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is between two fields.
    pub delimiter: u8,
    /// `skipFirstLine`.
    pub skips_first: bool,
    /// `fromLine`, from 0.
    pub from: Option<i64>,
    /// `toLine`, which is part of the result.
    pub to: Option<i64>,
    /// `asObjects`: the first record has the names of the fields.
    pub as_objects: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { delimiter: b',', skips_first: false, from: None, to: None, as_objects: false }
    }
}

/// Why there are no rows, or no more; in k6's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CsvError {
    /// Names of fields are in the first line, which is left out.
    #[error("the 'header' option cannot be enabled when 'skipFirstLine' is true")]
    HeaderSkipped,
    /// The same, by `fromLine`.
    #[error("the 'header' option cannot be enabled when 'fromLine' is set to a value greater than 0")]
    HeaderBefore,
    /// A line before the first.
    #[error("the '{0}' option must be greater than or equal to 0; got {1}")]
    Negative(&'static str, i64),
    /// No lines at all.
    #[error(
        "the 'fromLine' option must be less than the 'toLine' option; got 'fromLine': {0}, 'toLine': {1}"
    )]
    Order(i64, i64),
    /// There are no names of fields.
    #[error("failed to read the first line; reason: {0}")]
    Header(Misread),
    /// There is no first line.
    #[error("failed to skip the first line; reason: {0}")]
    First(Misread),
    /// There are fewer lines.
    #[error("failed to skip lines until line {0}; reason: {1}")]
    Skip(i64, Misread),
    /// Another number of fields than names.
    #[error("record length ({0}) doesn't match header length ({1})")]
    Width(usize, usize),
    /// A record that is no CSV.
    #[error(transparent)]
    Misread(#[from] Misread),
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// Its fields.
    Fields(Vec<String>),
    /// Its fields by their names.
    Object(BTreeMap<String, String>),
}

/// The rows of a text that are still to come.
#[derive(Debug)]
pub struct Rows {
    reader: Reader,
    options: Options,
    /// Records so far.
    line: i64,
    names: Option<Vec<String>>,
}

impl Rows {
    /// The rows of `text` from the byte at `start`.
    pub fn begin(text: Arc<[u8]>, start: usize, options: Options) -> Result<Self, CsvError> {
        check(&options)?;
        let reader = Reader::new(text, start, options.delimiter);
        let mut rows = Self { reader, options, line: 0, names: None };
        let from = rows.options.from.unwrap_or(0);
        if rows.options.as_objects {
            rows.names = Some(rows.skip().map_err(CsvError::Header)?);
        }
        if rows.options.skips_first && from == 0 {
            rows.skip().map_err(CsvError::First)?;
        }
        while rows.line < from {
            rows.skip().map_err(|why| CsvError::Skip(from, why))?;
        }
        Ok(rows)
    }

    /// A record that is no row of the result.
    fn skip(&mut self) -> Result<Vec<String>, Misread> {
        let record = self.reader.record()?.ok_or(Misread::End)?;
        self.line += 1;
        Ok(record)
    }

    /// The next row; `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<Row>, CsvError> {
        if self.options.to.is_some_and(|to| to > 0 && self.line > to) {
            return Ok(None);
        }
        let Some(record) = self.reader.record()? else { return Ok(None) };
        self.line += 1;
        let Some(names) = &self.names else { return Ok(Some(Row::Fields(record))) };
        if record.len() != names.len() {
            return Err(CsvError::Width(record.len(), names.len()));
        }
        Ok(Some(Row::Object(names.iter().cloned().zip(record).collect())))
    }
}

fn check(options: &Options) -> Result<(), CsvError> {
    if options.as_objects && options.skips_first {
        return Err(CsvError::HeaderSkipped);
    }
    if options.as_objects && options.from.is_some_and(|from| from > 0) {
        return Err(CsvError::HeaderBefore);
    }
    for (name, line) in [("fromLine", options.from), ("toLine", options.to)] {
        if let Some(line) = line.filter(|line| *line < 0) {
            return Err(CsvError::Negative(name, line));
        }
    }
    match (options.from, options.to) {
        (Some(from), Some(to)) if from >= to => Err(CsvError::Order(from, to)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name,age\nann,1\nbob,2\ncy,3\n";

    fn all(text: &str, options: Options) -> Result<Vec<String>, CsvError> {
        let mut rows = Rows::begin(text.as_bytes().into(), 0, options)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next_row()? {
            all.push(serde_json::to_string(&row).unwrap());
        }
        Ok(all)
    }

    #[test]
    fn lines_count_from_zero_and_the_last_one_is_included() {
        let rows = |skips_first, from, to| {
            all(TEXT, Options { skips_first, from, to, ..Options::default() }).unwrap().len()
        };
        assert_eq!((rows(false, None, None), rows(true, None, None), rows(true, Some(2), None)), (4, 3, 2));
        assert_eq!(
            (rows(false, None, Some(0)), rows(false, None, Some(1)), rows(false, Some(1), Some(2))),
            (4, 2, 2)
        );
    }

    #[test]
    fn rows_are_objects_by_the_names_in_the_first_line() {
        let options = Options { as_objects: true, ..Options::default() };
        let rows = all(TEXT, options.clone()).unwrap();
        assert_eq!((rows.len(), rows[0].as_str()), (3, r#"{"age":"1","name":"ann"}"#));
        let words = all("", options).unwrap_err().to_string();
        assert_eq!(words, "failed to read the first line; reason: EOF");
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let words = |options| all(TEXT, options).unwrap_err().to_string();
        let header = Options { as_objects: true, ..Options::default() };
        assert!(words(Options { skips_first: true, ..header.clone() }).contains("'skipFirstLine' is true"));
        assert!(words(Options { from: Some(1), ..header }).contains("'fromLine' is set"));
        let lines = |from, to| words(Options { from, to, ..Options::default() });
        assert!(lines(Some(-1), None).ends_with("got -1"));
        assert!(lines(Some(2), Some(2)).ends_with("got 'fromLine': 2, 'toLine': 2"));
        assert_eq!(lines(Some(9), None), "failed to skip lines until line 9; reason: EOF");
    }
}
