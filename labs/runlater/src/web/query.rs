//! What a path is followed by: names and values, with all that is wrong with them collected.
//!
//! Does not know what they mean.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::refusal::Refusal;

/// The values of a query.
pub struct Asked {
    values: HashMap<String, String>,
    wrong: Vec<String>,
}

impl Asked {
    /// Reads a query. Of what is not in `names` nothing is wanted.
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

    /// A whole number, or the usual one.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<i64>, usual: i64) -> i64 {
        let Some(text) = self.values.remove(name) else { return usual };
        match text.parse() {
            Ok(number) if range.contains(&number) => number,
            _ => {
                self.refuse(
                    name,
                    &format!("has to be a whole number from {} to {}", range.start(), range.end()),
                );
                usual
            }
        }
    }

    /// A text, of up to `most` bytes.
    pub fn text(&mut self, name: &'static str, most: usize) -> Option<String> {
        let text = self.values.remove(name)?;
        if text.is_empty() || text.len() > most || text.contains('\0') {
            self.refuse(name, &format!("has to be a text of 1 to {most} bytes"));
            return None;
        }
        Some(text)
    }

    fn refuse(&mut self, name: &'static str, what: &str) {
        self.wrong.push(format!("`{name}` {what}"));
    }

    /// The end of reading.
    ///
    /// # Errors
    /// Something was wrong.
    pub fn finish(self) -> Result<(), Refusal> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Refusal::Bad(self.wrong.join("; "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_bounded() {
        let read = |query| Asked::read(Some(query), &["limit", "queue"]).unwrap();
        assert_eq!(read("limit=7&other=x&other=y").number("limit", 1..=100, 50), 7);
        assert_eq!(read("").number("limit", 1..=100, 50), 50);
        assert_eq!(read("queue=a%20b").text("queue", 9).as_deref(), Some("a b"));
        for query in ["limit=0", "limit=101", "limit=x", "limit=", "limit=1e2", "limit=99999999999999999999"]
        {
            let mut asked = read(query);
            asked.number("limit", 1..=100, 50);
            assert!(asked.finish().is_err(), "{query}");
        }
        for query in ["queue=", "queue=%00", "queue=0123456789"] {
            let mut asked = read(query);
            assert_eq!(asked.text("queue", 9), None);
            assert!(asked.finish().is_err(), "{query}");
        }
        assert!(Asked::read(Some("limit=1&limit=1"), &["limit"]).is_err());
    }
}
