//! Text in quotes as Go writes it (`%q`), which is how k6 shows text in its messages.
//!
//! Only writes; nothing here reads quoted text.

use std::fmt::Write as _;

/// `text` in double quotes, with Go's escapes.
pub fn quoted(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for chunk in text.utf8_chunks() {
        push_text(&mut out, chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// Copies runs of plain ASCII as they are: a refused URL can have a megabyte of them.
fn push_text(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(|c| !is_plain(c)) {
        let (plain, from_there) = rest.split_at(at);
        out.push_str(plain);
        let mut letters = from_there.chars();
        letters.by_ref().take(1).for_each(|c| push(out, c));
        rest = letters.as_str();
    }
    out.push_str(rest);
}

/// Whether Go writes this letter as it is, without a table.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '"' | '\\')
}

fn push(out: &mut String, c: char) {
    let named = match c {
        '"' | '\\' => c,
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        c if is_printable(c) => return out.push(c),
        c => return push_number(out, u32::from(c)),
    };
    out.extend(['\\', named]);
}

fn is_printable(c: char) -> bool {
    // Rust escapes a combining character at the start of a text alone, hence the letter before it.
    c == '\'' || ['a', c].iter().collect::<String>().escape_debug().count() == 2
}

fn push_number(out: &mut String, number: u32) {
    // Writing to a string cannot fail.
    let _ = match number {
        0..=0x7f => write!(out, "\\x{number:02x}"),
        0x80..=0xffff => write!(out, "\\u{number:04x}"),
        _ => write!(out, "\\U{number:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        // What `strconv.Quote` of Go 1.26 returns.
        for (text, shown) in [
            (&b"a'b\"c\\d"[..], r#""a'b\"c\\d""#),
            (b"\x07\x08\x0c\n\r\t\x0b\x00\x1b\x7f", r#""\a\b\f\n\r\t\v\x00\x1b\x7f""#),
            ("\u{fc}\u{4e16}\u{1f600}".as_bytes(), "\"\u{fc}\u{4e16}\u{1f600}\""),
            ("\u{a0}\u{85}\u{200b}\u{e000}\u{f0000}".as_bytes(), r#""\u00a0\u0085\u200b\ue000\U000f0000""#),
            (b"a\xffb", r#""a\xffb""#),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }
}
