//! How one option is read: from the value a script exported, or from the text of a variable or flag.
//!
//! As lenient as k6: `null` and an empty text mean "not set", numbers can be written as texts. Does not
//! know which options exist; see the layer module.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::duration::SignedDuration;

/// The exit code of every [`ConfigError`], k6's for an invalid configuration.
pub const EXIT_CODE: u8 = 104;

/// Why options cannot be used. Has k6's words where these are clear.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Why a value does not fit its option; the option's name is added by the layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

impl ReadError {
    /// `expected` with its article, and what was found instead.
    pub fn kind(expected: &str, found: &Value) -> Self {
        Self(format!("expected {expected}, found {}", describe(found)))
    }
}

/// A value as a message shows it: short, and with its kind.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", text.chars().take(60).collect::<String>()),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A kind of option.
pub trait Read: Sized {
    /// Reads what a script or a configuration file says; `None` means "not set".
    fn read(value: &Value) -> Result<Option<Self>, ReadError>;

    /// Reads a variable or a flag; an empty text means "not set". Unless a kind says otherwise, the
    /// text is read as a script's text would be.
    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        if text.is_empty() { Ok(None) } else { Self::read(&Value::String(text.to_owned())) }
    }

    /// Reads a flag, which is as lenient as a variable unless a kind says otherwise.
    fn read_flag(text: &str) -> Result<Option<Self>, ReadError> {
        Self::read_text(text)
    }
}

impl Read for i64 {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) => text
                .parse()
                .map(Some)
                .map_err(|_| ReadError(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))),
            Value::Number(number) => {
                whole(number).map(Some).ok_or_else(|| ReadError::kind("a whole number", value))
            }
            _ => Err(ReadError::kind("a whole number", value)),
        }
    }
}

/// A JSON number without a fraction; `10.0` is one.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let exact = |value: f64| (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(exact))
}

impl Read for f64 {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) => text
                .parse()
                .map(Some)
                .map_err(|_| ReadError(format!("strconv.ParseFloat: parsing {text:?}: invalid syntax"))),
            Value::Number(number) => Ok(number.as_f64()),
            _ => Err(ReadError::kind("a number", value)),
        }
    }
}

impl Read for bool {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::Bool(value) => Ok(Some(*value)),
            _ => Err(ReadError::kind("true or false", value)),
        }
    }

    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        match text {
            "" => Ok(None),
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Some(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Some(false)),
            _ => Err(ReadError(format!("strconv.ParseBool: parsing {text:?}: invalid syntax"))),
        }
    }
}

impl Read for String {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(ReadError::kind("a text", value)),
        }
    }
}

impl Read for SignedDuration {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Self::parse(text).map(Some).map_err(|error| ReadError(error.to_string())),
            Value::Number(number) => number
                .as_f64()
                .and_then(Self::from_millis_f64)
                .map(Some)
                .ok_or_else(|| ReadError::kind("a duration", value)),
            _ => Err(ReadError::kind("a duration", value)),
        }
    }

    /// A flag needs a unit: `-d 5` could mean seconds or milliseconds.
    fn read_flag(text: &str) -> Result<Option<Self>, ReadError> {
        Self::parse_flag(text).map(Some).map_err(|error| ReadError(error.to_string()))
    }
}

/// A list of texts. A variable separates them by commas.
impl Read for Vec<String> {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        match value {
            Value::Null => Ok(None),
            Value::Array(items) => items
                .iter()
                .map(|item| required::<String>(item, "a text"))
                .collect::<Result<_, _>>()
                .map(Some),
            _ => Err(ReadError::kind("an array of texts", value)),
        }
    }

    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(text.split(',').map(|item| item.trim().to_owned()).collect()))
    }
}

/// Texts by name. A variable writes `name:value,name:value`.
impl Read for BTreeMap<String, String> {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        let Value::Object(entries) = value else {
            return if value.is_null() {
                Ok(None)
            } else {
                Err(ReadError::kind("an object of texts", value))
            };
        };
        let entry = |(name, value): (&String, &Value)| Ok((name.clone(), required(value, "a text")?));
        entries.iter().map(entry).collect::<Result<_, _>>().map(Some)
    }

    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        let pair = |item: &str| {
            let (name, value) = item
                .split_once(':')
                .ok_or_else(|| ReadError(format!("invalid map item: {item:?}, expected name:value")))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        text.split(',').map(pair).collect::<Result<_, _>>().map(Some)
    }
}

/// Any value, kept unchanged for the module that uses it.
impl Read for Value {
    fn read(value: &Value) -> Result<Option<Self>, ReadError> {
        Ok((!value.is_null()).then(|| value.clone()))
    }

    fn read_text(text: &str) -> Result<Option<Self>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(text).unwrap_or_else(|_| Self::String(text.to_owned()))))
    }
}

/// Reads a required value.
pub fn required<T: Read>(value: &Value, expected: &str) -> Result<T, ReadError> {
    T::read(value)?.ok_or_else(|| ReadError::kind(expected, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_can_be_texts_and_an_empty_text_is_not_set() {
        assert_eq!(i64::read(&json!("3")), Ok(Some(3)));
        assert_eq!(i64::read(&json!(3.0)), Ok(Some(3)));
        assert_eq!(i64::read(&json!("")), Ok(None));
        assert_eq!(i64::read(&json!(null)), Ok(None));
        assert!(i64::read(&json!(1.5)).is_err());
        assert!(i64::read(&json!(true)).is_err());
        // The words are those of k6 v1.8.1.
        let error = i64::read(&json!("abc")).unwrap_err();
        assert_eq!(error.to_string(), r#"strconv.ParseInt: parsing "abc": invalid syntax"#);
    }

    #[test]
    fn a_number_is_milliseconds_where_a_duration_is_expected() {
        assert_eq!(SignedDuration::read(&json!(1500)), Ok(Some(SignedDuration(1_500_000_000))));
        assert_eq!(SignedDuration::read(&json!("1m")), Ok(Some(SignedDuration::from_secs(60))));
        assert_eq!(SignedDuration::read_text(""), Ok(None));
        assert!(
            SignedDuration::read(&json!("")).is_err(),
            "k6 refuses it in a script and ignores it in a variable"
        );
        assert!(SignedDuration::read(&json!(["1s"])).is_err());
    }

    #[test]
    fn a_text_is_no_truth_value_in_a_script_but_in_a_variable() {
        assert!(bool::read(&json!("true")).is_err());
        assert_eq!(bool::read_text("true"), Ok(Some(true)));
        assert_eq!(bool::read_text("0"), Ok(Some(false)));
        assert!(bool::read_text("yes").is_err());
    }

    #[test]
    fn tags_in_a_variable_use_colons() {
        let tags = BTreeMap::<String, String>::read_text("a:b,c:d").unwrap().unwrap();
        assert_eq!(tags, BTreeMap::from([("a".into(), "b".into()), ("c".into(), "d".into())]));
        assert!(BTreeMap::<String, String>::read_text("a=b").is_err());
        assert!(BTreeMap::<String, String>::read(&json!({"n": 1})).is_err());
    }
}
