//! Notification settings, and the previous result of a task.
//!
//! Sends no notifications.

use tokio_postgres::Row;
use uuid::Uuid;

use super::transaction::RequestTransaction;
use super::{Store, prepared};
use crate::job::Job;
use crate::notification::{NotificationSettings, NotificationSettingsChange};
use crate::refusal::Refusal;

const COLUMNS: &str = "notification_webhook_url, notify_on_failure, notify_on_recovery";

/// The latest completed run before this one. A run has one execution per attempt.
const BEFORE: &str = "SELECT status <> 'success' FROM executions WHERE task_id = $1 \
    AND (scheduled_for, id) < ($2, $3) AND status IN ('success', 'failed', 'timeout') \
    ORDER BY scheduled_for DESC, id DESC OFFSET $4 LIMIT 1";

impl Store {
    /// Notification settings of an organization.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn notification_settings(&self, organization: Uuid) -> Result<NotificationSettings, Refusal> {
        let client = self.get().await?;
        let sql = format!("SELECT {COLUMNS} FROM organizations WHERE id = $1");
        Ok(notification_settings(&client.query_one(&prepared(&client, &sql).await?, &[&organization]).await?))
    }

    /// Whether the task's run before `job` failed; `None` if there was none.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn failed_before(&self, job: &Job) -> Result<Option<bool>, Refusal> {
        let client = self.get_for_worker().await?;
        let earlier_tries = i64::from(job.attempt.max(1) - 1);
        let statement = prepared(&client, BEFORE).await?;
        let row = client.query_opt(&statement, &[&job.task_id, &job.due, &job.id, &earlier_tries]).await?;
        Ok(row.map(|row| row.get(0)))
    }
}

impl RequestTransaction<'_> {
    /// Changes the notification settings.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn change_notification_settings(
        &self,
        change: &NotificationSettingsChange,
    ) -> Result<NotificationSettings, Refusal> {
        let sql = format!(
            "UPDATE organizations SET \
             notification_webhook_url = CASE WHEN $2 THEN $3::text ELSE notification_webhook_url END, \
             notify_on_failure = coalesce($4, notify_on_failure), \
             notify_on_recovery = coalesce($5, notify_on_recovery) WHERE id = $1 RETURNING {COLUMNS}"
        );
        let url = &change.notification_webhook_url;
        let statement = self.transaction.prepare_cached(&sql).await?;
        let row = self
            .transaction
            .query_one(
                &statement,
                &[
                    &self.organization,
                    &url.is_some(),
                    &url.as_ref().and_then(Option::as_deref),
                    &change.notify_on_failure,
                    &change.notify_on_recovery,
                ],
            )
            .await?;
        Ok(notification_settings(&row))
    }
}

fn notification_settings(row: &Row) -> NotificationSettings {
    NotificationSettings {
        notification_webhook_url: row.get(0),
        notify_on_failure: row.get(1),
        notify_on_recovery: row.get(2),
    }
}
