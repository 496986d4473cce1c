//! Removes from SQL what can be a secret or differs from call to call: literals, parameters and comments.
//!
//! A scanner of tokens, not a parser: it knows where strings, numbers, names and comments begin and end in SQLite. What
//! stands in double quotes is a name in SQL, and stays, also where SQLite takes it for a text because no column has
//! this name. A literal without an end is masked to the end of the text.

/// What stands in place of a literal or a parameter.
const MASK: char = '?';

/// The statement with literals and parameters masked, comments removed, and spaces joined.
pub(crate) fn mask(sql: &str) -> String {
    let mut scanner = Scanner { rest: sql, out: String::with_capacity(sql.len().min(1_024)) };
    while scanner.step() {}
    let length = scanner.out.trim_end_matches([' ', ';']).len();
    scanner.out.truncate(length);
    scanner.out
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
}

impl Scanner<'_> {
    /// Takes one token; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return false };
        match first {
            c if c.is_whitespace() => self.leave_out(rest.len() - rest.trim_start().len()),
            '-' if rest.starts_with("--") => self.leave_out(end(rest, 2, "\n")),
            '/' if rest.starts_with("/*") => self.leave_out(end(rest, 2, "*/")),
            '\'' => self.mask(quoted(rest, '\'')),
            '"' | '`' => self.keep(quoted(rest, first)),
            '[' => self.keep(end(rest, 1, "]")),
            '?' | ':' | '@' | '$' => self.mask(1 + word(&rest[1..])),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) && !self.follows_name() => {
                self.mask(number(rest));
            }
            c if c.is_ascii_digit() => self.mask(number(rest)),
            c if is_letter(c) => self.take_word(),
            c => self.keep(c.len_utf8()),
        }
        true
    }

    /// Writes the next bytes as they are, with spaces in place of control characters.
    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.out.extend(kept.chars().map(|c| if c.is_control() { ' ' } else { c }));
        self.rest = rest;
    }

    /// Writes a mask for the next bytes.
    fn mask(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.out.push(MASK);
    }

    /// Writes one space for the next bytes.
    fn leave_out(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
        if !self.out.is_empty() && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
    }

    /// A name or a keyword; `X'…'` is a literal.
    fn take_word(&mut self) {
        let length = word(self.rest);
        let (name, behind) = self.rest.split_at(length);
        if behind.starts_with('\'') && matches!(name, "x" | "X") {
            self.mask(length + quoted(behind, '\''));
        } else {
            self.keep(length);
        }
    }

    fn follows_name(&self) -> bool {
        self.out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`' | ']'))
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Bytes of the letters and digits that the text begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| !(is_letter(c) || c.is_ascii_digit())).unwrap_or(text.len())
}

/// Bytes up to the end of `end`, which is looked for from `from` on; all bytes without one.
fn end(text: &str, from: usize, end: &str) -> usize {
    let inside = text.get(from..).unwrap_or_default();
    inside.find(end).map_or(text.len(), |place| from + place + end.len())
}

/// The length in bytes of a quoted text, with both quotes. A doubled quote does not end it.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((place, c)) = chars.next() {
        if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return place + quote.len_utf8();
        }
    }
    text.len()
}

/// Bytes of digits with a point, an exponent and underscores, or of digits of another base.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let belongs = |place: usize| {
        let follows_exponent = || place > 0 && matches!(bytes[place - 1], b'e' | b'E');
        match bytes[place] {
            b'+' | b'-' => !is_hex && follows_exponent(),
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'),
        }
    };
    (0..bytes.len()).find(|place| !belongs(*place)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_parameters_are_masked_and_names_stay() {
        for (sql, masked) in [
            ("SELECT * FROM t2 WHERE id = 42 AND a.b1 = ?1;", "SELECT * FROM t2 WHERE id = ? AND a.b1 = ?"),
            ("select 'it''s', 1.5e-3, .5, 0x1F, 1_000 ; ", "select ?, ?, ?, ?, ?"),
            ("INSERT INTO t VALUES (:name, @x, $y, ?)", "INSERT INTO t VALUES (?, ?, ?, ?)"),
            (
                "select \"odd 'name\", [a 1], `b 2` from \"t\"\"1\"",
                "select \"odd 'name\", [a 1], `b 2` from \"t\"\"1\"",
            ),
            ("  a -- token=hunter2\n  /* trace 7 */ b", "a b"),
            ("select x'0042', X'', max", "select ?, ?, max"),
            ("select 'never ends; drop", "select ?"),
            ("a->>'$.key' || 2-1", "a->>? || ?-?"),
            ("/* only", ""),
        ] {
            assert_eq!(mask(sql), masked, "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail_and_no_quoted_text_is_left(
            text in "[ -~é\n]{0,200}",
            secret in "[a-z]{6}[A-Z]{6}",
            number in 100_000_000u32..,
        ) {
            let _ = mask(&text);
            let masked = mask(&format!("select * from t where a = '{secret}' and b = {number}"));
            proptest::prop_assert_eq!(masked, "select * from t where a = ? and b = ?");
        }
    }
}
