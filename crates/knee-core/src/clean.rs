//! Makes foreign text harmless before it is shown: text from a server, a URL or a script.
//!
//! A server under test decides what its error messages and redirects contain, and a script what its checks are called.
//! Printed unchanged, they could move the cursor, set a window's title or turn the reading direction. Does not shorten
//! and does not change this project's own text.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character acts on a terminal or on the order of other characters instead of being
/// seen: C0 and C1 controls, DEL, line and paragraph separators, bidirectional controls,
/// zero-width characters, and characters of the tag and interlinear blocks.
pub const fn is_hostile(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with every hostile character written out: `\n`, `\r`, `\t`, `\x1b`, `\u{202e}`.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => clean.push_str("\\n"),
            '\r' => clean.push_str("\\r"),
            '\t' => clean.push_str("\\t"),
            c if !is_hostile(c) => clean.push(c),
            // Writing into a String cannot fail.
            c if (c as u32) < 0x80 => write!(clean, "\\x{:02x}", c as u32).unwrap_or_default(),
            c => write!(clean, "\\u{{{:x}}}", c as u32).unwrap_or_default(),
        }
    }
    Cow::Owned(clean)
}

/// Text of several lines, each as [`line()`] writes it. Line feeds stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && is_hostile(c)) {
        return Cow::Borrowed(text);
    }
    let clean: Vec<Cow<'_, str>> = text.split('\n').map(line).collect();
    Cow::Owned(clean.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_sequence_is_shown_instead_of_obeyed() {
        assert_eq!(line("\x1b]0;owned\x07 \u{9b}2J\r\n"), "\\x1b]0;owned\\x07 \\u{9b}2J\\r\\n");
        assert_eq!(line("abc\u{202e}gpj.exe"), "abc\\u{202e}gpj.exe");
        assert_eq!(line("größer ≥ 日本"), "größer ≥ 日本");
    }
}
