//! Checks whether a text is JSON, and reports its syntax error in k6's words.
//!
//! Builds no values. Needs no stack, however deep the text is nested.

use std::fmt::Write as _;

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse json due to an error at line {line}, character {character} , error: {words}")]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1; 0 in an empty text.
    pub character: usize,
    /// The error.
    pub words: String,
}

/// Whether `text` is one JSON value.
pub fn is_valid(text: &str) -> bool {
    scan(text.as_bytes()).is_ok()
}

/// The syntax error of `text`, if any.
pub fn fault(text: &str) -> Option<Fault> {
    let (at, words) = scan(text.as_bytes()).err()?;
    let (mut line, mut character) = (1, 0);
    for (place, letter) in text.char_indices() {
        if letter == '\n' {
            line += 1;
            character = 0;
        } else {
            character += 1;
        }
        if place >= at {
            character = character.max(1);
            break;
        }
    }
    Some(Fault { line, character, words })
}

/// Byte offset and reason of the error.
type Wrong = (usize, String);

/// Tokens allowed next.
#[derive(Clone, Copy)]
enum Next {
    Value,
    /// A value, or the end of an array that has none yet.
    ValueOrEnd,
    Key,
    /// A key, or the end of an object that has none yet.
    KeyOrEnd,
    Colon,
    /// What can come after a value.
    After,
}

/// Reads the text once; `open` holds the brackets that are open.
fn scan(text: &[u8]) -> Result<(), Wrong> {
    let mut open: Vec<u8> = Vec::new();
    let mut next = Next::Value;
    let mut at = 0;
    loop {
        while matches!(text.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            at += 1;
        }
        let Some(&letter) = text.get(at) else {
            let whole = open.is_empty() && matches!(next, Next::After);
            let words = "unexpected end of JSON input".to_owned();
            return if whole { Ok(()) } else { Err((at.saturating_sub(1), words)) };
        };
        let wrong = |context: &str| Err(unexpected(at, letter, context));
        (next, at) = match (next, letter) {
            (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => {
                open.pop();
                (Next::After, at + 1)
            }
            (Next::Value | Next::ValueOrEnd, b'{' | b'[') => {
                open.push(letter);
                (if letter == b'{' { Next::KeyOrEnd } else { Next::ValueOrEnd }, at + 1)
            }
            (Next::Value | Next::ValueOrEnd, _) => (Next::After, scalar(text, at)?),
            (Next::Key | Next::KeyOrEnd, b'"') => (Next::Colon, string(text, at)?),
            (Next::Key | Next::KeyOrEnd, _) => return wrong("looking for beginning of object key string"),
            (Next::Colon, b':') => (Next::Value, at + 1),
            (Next::Colon, _) => return wrong("after object key"),
            (Next::After, _) => match (open.last(), letter) {
                (Some(b'{'), b',') => (Next::Key, at + 1),
                (Some(b'['), b',') => (Next::Value, at + 1),
                (Some(b'{'), b'}') | (Some(b'['), b']') => {
                    open.pop();
                    (Next::After, at + 1)
                }
                (Some(b'{'), _) => return wrong("after object key:value pair"),
                (Some(_), _) => return wrong("after array element"),
                (None, _) => return wrong("after top-level value"),
            },
        };
    }
}

/// The end of the string, number or word that begins at `at`.
fn scalar(text: &[u8], at: usize) -> Result<usize, Wrong> {
    match text[at] {
        b'"' => string(text, at),
        b'-' | b'0'..=b'9' => number(text, at),
        b't' => word(text, at, "true"),
        b'f' => word(text, at, "false"),
        b'n' => word(text, at, "null"),
        letter => Err(unexpected(at, letter, "looking for beginning of value")),
    }
}

fn word(text: &[u8], at: usize, word: &str) -> Result<usize, Wrong> {
    for (step, wanted) in word.bytes().enumerate() {
        if text.get(at + step) != Some(&wanted) {
            let context = format!("in literal {word} (expecting '{}')", char::from(wanted));
            return Err(missing(text, at + step, &context));
        }
    }
    Ok(at + word.len())
}

fn string(text: &[u8], from: usize) -> Result<usize, Wrong> {
    let mut at = from + 1;
    loop {
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(text, at + 1)?,
            Some(&letter) if letter < b' ' => return Err(unexpected(at, letter, "in string literal")),
            Some(_) => at += 1,
            None => return Err((text.len() - 1, "unexpected end of JSON input".to_owned())),
        }
    }
}

/// The end of the escape whose letter is at `at`.
fn escape(text: &[u8], at: usize) -> Result<usize, Wrong> {
    match text.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            let wrong = (at + 1..at + 5).find(|place| !text.get(*place).is_some_and(u8::is_ascii_hexdigit));
            wrong.map_or(Ok(at + 5), |place| Err(missing(text, place, "in \\u hexadecimal character escape")))
        }
        _ => Err(missing(text, at, "in string escape code")),
    }
}

fn number(text: &[u8], from: usize) -> Result<usize, Wrong> {
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let some = |at: usize, context: &str| {
        let end = digits(at);
        if end > at { Ok(end) } else { Err(missing(text, at, context)) }
    };
    let mut at = from + usize::from(text[from] == b'-');
    at = if text.get(at) == Some(&b'0') { at + 1 } else { some(at, "in numeric literal")? };
    if text.get(at) == Some(&b'.') {
        at = some(at + 1, "after decimal point in numeric literal")?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = some(at, "in exponent of numeric literal")?;
    }
    Ok(at)
}

/// The character at `at` is not allowed; past the end, k6 reports a space.
fn missing(text: &[u8], at: usize, context: &str) -> Wrong {
    match text.get(at) {
        Some(letter) => unexpected(at, *letter, context),
        None => unexpected(text.len() - 1, b' ', context),
    }
}

fn unexpected(at: usize, letter: u8, context: &str) -> Wrong {
    let mut shown = String::new();
    // Writing to a string cannot fail.
    let _ = match letter {
        b'\'' => write!(shown, "\\'"),
        b'\\' => write!(shown, "\\\\"),
        b'\n' => write!(shown, "\\n"),
        b'\r' => write!(shown, "\\r"),
        b'\t' => write!(shown, "\\t"),
        0x07 => write!(shown, "\\a"),
        0x08 => write!(shown, "\\b"),
        0x0b => write!(shown, "\\v"),
        0x0c => write!(shown, "\\f"),
        0..0x20 | 0x7f => write!(shown, "\\x{letter:02x}"),
        0x80..=0xa0 | 0xad => write!(shown, "\\u00{letter:02x}"),
        _ => write!(shown, "{}", char::from(letter)),
    };
    (at, format!("invalid character '{shown}' {context}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn faults_are_reported_in_k6s_words() {
        // Recorded from k6 1.8.1.
        for (text, line, character, words) in [
            ("{bad", 1, 2, "invalid character 'b' looking for beginning of object key string"),
            ("", 1, 0, "unexpected end of JSON input"),
            ("{\n\"a\":[1,2,}\n", 2, 10, "invalid character '}' looking for beginning of value"),
            ("{\"a\":1} x", 1, 9, "invalid character 'x' after top-level value"),
            ("nul", 1, 3, "invalid character ' ' in literal null (expecting 'l')"),
            ("{\"a\":\n1x}", 2, 2, "invalid character 'x' after object key:value pair"),
            ("\"\\x\"", 1, 3, "invalid character 'x' in string escape code"),
            ("\u{feff}{}", 1, 1, "invalid character 'ï' looking for beginning of value"),
            ("{\"a\":\"\n\"}", 2, 1, "invalid character '\\n' in string literal"),
            ("[01]", 1, 3, "invalid character '1' after array element"),
        ] {
            assert_eq!(fault(text), Some(Fault { line, character, words: words.to_owned() }), "{text:?}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        assert!(is_valid(&deep));
        assert!(!is_valid(&deep[1..]));
    }

    proptest! {
        #[test]
        fn a_text_is_valid_if_and_only_if_serde_reads_it(text in r#"[\[\]{}:,"\\ 0-9a-fnrtu.eE+\-]{0,16}"#) {
            let known = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(is_valid(&text), known, "{}", text);
        }

        #[test]
        fn any_text_is_judged(text: String) {
            if let Some(fault) = fault(&text) {
                prop_assert!(fault.line <= text.lines().count() + 1);
            }
        }
    }
}
