//! Query strings: named values, with all errors collected.
//!
//! Does not know their meaning.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::refusal::Refusal;

/// Values of a query string.
pub struct Query {
    values: HashMap<String, String>,
    wrong: Vec<String>,
}

impl Query {
    /// Parses a query string. Ignores names that are not in `names`.
    ///
    /// # Errors
    /// A name is given twice.
    pub fn read(query: Option<&str>, names: &[&str]) -> Result<Self, Refusal> {
        let mut values = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if names.contains(&name.as_ref())
                && values.insert(name.clone().into_owned(), value.into_owned()).is_some()
            {
                return Err(Refusal::Bad(format!("`{name}` is given twice")));
            }
        }
        Ok(Self { values, wrong: Vec::new() })
    }

    /// A whole number, or the default.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<i64>, default: i64) -> i64 {
        let Some(text) = self.values.remove(name) else { return default };
        match text.parse() {
            Ok(number) if range.contains(&number) => number,
            _ => {
                self.refuse(
                    name,
                    &format!("has to be a whole number from {} to {}", range.start(), range.end()),
                );
                default
            }
        }
    }

    /// A text of up to `max` bytes.
    pub fn text(&mut self, name: &'static str, max: usize) -> Option<String> {
        let text = self.values.remove(name)?;
        if text.is_empty() || text.len() > max || text.contains('\0') {
            self.refuse(name, &format!("has to be a text of 1 to {max} bytes"));
            return None;
        }
        Some(text)
    }

    fn refuse(&mut self, name: &'static str, what: &str) {
        self.wrong.push(format!("`{name}` {what}"));
    }

    /// Ends parsing.
    ///
    /// # Errors
    /// One or more values are invalid.
    pub fn finish(self) -> Result<(), Refusal> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Refusal::Bad(self.wrong.join("; "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_bounded() {
        let read = |query| Query::read(Some(query), &["limit", "queue"]).unwrap();
        assert_eq!(read("limit=7&other=x&other=y").number("limit", 1..=100, 50), 7);
        assert_eq!(read("").number("limit", 1..=100, 50), 50);
        assert_eq!(read("queue=a%20b").text("queue", 9).as_deref(), Some("a b"));
        for text in ["limit=0", "limit=101", "limit=x", "limit=", "limit=1e2", "limit=99999999999999999999"] {
            let mut query = read(text);
            query.number("limit", 1..=100, 50);
            assert!(query.finish().is_err(), "{text}");
        }
        for text in ["queue=", "queue=%00", "queue=0123456789"] {
            let mut query = read(text);
            assert_eq!(query.text("queue", 9), None);
            assert!(query.finish().is_err(), "{text}");
        }
        assert!(Query::read(Some("limit=1&limit=1"), &["limit"]).is_err());
    }
}
