//! Notices: who of an organization is told when a task begins to fail, and when it works again.
//!
//! Does not tell anybody; see [`crate::crew`].

use serde::Serialize;

use crate::draft::address;
use crate::field::Fields;
use crate::refusal::Refusal;

/// What an organization wants to be told, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wishes {
    /// The address that is told; nobody is without one.
    pub notification_webhook_url: Option<String>,
    /// Whether it is told when a task begins to fail.
    pub notify_on_failure: bool,
    /// Whether it is told when a task works again.
    pub notify_on_recovery: bool,
}

/// Other wishes. What is not said stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishesChange {
    /// The address; an inner none takes it away.
    pub notification_webhook_url: Option<Option<String>>,
    /// See [`Wishes`].
    pub notify_on_failure: Option<bool>,
    /// See [`Wishes`].
    pub notify_on_recovery: Option<bool>,
}

impl WishesChange {
    /// Reads the body of a change.
    ///
    /// # Errors
    /// It is none.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::read(body, "notifications")?;
        for name in ["notify_on_failure", "notify_on_recovery"] {
            if fields.is_null(name) {
                fields.refuse(name, "may not be null");
            }
        }
        let is_cleared = fields.is_null("notification_webhook_url");
        let url = address(&mut fields, "notification_webhook_url");
        let change = Self {
            notification_webhook_url: if is_cleared { Some(None) } else { url.map(Some) },
            notify_on_failure: fields.truth("notify_on_failure"),
            notify_on_recovery: fields.truth("notify_on_recovery"),
        };
        fields.finish()?;
        Ok(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_be_set_left_and_taken_away() {
        let url = |body: &str| WishesChange::read(body.as_bytes()).unwrap().notification_webhook_url;
        assert_eq!(
            url(r#"{"notification_webhook_url": "https://a/b"}"#),
            Some(Some("https://a/b".to_owned()))
        );
        assert_eq!(url(r#"{"notifications": {"notification_webhook_url": null}}"#), Some(None));
        assert_eq!(url(r#"{"notify_on_failure": false}"#), None);
    }

    #[test]
    fn what_is_no_wish_is_refused_by_field() {
        for (body, field) in [
            (r#"{"notification_webhook_url": "ftp://a/"}"#, "notification_webhook_url"),
            (r#"{"notification_webhook_url": 1}"#, "notification_webhook_url"),
            (r#"{"notify_on_failure": null}"#, "notify_on_failure"),
            (r#"{"notify_on_recovery": "yes"}"#, "notify_on_recovery"),
        ] {
            let Err(Refusal::Invalid(wrong)) = WishesChange::read(body.as_bytes()) else { panic!("{body}") };
            assert_eq!(wrong.into_keys().collect::<Vec<_>>(), [field], "{body}");
        }
    }
}
