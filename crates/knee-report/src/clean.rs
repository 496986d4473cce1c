//! Makes foreign text harmless before it is shown: text from a server, a URL or a script.
//!
//! Control characters are written out by [`knee_core::clean`]; what a spreadsheet would calculate is marked here as
//! text. Does not shorten (see [`crate::text`]) and does not change this project's own text.

use std::borrow::Cow;

pub use knee_core::clean::{is_hostile, line, lines};

/// A cell of a table that a spreadsheet will not take for a formula: text that begins with one
/// of its signs gets an apostrophe before it. Hostile characters are written out first.
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = line(text);
    if text.starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']) {
        return Cow::Owned(format!("'{text}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_text() {
        assert_eq!(cell("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
        for sign in ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'] {
            assert_eq!(cell(&format!("{sign}SUM(1)")), format!("'{sign}SUM(1)"));
        }
        assert_eq!(cell("\t=1"), "\\t=1");
        assert_eq!(cell("http://x/?a=1"), "http://x/?a=1");
    }
}
