//! Workers, and the request bodies of the API.
//!
//! Does not access the store.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// A driver of a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// `wrk_` and a ULID.
    pub id: String,
    /// Organization.
    pub organization_id: String,
    /// Business unit.
    pub business_unit_id: String,
    /// State of residence.
    pub state_id: Option<String>,
    /// Fleet.
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
    /// Second line of the street address.
    pub address_line2: String,
    /// City.
    pub city: String,
    /// Postal code.
    pub postal_code: String,
    /// `Male`, `Female` or `Other`.
    pub gender: String,
    /// Whether loads can be assigned.
    pub can_be_assigned: bool,
    /// Reason if they cannot.
    pub assignment_blocked: String,
    /// Address of a picture.
    pub profile_pic_url: String,
    /// Number of changes.
    pub version: i64,
    /// Creation time, in seconds since 1970.
    pub created_at: i64,
    /// Time of the last change, in seconds since 1970.
    pub updated_at: i64,
}

/// `Active` or `Inactive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Status {
    /// Available.
    #[default]
    Active,
    /// Not available at present.
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

/// Request body that creates a worker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "an object with firstName and lastName")]
pub struct Draft {
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Active unless given.
    #[serde(default)]
    pub status: Status,
    /// Employee unless given.
    #[serde(default)]
    pub r#type: Kind,
    /// City.
    #[serde(default)]
    pub city: String,
    /// Postal code.
    #[serde(default)]
    pub postal_code: String,
}

/// Request body of a sign-in.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "an object with emailAddress and password"
)]
pub struct SignIn {
    /// Who.
    pub email_address: String,
    /// Password.
    pub password: String,
}

impl Draft {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Not JSON; or a field has the wrong type, is missing, too long, or has characters that PostgreSQL cannot store.
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
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Not JSON; or a field has the wrong type, is missing or too long.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let sign_in: Self = json(body)?;
        text("emailAddress", &sign_in.email_address, 1, 255)?;
        text("password", &sign_in.password, 1, 200)?;
        Ok(sign_in)
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    // serde would accept an array as a struct whose fields come in order.
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
    fn each_mistake_is_refused_with_its_field() {
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
        fn any_body_is_a_draft_within_its_limits_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(draft) = Draft::read(&body) {
                prop_assert!(draft.first_name.chars().count() <= 100);
            }
        }

        #[test]
        fn names_of_any_language_are_accepted_unchanged(first in "[^\0]{1,100}", last in "[^\0]{1,100}") {
            let body = serde_json::json!({"firstName": first, "lastName": last}).to_string();
            let draft = Draft::read(body.as_bytes()).unwrap();
            prop_assert_eq!((draft.first_name, draft.last_name), (first, last));
        }
    }
}
