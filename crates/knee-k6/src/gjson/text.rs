//! Values within a JSON text, found without building any.
//!
//! The text can be anything: a text that is not JSON gives wrong values, but never a panic. Needs no stack,
//! however deep the text is nested.

use std::borrow::Cow;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `false`
    False,
    /// `true`
    True,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// What the value at the start of `text` is; `None` if there is none.
pub fn kind(text: &str) -> Option<Kind> {
    let bytes = trim(text).as_bytes();
    Some(match bytes.first()? {
        b'{' => Kind::Object,
        b'[' => Kind::Array,
        b'"' => Kind::String,
        b't' => Kind::True,
        b'f' => Kind::False,
        // A number that is none has its place in literals: `nan`.
        b'n' if bytes.get(1).is_none_or(|next| *next == b'u') => Kind::Null,
        b'n' | b'N' | b'i' | b'I' | b'+' | b'-' | b'0'..=b'9' => Kind::Number,
        _ => return None,
    })
}

/// The text without spaces around it.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter <= ' ')
}

/// The value at the start of `text`, whatever follows it; `None` if there is none. A word counts by its
/// first letter.
pub fn first(text: &str) -> Option<&str> {
    let text = trim(text);
    match kind(text)? {
        // The rest of the text counts as part of it.
        Kind::Array | Kind::Object => Some(text),
        Kind::Null => Some("null"),
        Kind::True => Some("true"),
        Kind::False => Some("false"),
        Kind::Number | Kind::String => Some(&text[..value_end(text.as_bytes(), 0)]),
    }
}

/// Where the value that begins at `from` ends. Brackets of all kinds count, also round ones.
pub fn value_end(text: &[u8], from: usize) -> usize {
    match text.get(from) {
        Some(b'"') => string_end(text, from),
        Some(b'{' | b'[' | b'(') => bracket_end(text, from),
        Some(_) => {
            let ends = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | 0..=b' ');
            let length = text[from + 1..].iter().position(ends);
            length.map_or(text.len(), |length| from + 1 + length)
        }
        None => text.len(),
    }
}

fn string_end(text: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn bracket_end(text: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The values of an array, or keys and values of an object one after the other.
pub struct Parts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b',' | b':' | 0..=b' ')) {
            self.at += 1;
        }
        if matches!(bytes.get(self.at)?, b']' | b'}') {
            return None;
        }
        let from = self.at;
        self.at = value_end(bytes, from);
        Some(&self.text[from..self.at])
    }
}

/// The values of an array; of anything else, whatever that gives.
pub fn elements(array: &str) -> Parts<'_> {
    let text = trim(array);
    Parts { text, at: text.chars().next().map_or(0, char::len_utf8) }
}

/// Keys, as they are written, and values of an object.
pub fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = elements(object);
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// The content of a string; other values as written; `null` as an empty text.
pub fn content(value: &str) -> Cow<'_, str> {
    match kind(value) {
        Some(Kind::String) => unquote(trim(value)),
        Some(Kind::Null) | None => Cow::Borrowed(""),
        Some(_) => Cow::Borrowed(value),
    }
}

/// What a string with its quotes says.
pub fn unquote(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    unescape(inner.strip_suffix('"').unwrap_or(inner))
}

/// The text inside of a string, with valid escapes decoded. Half of a surrogate pair becomes the replacement character.
pub fn unescape(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(letter) = after.chars().next() else { return Cow::Owned(out) };
        rest = &after[letter.len_utf8()..];
        out.push(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => match code_point(&mut rest) {
                Some(letter) => letter,
                None => return Cow::Owned(out),
            },
            _ => return Cow::Owned(out),
        });
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the four digits after `\u`, and a second half if there is one.
fn code_point(rest: &mut &str) -> Option<char> {
    let unit = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let first = unit(rest)?;
    *rest = &rest[4..];
    let second = rest.strip_prefix("\\u").and_then(unit);
    let pair = second.map(|second| char::decode_utf16([first, second]).next());
    match pair {
        Some(Some(Ok(letter))) if letter > '\u{ffff}' => {
            *rest = &rest[6..];
            Some(letter)
        }
        _ => Some(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

/// `text` as a JSON string. Letters that mean something in HTML are escaped, as k6 does.
pub fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..=' ' if letter < ' ' => drop(write!(out, "\\u{:04x}", u32::from(letter))),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => drop(write!(out, "\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}
