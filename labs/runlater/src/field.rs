//! Fields of a JSON object, taken one by one, with all errors collected.
//!
//! Does not know their meaning.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::refusal::{Refusal, Wrong};

/// An object being parsed.
pub struct Fields {
    object: Map<String, Value>,
    wrong: Wrong,
}

impl Fields {
    /// Parses a body that is an object, or an object inside `wrapper`.
    ///
    /// # Errors
    /// It is neither.
    pub fn read(body: &[u8], wrapper: &str) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| Refusal::Bad(format!("the body is not JSON: {error}")))?;
        let Value::Object(mut object) = value else {
            return Err(Refusal::Bad("the body has to be an object".to_owned()));
        };
        match object.remove(wrapper) {
            None => Ok(Self { object, wrong: Wrong::new() }),
            Some(Value::Object(object)) => Ok(Self { object, wrong: Wrong::new() }),
            Some(_) => Err(Refusal::Bad(format!("`{wrapper}` has to be an object"))),
        }
    }

    /// Notes that a field is wrong.
    pub fn refuse(&mut self, name: &'static str, what: &str) {
        self.wrong.entry(name).or_default().push(what.to_owned());
    }

    /// Takes a field that is there and not null.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.object.remove(name).filter(|value| !value.is_null())
    }

    /// Whether a field is there and null: what was there before is to go.
    pub fn is_null(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(Value::is_null)
    }

    /// A text of up to `max` characters. What PostgreSQL cannot keep, a zero, is none.
    pub fn text(&mut self, name: &'static str, max: usize) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if text.contains('\0') => self.refuse(name, "may not have a zero character"),
            Value::String(text) if text.len() > max && text.chars().count() > max => {
                self.refuse(name, &format!("may have {max} characters at the most"));
            }
            Value::String(text) => return Some(text),
            _ => self.refuse(name, "has to be a text"),
        }
        None
    }

    /// A whole number.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<i32>) -> Option<i32> {
        let value = self.take(name)?;
        let number = whole(&value).and_then(|number| i32::try_from(number).ok());
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return Some(number);
        }
        self.refuse(name, &format!("has to be a whole number from {} to {}", range.start(), range.end()));
        None
    }

    /// True or false.
    pub fn truth(&mut self, name: &'static str) -> Option<bool> {
        let value = self.take(name)?;
        if value.as_bool().is_none() {
            self.refuse(name, "has to be true or false");
        }
        value.as_bool()
    }

    /// Ends parsing.
    ///
    /// # Errors
    /// One or more values are invalid.
    pub fn finish(self) -> Result<(), Refusal> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Refusal::Invalid(self.wrong)) }
    }
}

/// A whole number, also one that is written with a fraction of zero: for JSON that is the same.
pub fn whole(value: &Value) -> Option<i64> {
    // All whole numbers up to here are what they seem to be.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let as_float = || value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT);
    value.as_i64().or_else(|| as_float().map(|number| number as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_at_once_by_field() {
        let body = br#"{"task": {"a": 1, "b": 11, "c": "yes", "d": "x\u0000", "e": "long"}}"#;
        let mut fields = Fields::read(body, "task").unwrap();
        assert_eq!(fields.text("a", 9), None);
        assert_eq!(fields.number("b", 0..=10), None);
        assert_eq!(fields.truth("c"), None);
        assert_eq!(fields.text("d", 9), None);
        assert_eq!(fields.text("e", 3), None);
        assert_eq!(fields.number("f", 0..=1), None, "what is not there is not wrong");
        let Err(Refusal::Invalid(wrong)) = fields.finish() else { panic!("nothing was wrong") };
        assert_eq!(wrong.into_keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_number_with_a_fraction_of_zero_is_whole() {
        let rows = [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("-7e2", Some(-700)),
            ("7.5", None),
            ("1e300", None),
            ("true", None),
        ];
        for (text, number) in rows {
            assert_eq!(whole(&serde_json::from_str(text).unwrap()), number, "{text}");
        }
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        for body in ["", "[]", "1", "\"x\"", "{\"task\": 1}", "{\"task\": null}", "{", "\u{feff}{}"] {
            assert!(matches!(Fields::read(body.as_bytes(), "task"), Err(Refusal::Bad(_))), "{body}");
        }
        assert!(Fields::read(&[b'"', 0xff, b'"'], "task").is_err());
    }
}
