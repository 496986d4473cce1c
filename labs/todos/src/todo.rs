//! Todos, and the validated bodies of requests that create or change them.
//!
//! Does not know how todos are stored.

use jiff::civil::DateTime;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// Maximum length of a name, in characters.
pub const MAX_NAME_LENGTH: usize = 200;
/// Maximum length of a description, in characters.
pub const MAX_DESCRIPTION_LENGTH: usize = 2000;

/// A stored todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// From 1.
    pub id: i32,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Whether it is done.
    pub done: bool,
    /// Creation time, UTC.
    pub created_at: DateTime,
    /// Time of the last change, UTC.
    pub updated_at: Option<DateTime>,
}

/// A todo to be created.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with name, description and done")]
pub struct Draft {
    /// Name.
    #[serde(default = "united")]
    pub name: String,
    /// Description.
    #[serde(default)]
    pub description: String,
    /// Whether it is done.
    #[serde(default)]
    pub done: bool,
}

/// A change of a todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with done")]
pub struct Change {
    /// Whether it is done.
    pub done: bool,
}

fn united() -> String {
    "United todo".to_owned()
}

impl Draft {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// The body is not JSON; a field has the wrong type, is too long, or contains text that PostgreSQL cannot store.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let draft: Self = json(body)?;
        draft.check()?;
        Ok(draft)
    }

    /// A draft of fields that arrived one by one; a missing name has the published default.
    ///
    /// # Errors
    /// A field is too long, or contains text that PostgreSQL cannot store.
    pub fn of(name: Option<String>, description: String, done: bool) -> Result<Self, Refusal> {
        let draft = Self { name: name.unwrap_or_else(united), description, done };
        draft.check()?;
        Ok(draft)
    }

    fn check(&self) -> Result<(), Refusal> {
        text("name", &self.name, 1, MAX_NAME_LENGTH)?;
        text("description", &self.description, 0, MAX_DESCRIPTION_LENGTH)
    }
}

impl Change {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// The body is not JSON, or `done` is missing or not a boolean.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        json(body)
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    // serde would accept an array as an object with its fields in order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Refusal::BadBody("the body has to be a JSON object".to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| Refusal::BadBody(format!("the body does not fit: {error}")))
}

fn text(field: &str, text: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let length = text.chars().count();
    if length < least || length > most {
        return Err(Refusal::BadBody(format!("{field} has from {least} to {most} characters")));
    }
    if text.contains('\0') {
        return Err(Refusal::BadBody(format!("{field} has a character that cannot be kept: U+0000")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn missing_fields_have_the_published_defaults() {
        let draft = Draft::read(b" {}").unwrap();
        assert_eq!((draft.name.as_str(), draft.description.as_str(), draft.done), ("United todo", "", false));
    }

    #[test]
    fn each_invalid_body_is_refused_with_its_reason() {
        for (body, part) in [
            (&b"{\"name\": \"a\""[..], "EOF"),
            (b"", "JSON object"),
            (b"[\"a\", \"b\", true]", "JSON object"),
            (b"{\"name\": 1}", "expected a string"),
            (b"{\"done\": \"yes\"}", "expected a boolean"),
            (b"{\"name\": null}", "null"),
            (b"{\"name\": \"\"}", "from 1 to 200"),
            (b"{\"title\": \"a\"}", "unknown field"),
            (b"{\"name\": \"a\", \"name\": \"b\"}", "duplicate field"),
            (b"{\"name\": \"\\u0000\"}", "U+0000"),
            (b"{\"name\": \"\\ud800\"}", "hex escape"),
            (b"{\"name\": \"\xff\"}", "unicode"),
        ] {
            let message = Draft::read(body).unwrap_err().to_string();
            assert!(message.contains(part), "{}: {message}", String::from_utf8_lossy(body));
        }
        let long = format!("{{\"description\": \"{}\"}}", "ä".repeat(MAX_DESCRIPTION_LENGTH + 1));
        assert!(Draft::read(long.as_bytes()).is_err());
        assert!(Change::read(b"{}").is_err(), "there is no default for a change");
    }

    proptest! {
        #[test]
        fn any_body_is_refused_or_a_draft_within_the_limits(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(draft) = Draft::read(&body) {
                prop_assert!(draft.name.chars().count() <= MAX_NAME_LENGTH);
            }
        }

        #[test]
        fn text_of_any_language_is_accepted_unchanged(name in "[^\0]{1,200}", description in "[^\0]{0,100}") {
            let body = serde_json::json!({"name": name, "description": description}).to_string();
            let draft = Draft::read(body.as_bytes()).unwrap();
            prop_assert_eq!((draft.name, draft.description), (name, description));
        }
    }
}
