//! Indented JSON in which every character that acts on a terminal is escaped.
//!
//! Escapes while it writes: the document of a long run is too large to be copied. JSON allows such characters only
//! within strings, so the document stays the same.

use std::io::{self, Write};

use serde_json::ser::{Formatter, PrettyFormatter};

use crate::clean::is_hostile;

/// Writes JSON, or a part of it, with its hostile characters escaped. They can only be in strings.
pub(super) fn escape<W: ?Sized + Write>(writer: &mut W, json: &str) -> io::Result<()> {
    let mut rest = json;
    while let Some((at, hostile)) = rest.char_indices().find(|(_, c)| is_hostile(*c)) {
        writer.write_all(&rest.as_bytes()[..at])?;
        for unit in hostile.encode_utf16(&mut [0; 2]) {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = &rest[at + hostile.len_utf8()..];
    }
    writer.write_all(rest.as_bytes())
}

/// Writes like [`PrettyFormatter`], except for hostile characters.
#[derive(Default)]
pub(super) struct Harmless {
    pretty: PrettyFormatter<'static>,
}

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        escape(writer, fragment)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use crate::clean::is_hostile;
    use crate::json::pretty;

    #[test]
    fn json_keeps_its_meaning_and_loses_its_bite() {
        let value = serde_json::json!({
            "a\u{9b}": ["\u{202e}\u{7f}\u{e0041}b\n\u{1b}", "größer ≥ 日本", "", {}], "b": [], "c": {"d": -0.5, "e": null},
        });
        let text = pretty(&value);
        assert!(!text.chars().any(|c| c != '\n' && is_hostile(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let plain = serde_json::json!({ "a": [1, { "b": "ü" }, []], "c": {} });
        assert_eq!(pretty(&plain), serde_json::to_string_pretty(&plain).unwrap() + "\n");
    }
}
