//! Changes of existing tasks: update, delete, trigger.
//!
//! Does not validate; [`crate::draft`] did.

use deadpool_postgres::Transaction;
use jiff::Timestamp;
use uuid::Uuid;

use super::list::{of_one, task};
use super::transaction::RequestTransaction;
use crate::draft::{Change, When};
use crate::recurrence::Recurrence;
use crate::refusal::Refusal;
use crate::task::Task;

/// Fields that are NULL stay; $16 names the columns to clear.
const CHANGE: &str = "UPDATE tasks SET name = coalesce($3, name), url = coalesce($4, url), \
    method = coalesce($5, method), headers = coalesce($6::text::jsonb, headers), \
    body = CASE WHEN 'body' = ANY ($16::text[]) THEN NULL ELSE coalesce($7, body) END, \
    timeout_ms = coalesce($8, timeout_ms), retry_attempts = coalesce($9, retry_attempts), \
    muted = coalesce($10, muted), enabled = coalesce($11, enabled), \
    expected_status_codes = CASE WHEN 'expected_status_codes' = ANY ($16::text[]) THEN NULL \
        ELSE coalesce($12, expected_status_codes) END, \
    expected_body_pattern = CASE WHEN 'expected_body_pattern' = ANY ($16::text[]) THEN NULL \
        ELSE coalesce($13, expected_body_pattern) END, \
    queue = CASE WHEN 'queue' = ANY ($16::text[]) THEN NULL ELSE coalesce($14, queue) END, \
    callback_url = CASE WHEN 'callback_url' = ANY ($16::text[]) THEN NULL ELSE coalesce($15, callback_url) END, \
    updated_at = now() WHERE id = $1 AND organization_id = $2";
/// $2: cron expression, $3: first time. [`ONCE`] takes the same parameters with $2 null.
const RECUR: &str = "UPDATE tasks SET schedule_type = 'cron', cron_expression = $2, next_run_at = $3, \
    scheduled_at = NULL WHERE id = $1";
const ONCE: &str = "UPDATE tasks SET schedule_type = 'once', cron_expression = $2, next_run_at = NULL, \
    scheduled_at = $3 WHERE id = $1";
const EXECUTION: &str = "INSERT INTO executions (id, task_id, scheduled_for) VALUES ($1, $2, $3)";
/// A rescheduled task has no other pending executions.
const DELETE_PENDING: &str = "DELETE FROM executions WHERE task_id = $1 AND status = 'pending'";
/// Executions of a task, if it is the organization's.
const DELETE_EXECUTIONS: &str =
    "DELETE FROM executions e USING tasks t WHERE t.id = $1 AND t.organization_id = $2 AND e.task_id = $1";
const SET_QUEUE: &str = "UPDATE executions e SET lane = CASE WHEN t.queue IS NOT NULL \
    THEN t.organization_id || '/' || t.queue END FROM tasks t \
    WHERE t.id = $1 AND e.task_id = $1 AND e.status = 'pending'";

impl RequestTransaction<'_> {
    /// Changes a task.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails.
    pub async fn change(&self, id: Uuid, change: &Change, now: Timestamp) -> Result<Task, Refusal> {
        let transaction = &self.transaction;
        let parts = &change.parts;
        let statement = transaction.prepare_cached(CHANGE).await?;
        let changed = transaction
            .execute(
                &statement,
                &[
                    &id,
                    &self.organization,
                    &parts.name,
                    &parts.url,
                    &parts.method,
                    &parts.headers,
                    &parts.body,
                    &parts.timeout_ms,
                    &parts.retry_attempts,
                    &parts.muted,
                    &parts.enabled,
                    &parts.expected_status_codes,
                    &parts.expected_body_pattern,
                    &parts.queue,
                    &parts.callback_url,
                    &change.cleared,
                ],
            )
            .await?;
        if changed == 0 {
            return Err(Refusal::NoTask);
        }
        if let Some(when) = &change.when {
            reschedule(transaction, id, when).await?;
        }
        transaction.execute(&transaction.prepare_cached(SET_QUEUE).await?, &[&id]).await?;
        if change.parts.enabled == Some(true) {
            resume(transaction, id, now).await?;
        }
        self.show(id).await
    }

    /// Deletes a task and its executions. A call in progress continues; its result is refused.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails.
    pub async fn delete(&self, id: Uuid) -> Result<(), Refusal> {
        // Locks in the order of result writes, executions before their task; then deletes executions that came in between.
        let statement = self.transaction.prepare_cached(DELETE_EXECUTIONS).await?;
        self.transaction.execute(&statement, &[&id, &self.organization]).await?;
        let sql = "DELETE FROM tasks WHERE id = $1 AND organization_id = $2";
        let statement = self.transaction.prepare_cached(sql).await?;
        if self.transaction.execute(&statement, &[&id, &self.organization]).await? == 0 {
            return Err(Refusal::NoTask);
        }
        let statement = self.transaction.prepare_cached("DELETE FROM executions WHERE task_id = $1").await?;
        self.transaction.execute(&statement, &[&id]).await?;
        Ok(())
    }

    /// Writes one more execution of a task.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails.
    pub async fn trigger(&self, id: Uuid, at: Timestamp) -> Result<Uuid, Refusal> {
        let sql = "INSERT INTO executions (id, task_id, scheduled_for, lane) SELECT $1::uuid, t.id, $4::timestamptz, \
                   CASE WHEN t.queue IS NOT NULL THEN t.organization_id || '/' || t.queue END \
                   FROM tasks t WHERE t.id = $2 AND t.organization_id = $3";
        let execution = Uuid::now_v7();
        let statement = self.transaction.prepare_cached(sql).await?;
        if self.transaction.execute(&statement, &[&execution, &id, &self.organization, &at]).await? == 0 {
            return Err(Refusal::NoTask);
        }
        Ok(execution)
    }

    /// The current state of a task.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails.
    pub async fn show(&self, id: Uuid) -> Result<Task, Refusal> {
        let statement = self.transaction.prepare_cached(&of_one()).await?;
        let row = self.transaction.query_opt(&statement, &[&id, &self.organization]).await?;
        row.as_ref().map(task).ok_or(Refusal::NoTask)
    }
}

/// Reschedules a task to a new time only.
async fn reschedule(transaction: &Transaction<'_>, id: Uuid, when: &When) -> Result<(), Refusal> {
    let (sql, cron, time) = match when {
        When::Cron(text, first) => (RECUR, Some(text.as_str()), *first),
        When::At(time) => (ONCE, None, *time),
        When::Now => return Ok(()),
    };
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&id, &cron, &time]).await?;
    transaction.execute(&transaction.prepare_cached(DELETE_PENDING).await?, &[&id]).await?;
    if cron.is_none() {
        let statement = transaction.prepare_cached(EXECUTION).await?;
        transaction.execute(&statement, &[&Uuid::now_v7(), &id, &time]).await?;
    }
    Ok(())
}

/// Resumes a re-enabled recurring task from now: times while disabled do not count as missed.
async fn resume(transaction: &Transaction<'_>, id: Uuid, now: Timestamp) -> Result<(), Refusal> {
    let sql = "SELECT cron_expression FROM tasks WHERE id = $1 AND schedule_type = 'cron'";
    let row = transaction.query_opt(&transaction.prepare_cached(sql).await?, &[&id]).await?;
    let cron = row.and_then(|row| Recurrence::read(row.get(0)));
    let Some(next) = cron.and_then(|cron| cron.next(now)) else { return Ok(()) };
    let sql = "UPDATE tasks SET next_run_at = greatest(next_run_at, $2) WHERE id = $1";
    transaction.execute(&transaction.prepare_cached(sql).await?, &[&id, &next]).await?;
    Ok(())
}
