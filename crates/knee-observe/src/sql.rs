//! Removes everything from SQL that can be a secret: literals and comments.
//!
//! A scanner of tokens, not a parser: it knows where strings, numbers, names and comments begin and end in PostgreSQL.
//! A literal without an end is masked to the end of the text.

/// What stands in place of a literal.
const MASK: char = '?';

/// The statement with literals masked, comments removed, and spaces joined.
pub(crate) fn mask(sql: &str) -> String {
    let mut scanner = Scanner { rest: sql, out: String::with_capacity(sql.len().min(4_096)), last: None };
    while scanner.step() {}
    crate::text::harmless(scanner.out.trim())
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
    /// The last character that was written and was no space.
    last: Option<char>,
}

impl Scanner<'_> {
    /// Takes one token; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        match first {
            c if c.is_whitespace() => {
                self.rest = self.rest.trim_start();
                self.space();
            }
            '-' if self.rest.starts_with("--") => {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
                self.space();
            }
            '/' if self.rest.starts_with("/*") => self.skip_comment(),
            '\'' => self.mask_quoted(false),
            '"' => {
                let name = quoted(self.rest, '"', false);
                self.keep(name);
            }
            '$' => self.take_dollar(),
            c if c.is_ascii_digit() => self.mask_number(),
            '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) && !self.follows_word() => {
                self.mask_number();
            }
            c if is_word(c) => self.take_word(),
            c => self.keep(c.len_utf8()),
        }
        true
    }

    /// Writes the next bytes as they are.
    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.out.push_str(kept);
        self.last = kept.chars().next_back();
        self.rest = rest;
    }

    /// Writes a mask for the next bytes.
    fn mask_bytes(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.out.push(MASK);
        self.last = Some(MASK);
    }

    fn space(&mut self) {
        if !self.out.ends_with(' ') {
            self.out.push(' ');
        }
    }

    /// Comments of PostgreSQL can contain comments.
    fn skip_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.rest = &self.rest[2..];
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.rest = &self.rest[2..];
            } else {
                let Some(c) = self.rest.chars().next() else { break };
                self.rest = &self.rest[c.len_utf8()..];
            }
            if depth == 0 {
                break;
            }
        }
        self.space();
    }

    fn mask_quoted(&mut self, escapes: bool) {
        let length = quoted(self.rest, '\'', escapes);
        self.mask_bytes(length);
    }

    /// `$1` is a parameter and stays; `$tag$ … $tag$` is a string.
    fn take_dollar(&mut self) {
        let digits = self.rest[1..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return self.keep(1 + digits);
        }
        let tag =
            self.rest[1..].find(|c: char| !is_word(c)).filter(|end| self.rest[1 + end..].starts_with('$'));
        let Some(tag) = tag.map(|end| &self.rest[..end + 2]) else { return self.keep(1) };
        let inside = &self.rest[tag.len()..];
        let length = inside.find(tag).map_or(self.rest.len(), |end| end + 2 * tag.len());
        self.mask_bytes(length);
    }

    /// Digits, a point, an exponent, underscores, and digits of another base.
    fn mask_number(&mut self) {
        let bytes = self.rest.as_bytes();
        let mut length = 0;
        while let Some(byte) = bytes.get(length) {
            let is_sign = matches!(byte, b'+' | b'-')
                && length > 0
                && matches!(bytes[length - 1], b'e' | b'E')
                && !self.rest.starts_with("0x");
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_sign) {
                break;
            }
            length += 1;
        }
        self.mask_bytes(length);
    }

    /// A name or a keyword. `E'…'`, `B'…'`, `X'…'` and `U&'…'` are strings.
    fn take_word(&mut self) {
        let end = self.rest.find(|c: char| !is_word(c) && !c.is_ascii_digit() && c != '$');
        let end = end.unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let behind = &self.rest[end..];
        let is_prefix =
            behind.starts_with('\'') && matches!(word, "e" | "E" | "b" | "B" | "x" | "X" | "n" | "N");
        if is_prefix {
            let escapes = matches!(word, "e" | "E");
            self.rest = behind;
            return self.mask_quoted(escapes);
        }
        self.keep(end);
    }

    fn follows_word(&self) -> bool {
        self.last.is_some_and(|c| is_word(c) || c == '"' || c == ')') && !self.out.ends_with(' ')
    }
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The length in bytes of a quoted text, with both quotes. A doubled quote does not end it.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((place, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return place + quote.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_masked_and_names_and_parameters_stay() {
        for (sql, masked) in [
            ("SELECT * FROM t2 WHERE id = 42 AND a.b1 = $1", "SELECT * FROM t2 WHERE id = ? AND a.b1 = $1"),
            ("select 'it''s', E'a\\'b', 1.5e-3, .5, 0x1F, 1_000", "select ?, ?, ?, ?, ?, ?"),
            ("ALTER USER u PASSWORD 'hunter2'", "ALTER USER u PASSWORD ?"),
            ("select $tag$ secret ' $tag$ || $$ x $$, b'01'", "select ? || ?, ?"),
            ("select \"odd 'name\" from \"t\"\"1\"", "select \"odd 'name\" from \"t\"\"1\""),
            ("a -- token=hunter2\n  /* trace /* id */ 7 */ b", "a b"),
            ("select 'never ends; drop", "select ?"),
            ("x LIKE 'a%' OR y IN (1, 2, 3)", "x LIKE ? OR y IN (?, ?, ?)"),
            ("SET a = U&'\\0041'", "SET a = U&?"),
            ("select 1::int, now()-interval '1 day'", "select ?::int, now()-interval ?"),
            ("\u{1b}[2J", "\\u{1b}[?"),
        ] {
            assert_eq!(mask(sql), masked, "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail_and_no_quoted_text_is_left(text in "[ -~é\n]{0,200}", secret in "[a-z]{6}[A-Z]{6}") {
            let _ = mask(&text);
            let masked = mask(&format!("select * from t where a = '{secret}' and b = $x${secret}$x$"));
            proptest::prop_assert!(!masked.contains(&secret), "{}", masked);
        }
    }
}
