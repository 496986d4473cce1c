//! A todo, and what somebody may ask to be one.
//!
//! Does not know where todos are kept.

use jiff::civil::DateTime;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// Most characters of a name.
pub const LONGEST_NAME: usize = 200;
/// Most characters of a description.
pub const LONGEST_DESCRIPTION: usize = 2000;

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// From 1.
    pub id: i32,
    /// What it is called.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Whether it is done.
    pub done: bool,
    /// When it was made, UTC.
    pub created_at: DateTime,
    /// When it was changed last, UTC.
    pub updated_at: Option<DateTime>,
}

/// A todo that somebody wants to be made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with name, description and done")]
pub struct Draft {
    /// What it is called.
    #[serde(default = "united")]
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
    /// Whether it is done.
    #[serde(default)]
    pub done: bool,
}

/// What somebody wants to be changed.
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
    /// Reads one from a body of JSON.
    ///
    /// # Errors
    /// It is not JSON, something in it is of another type, missing, too long, or what PostgreSQL cannot keep.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let draft: Self = json(body)?;
        text("name", &draft.name, 1, LONGEST_NAME)?;
        text("description", &draft.description, 0, LONGEST_DESCRIPTION)?;
        Ok(draft)
    }
}

impl Change {
    /// Reads one from a body of JSON.
    ///
    /// # Errors
    /// It is not JSON, or `done` is missing or no truth value.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        json(body)
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    // A list would pass as an object whose fields come in order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Refusal::Bad("the body has to be a JSON object".to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| Refusal::Bad(format!("the body does not fit: {error}")))
}

fn text(field: &str, text: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let length = text.chars().count();
    if length < least || length > most {
        return Err(Refusal::Bad(format!("{field} has from {least} to {most} characters")));
    }
    if text.contains('\0') {
        return Err(Refusal::Bad(format!("{field} has a character that cannot be kept: U+0000")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_left_out_has_the_published_defaults() {
        let draft = Draft::read(b" {}").unwrap();
        assert_eq!((draft.name.as_str(), draft.description.as_str(), draft.done), ("United todo", "", false));
    }

    #[test]
    fn each_mistake_is_refused_by_its_name() {
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
        let long = format!("{{\"description\": \"{}\"}}", "ä".repeat(LONGEST_DESCRIPTION + 1));
        assert!(Draft::read(long.as_bytes()).is_err());
        assert!(Change::read(b"{}").is_err(), "there is no default for a change");
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_a_draft_within_its_limits_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(draft) = Draft::read(&body) {
                prop_assert!(draft.name.chars().count() <= LONGEST_NAME);
            }
        }

        #[test]
        fn text_of_any_language_is_taken_as_it_is(name in "[^\0]{1,200}", description in "[^\0]{0,100}") {
            let body = serde_json::json!({"name": name, "description": description}).to_string();
            let draft = Draft::read(body.as_bytes()).unwrap();
            prop_assert_eq!((draft.name, draft.description), (name, description));
        }
    }
}
