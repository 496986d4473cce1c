//! Notification settings of an organization: whom to notify when a task starts to fail and when it recovers.
//!
//! Does not send notifications; [`crate::executor`] does.

use serde::Serialize;

use crate::draft::address;
use crate::field::Fields;
use crate::refusal::Refusal;

/// Notification settings of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotificationSettings {
    /// Address for notifications; without one none are sent.
    pub notification_webhook_url: Option<String>,
    /// Whether to notify when a task starts to fail.
    pub notify_on_failure: bool,
    /// Whether to notify when a task recovers.
    pub notify_on_recovery: bool,
}

/// A change of the settings. Fields that are not given stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationSettingsChange {
    /// Address; an inner `None` removes it.
    pub notification_webhook_url: Option<Option<String>>,
    /// See [`NotificationSettings`].
    pub notify_on_failure: Option<bool>,
    /// See [`NotificationSettings`].
    pub notify_on_recovery: Option<bool>,
}

impl NotificationSettingsChange {
    /// Parses the body of a change.
    ///
    /// # Errors
    /// The body is malformed.
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
    fn an_address_can_be_set_kept_and_removed() {
        let url =
            |body: &str| NotificationSettingsChange::read(body.as_bytes()).unwrap().notification_webhook_url;
        assert_eq!(
            url(r#"{"notification_webhook_url": "https://a/b"}"#),
            Some(Some("https://a/b".to_owned()))
        );
        assert_eq!(url(r#"{"notifications": {"notification_webhook_url": null}}"#), Some(None));
        assert_eq!(url(r#"{"notify_on_failure": false}"#), None);
    }

    #[test]
    fn invalid_settings_are_refused_by_field() {
        for (body, field) in [
            (r#"{"notification_webhook_url": "ftp://a/"}"#, "notification_webhook_url"),
            (r#"{"notification_webhook_url": 1}"#, "notification_webhook_url"),
            (r#"{"notify_on_failure": null}"#, "notify_on_failure"),
            (r#"{"notify_on_recovery": "yes"}"#, "notify_on_recovery"),
        ] {
            let Err(Refusal::Invalid(wrong)) = NotificationSettingsChange::read(body.as_bytes()) else {
                panic!("{body}")
            };
            assert_eq!(wrong.into_keys().collect::<Vec<_>>(), [field], "{body}");
        }
    }
}
