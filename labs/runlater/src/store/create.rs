//! New tasks and their first executions.
//!
//! Does not validate; [`crate::draft`] did.

use deadpool_postgres::Transaction;
use jiff::Timestamp;
use uuid::Uuid;

use super::transaction::RequestTransaction;
use super::{Store, prepared};
use crate::refusal::Refusal;

/// A task to write.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its id.
    pub id: Uuid,
    /// Id of its first execution; `None` for recurring tasks.
    pub execution: Option<Uuid>,
    /// Organization.
    pub organization: Uuid,
    /// Name.
    pub name: String,
    /// Target address.
    pub url: String,
    /// Method.
    pub method: String,
    /// Headers, as a JSON object of strings.
    pub headers: String,
    /// The body.
    pub body: Option<String>,
    /// Cron expression of a recurring task.
    pub cron: Option<String>,
    /// First due time.
    pub due: Timestamp,
    /// Whether it is executed.
    pub enabled: bool,
    /// Most attempts.
    pub retry_attempts: i32,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: i32,
    /// Whether notifications are off.
    pub muted: bool,
    /// Address for callbacks with results.
    pub callback_url: Option<String>,
    /// Status codes that count as success.
    pub expected_status_codes: Option<String>,
    /// Text that the response must contain.
    pub expected_body_pattern: Option<String>,
    /// The queue.
    pub queue: Option<String>,
}

impl NewTask {
    /// Organization and queue.
    pub fn queue_key(&self) -> Option<String> {
        self.queue.as_ref().map(|queue| format!("{}/{queue}", self.organization))
    }
}

const TASK: &str = "INSERT INTO tasks (id, organization_id, name, url, method, headers, body, schedule_type, \
    cron_expression, scheduled_at, enabled, retry_attempts, timeout_ms, next_run_at, muted, callback_url, \
    expected_status_codes, expected_body_pattern, queue) \
    VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
const EXECUTION: &str = "INSERT INTO executions (id, task_id, scheduled_for, lane) VALUES ($1, $2, $3, $4)";
const AGAIN: &str = "UPDATE tasks SET next_run_at = NULL, updated_at = now() WHERE id = $1";
const MANY: &str = "WITH new AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], \
    $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::bool[], $11::int[], $12::int[], $13::bool[], \
    $14::text[], $15::text[], $16::text[], $17::text[], $18::text[]) AS n(id, execution, organization_id, name, url, \
    method, headers, body, scheduled_at, enabled, retry_attempts, timeout_ms, muted, callback_url, \
    expected_status_codes, expected_body_pattern, queue, lane)), \
    made AS (INSERT INTO tasks (id, organization_id, name, url, method, headers, body, schedule_type, scheduled_at, \
    enabled, retry_attempts, timeout_ms, muted, callback_url, expected_status_codes, expected_body_pattern, queue) \
    SELECT id, organization_id, name, url, method, headers::jsonb, body, 'once', scheduled_at, enabled, \
    retry_attempts, timeout_ms, muted, callback_url, expected_status_codes, expected_body_pattern, queue FROM new) \
    INSERT INTO executions (id, task_id, scheduled_for, lane) SELECT execution, id, scheduled_at, lane FROM new";

impl Store {
    /// Writes one-time tasks and their executions in one statement: all or none.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create_many(&self, tasks: &[NewTask]) -> Result<(), Refusal> {
        let client = self.get_background().await?;
        let statement = prepared(&client, MANY).await?;
        client
            .execute(
                &statement,
                &[
                    &each(tasks, |task| task.id),
                    &each(tasks, |task| task.execution),
                    &each(tasks, |task| task.organization),
                    &each(tasks, |task| task.name.as_str()),
                    &each(tasks, |task| task.url.as_str()),
                    &each(tasks, |task| task.method.as_str()),
                    &each(tasks, |task| task.headers.as_str()),
                    &each(tasks, |task| task.body.as_deref()),
                    &each(tasks, |task| task.due),
                    &each(tasks, |task| task.enabled),
                    &each(tasks, |task| task.retry_attempts),
                    &each(tasks, |task| task.timeout_ms),
                    &each(tasks, |task| task.muted),
                    &each(tasks, |task| task.callback_url.as_deref()),
                    &each(tasks, |task| task.expected_status_codes.as_deref()),
                    &each(tasks, |task| task.expected_body_pattern.as_deref()),
                    &each(tasks, |task| task.queue.as_deref()),
                    &each(tasks, NewTask::queue_key),
                ],
            )
            .await?;
        self.metrics.create_statements.inc();
        self.metrics.created.inc_by(tasks.len() as u64);
        Ok(())
    }
}

impl RequestTransaction<'_> {
    /// Writes one task, and its execution if it has one. `again` writes a task that runs once another time, as was
    /// published first.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(&self, task: &NewTask, again: bool) -> Result<(), Refusal> {
        insert(&self.transaction, task).await?;
        if again && task.execution.is_some() {
            let statement = self.transaction.prepare_cached(AGAIN).await?;
            self.transaction.execute(&statement, &[&task.id]).await?;
        }
        Ok(())
    }
}

/// Writes a task, and its execution if it has one.
async fn insert(transaction: &Transaction<'_>, task: &NewTask) -> Result<(), Refusal> {
    let statement = transaction.prepare_cached(TASK).await?;
    let kind = if task.cron.is_some() { "cron" } else { "once" };
    let once = task.cron.is_none().then_some(task.due);
    let next = task.cron.is_some().then_some(task.due);
    transaction
        .execute(
            &statement,
            &[
                &task.id,
                &task.organization,
                &task.name,
                &task.url,
                &task.method,
                &task.headers,
                &task.body,
                &kind,
                &task.cron,
                &once,
                &task.enabled,
                &task.retry_attempts,
                &task.timeout_ms,
                &next,
                &task.muted,
                &task.callback_url,
                &task.expected_status_codes,
                &task.expected_body_pattern,
                &task.queue,
            ],
        )
        .await?;
    if let Some(execution) = task.execution {
        let statement = transaction.prepare_cached(EXECUTION).await?;
        transaction.execute(&statement, &[&execution, &task.id, &task.due, &task.queue_key()]).await?;
    }
    Ok(())
}

/// One array element per task.
pub(super) fn each<'a, T, R>(items: &'a [T], column: impl Fn(&'a T) -> R) -> Vec<R> {
    items.iter().map(column).collect()
}
