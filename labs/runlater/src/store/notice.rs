//! What organizations want to be told, and what came of a task before.
//!
//! Does not tell anybody.

use tokio_postgres::Row;
use uuid::Uuid;

use super::deed::Deed;
use super::{Store, kept};
use crate::job::Job;
use crate::notice::{Wishes, WishesChange};
use crate::refusal::Refusal;

const COLUMNS: &str = "notification_webhook_url, notify_on_failure, notify_on_recovery";

/// Of the runs before this one the latest that was called to its end. A run has as many executions as it was tried.
const BEFORE: &str = "SELECT status <> 'success' FROM executions WHERE task_id = $1 \
    AND (scheduled_for, id) < ($2, $3) AND status IN ('success', 'failed', 'timeout') \
    ORDER BY scheduled_for DESC, id DESC OFFSET $4 LIMIT 1";

impl Store {
    /// What an organization wants to be told.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn wishes(&self, organization: Uuid) -> Result<Wishes, Refusal> {
        let client = self.get().await?;
        let sql = format!("SELECT {COLUMNS} FROM organizations WHERE id = $1");
        Ok(wishes(&client.query_one(&kept(&client, &sql).await?, &[&organization]).await?))
    }

    /// Whether the run of a task before that of `job` failed; none if there was none.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn failed_before(&self, job: &Job) -> Result<Option<bool>, Refusal> {
        let client = self.get_at_last().await?;
        let earlier_tries = i64::from(job.attempt.max(1) - 1);
        let statement = kept(&client, BEFORE).await?;
        let row = client.query_opt(&statement, &[&job.task_id, &job.due, &job.id, &earlier_tries]).await?;
        Ok(row.map(|row| row.get(0)))
    }
}

impl Deed<'_> {
    /// Changes what the organization wants to be told.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn wish(&self, change: &WishesChange) -> Result<Wishes, Refusal> {
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
        Ok(wishes(&row))
    }
}

fn wishes(row: &Row) -> Wishes {
    Wishes {
        notification_webhook_url: row.get(0),
        notify_on_failure: row.get(1),
        notify_on_recovery: row.get(2),
    }
}
