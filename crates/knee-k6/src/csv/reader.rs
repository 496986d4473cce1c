//! Records of comma-separated values (RFC 4180), with Go's strictness and its messages.
//!
//! Holds the text; each record is copied when it is read. Knows no names of fields.

use std::sync::Arc;

use crate::go_text::text;

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// There is none.
    #[error("EOF")]
    End,
    /// The delimiter is part of the form itself.
    #[error("csv: invalid field or comment delimiter")]
    Delimiter,
    /// Another number of fields than in the first record.
    #[error("record on line {0}: wrong number of fields")]
    Width(u64),
    /// A quote within a field that does not begin with one.
    #[error("{0}: bare \" in non-quoted-field")]
    BareQuote(Place),
    /// Text after the closing quote, or none.
    #[error("{0}: extraneous or missing \" in quoted-field")]
    Quote(Place),
}

/// Where a record is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line with which the record begins.
    first: u64,
    line: u64,
    column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first != self.line {
            write!(f, "record on line {}; ", self.first)?;
        }
        write!(f, "parse error on line {}, column {}", self.line, self.column)
    }
}

/// The records of a text.
#[derive(Debug)]
pub struct Reader {
    bytes: Arc<[u8]>,
    at: usize,
    delimiter: u8,
    /// Lines so far.
    line: u64,
    /// Fields of the first record.
    width: Option<usize>,
}

/// The line that is being read, with its end as one byte.
struct Line {
    bytes: Vec<u8>,
    at: usize,
    /// The line with which the record begins.
    first: u64,
}

impl Line {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// A place in this line.
    fn place(&self, line: u64, column: usize) -> Place {
        Place { first: self.first, line, column }
    }
}

impl Reader {
    /// The records of `bytes` from the byte at `start`.
    pub const fn new(bytes: Arc<[u8]>, start: usize, delimiter: u8) -> Self {
        Self { bytes, at: start, delimiter, line: 0, width: None }
    }

    /// The next record; `None` at the end. Empty lines are none.
    pub fn record(&mut self) -> Result<Option<Vec<String>>, Misread> {
        if matches!(self.delimiter, 0 | b'"' | b'\r' | b'\n') {
            return Err(Misread::Delimiter);
        }
        let bytes = loop {
            match self.next_line() {
                None => return Ok(None),
                Some(line) if matches!(&line[..], b"" | b"\n") => {}
                Some(line) => break line,
            }
        };
        let mut line = Line { bytes, at: 0, first: self.line };
        let mut fields = Vec::new();
        loop {
            let is_quoted = line.rest().first() == Some(&b'"');
            let (field, is_last) = if is_quoted { self.quoted(&mut line)? } else { self.plain(&mut line)? };
            fields.push(text(&field));
            if is_last {
                break;
            }
        }
        let width = *self.width.get_or_insert(fields.len());
        if fields.len() == width { Ok(Some(fields)) } else { Err(Misread::Width(line.first)) }
    }

    /// The next line; `None` at the end, which counts as a line too.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        self.line += 1;
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (mut line, is_ended) = (rest[..end.unwrap_or(rest.len())].to_vec(), end.is_some());
        self.at += line.len() + usize::from(is_ended);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if is_ended {
            line.push(b'\n');
        }
        Some(line)
    }

    /// A field without quotes, and whether it is the last of its record.
    fn plain(&self, line: &mut Line) -> Result<(Vec<u8>, bool), Misread> {
        let rest = line.rest();
        let end = rest.iter().position(|byte| *byte == self.delimiter);
        let field = match end {
            Some(end) => &rest[..end],
            None => rest.strip_suffix(b"\n").unwrap_or(rest),
        };
        if let Some(quote) = field.iter().position(|byte| *byte == b'"') {
            return Err(Misread::BareQuote(line.place(self.line, line.at + quote + 1)));
        }
        let field = field.to_vec();
        line.at += end.map_or(0, |end| end + 1);
        Ok((field, end.is_none()))
    }

    /// A field in quotes, which can take more lines.
    fn quoted(&mut self, line: &mut Line) -> Result<(Vec<u8>, bool), Misread> {
        let mut field = Vec::new();
        line.at += 1;
        loop {
            let rest = line.rest();
            let Some(quote) = rest.iter().position(|byte| *byte == b'"') else {
                field.extend_from_slice(rest);
                let column = line.bytes.len() + 1;
                let Some(next) = self.next_line() else {
                    return Err(Misread::Quote(line.place(self.line - 1, column)));
                };
                (line.bytes, line.at) = (next, 0);
                continue;
            };
            field.extend_from_slice(&rest[..quote]);
            line.at += quote + 1;
            match line.rest().first() {
                Some(b'"') => {
                    field.push(b'"');
                    line.at += 1;
                }
                Some(byte) if *byte == self.delimiter => {
                    line.at += 1;
                    return Ok((field, false));
                }
                None | Some(b'\n') => return Ok((field, true)),
                Some(_) => return Err(Misread::Quote(line.place(self.line, line.at))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<Vec<Vec<String>>, Misread> {
        let mut reader = Reader::new(text.as_bytes().into(), 0, b',');
        let mut all = Vec::new();
        while let Some(record) = reader.record()? {
            all.push(record);
        }
        Ok(all)
    }

    #[test]
    fn quotes_ends_of_lines_and_empty_lines_are_read_as_go_reads_them() {
        for (text, records) in [
            ("a,b\n1,2", &[&["a", "b"][..], &["1", "2"]][..]),
            ("a,b\r\n\r\n\n1,\"x\"\"y,\r\nz\"\r\n", &[&["a", "b"], &["1", "x\"y,\nz"]]),
            (",\n\"\",", &[&["", ""], &["", ""]]),
            (" a ,b\r", &[&[" a ", "b"]]),
            ("\r", &[]),
            ("a\rb", &[&["a\rb"]]),
        ] {
            assert_eq!(all(text).unwrap(), records, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_csv_is_reported_with_its_place() {
        for (text, words) in [
            ("a,b\n1\n", "record on line 2: wrong number of fields"),
            ("a\n\nx\"y\n", "parse error on line 3, column 2: bare \" in non-quoted-field"),
            ("a,\"b\" c\n", "parse error on line 1, column 5: extraneous or missing \" in quoted-field"),
            (
                "a\n\"b\n\nc",
                "record on line 2; parse error on line 4, column 2: extraneous or missing \" in quoted-field",
            ),
            ("\"", "parse error on line 1, column 2: extraneous or missing \" in quoted-field"),
        ] {
            assert_eq!(all(text).unwrap_err().to_string(), words, "{text:?}");
        }
        let mut reader = Reader::new(b"a".as_slice().into(), 0, b'"');
        assert_eq!(reader.record(), Err(Misread::Delimiter));
    }

    proptest! {
        #[test]
        fn fields_come_back_as_they_were_written(
            records in prop::collection::vec(prop::collection::vec("[a,\" \n]{1,6}", 3), 1..6)
        ) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |record: &Vec<String>| record.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = records.iter().map(line).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(all(&text), Ok(records));
        }
    }
}
