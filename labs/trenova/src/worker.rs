//! A worker, and what somebody may ask to be one.
//!
//! Does not know where workers are kept.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Somebody who drives for a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// `wrk_` and a ULID.
    pub id: String,
    /// Whose.
    pub organization_id: String,
    /// Of which business unit.
    pub business_unit_id: String,
    /// Where from.
    pub state_id: Option<String>,
    /// Of which fleet.
    pub fleet_code_id: Option<String>,
    /// `Active` or `Inactive`.
    pub status: String,
    /// `Employee` or `Contractor`.
    pub r#type: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Street.
    pub address_line1: String,
    /// More of it.
    pub address_line2: String,
    /// City.
    pub city: String,
    /// Postal code.
    pub postal_code: String,
    /// `Male`, `Female` or `Other`.
    pub gender: String,
    /// Whether a load may be assigned.
    pub can_be_assigned: bool,
    /// Why not.
    pub assignment_blocked: String,
    /// A picture.
    pub profile_pic_url: String,
    /// How often it was changed.
    pub version: i64,
    /// When it was made, in seconds since 1970.
    pub created_at: i64,
    /// When it was changed last.
    pub updated_at: i64,
}

/// `Active` or `Inactive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Status {
    /// Drives.
    #[default]
    Active,
    /// Does not at this time.
    Inactive,
}

/// `Employee` or `Contractor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Kind {
    /// On the payroll.
    #[default]
    Employee,
    /// On a contract.
    Contractor,
}

/// A worker that somebody wants to be made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "an object with firstName and lastName")]
pub struct Draft {
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Whether they drive.
    #[serde(default)]
    pub status: Status,
    /// On what terms.
    #[serde(default)]
    pub r#type: Kind,
    /// City.
    #[serde(default)]
    pub city: String,
    /// Postal code.
    #[serde(default)]
    pub postal_code: String,
}

/// What somebody signs in with.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "an object with emailAddress and password"
)]
pub struct SignIn {
    /// Who.
    pub email_address: String,
    /// What only they know.
    pub password: String,
}

impl Draft {
    /// Reads one from a body of JSON.
    ///
    /// # Errors
    /// It is not JSON, something in it is of another type, missing, too long, or what PostgreSQL cannot keep.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let draft: Self = json(body)?;
        text("firstName", &draft.first_name, 1, 100)?;
        text("lastName", &draft.last_name, 1, 100)?;
        text("city", &draft.city, 0, 100)?;
        text("postalCode", &draft.postal_code, 0, 20)?;
        Ok(draft)
    }
}

impl SignIn {
    /// Reads one from a body of JSON.
    ///
    /// # Errors
    /// It is not JSON, or something in it is of another type, missing or too long.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let sign_in: Self = json(body)?;
        text("emailAddress", &sign_in.email_address, 1, 255)?;
        text("password", &sign_in.password, 1, 200)?;
        Ok(sign_in)
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
    fn each_mistake_is_refused_by_its_name() {
        for (body, part) in [
            (&b"{\"firstName\": \"a\""[..], "EOF"),
            (b"", "JSON object"),
            (b"[\"a\", \"b\"]", "JSON object"),
            (b"{\"firstName\": \"a\"}", "missing field `lastName`"),
            (b"{\"firstName\": 1, \"lastName\": \"b\"}", "expected a string"),
            (b"{\"firstName\": \"a\", \"lastName\": null}", "null"),
            (b"{\"firstName\": \"\", \"lastName\": \"b\"}", "from 1 to 100"),
            (b"{\"firstName\": \"a\", \"lastName\": \"b\", \"organizationId\": \"org\"}", "unknown field"),
            (b"{\"firstName\": \"a\", \"lastName\": \"b\", \"status\": \"active\"}", "unknown variant"),
            (b"{\"firstName\": \"a\", \"firstName\": \"b\"}", "duplicate field"),
            (b"{\"firstName\": \"\\u0000\", \"lastName\": \"b\"}", "U+0000"),
            (b"{\"firstName\": \"\xff\"}", "unicode"),
        ] {
            let message = Draft::read(body).unwrap_err().to_string();
            assert!(message.contains(part), "{}: {message}", String::from_utf8_lossy(body));
        }
        assert!(SignIn::read(b"{\"emailAddress\": \"a@b\", \"password\": \"\"}").is_err());
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_a_draft_within_its_limits_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(draft) = Draft::read(&body) {
                prop_assert!(draft.first_name.chars().count() <= 100);
            }
        }

        #[test]
        fn names_of_any_language_are_taken_as_they_are(first in "[^\0]{1,100}", last in "[^\0]{1,100}") {
            let body = serde_json::json!({"firstName": first, "lastName": last}).to_string();
            let draft = Draft::read(body.as_bytes()).unwrap();
            prop_assert_eq!((draft.first_name, draft.last_name), (first, last));
        }
    }
}
