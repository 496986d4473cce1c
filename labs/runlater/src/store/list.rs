//! Lists and single rows, as shown to clients.
//!
//! Does not encode them.

use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Store, prepared};
use crate::config::switch::{ListQuery, ListTotal, Switches};
use crate::metric::Backlog;
use crate::refusal::Refusal;
use crate::stamp::Stamp;
use crate::task::{Execution, Task};

/// Columns of a task, in the order that [`task`] reads them.
const COLUMNS: &str = "t.id, t.name, t.url, t.method, t.headers::text, t.body, t.schedule_type, \
    t.cron_expression, t.scheduled_at, t.enabled, t.timeout_ms, t.retry_attempts, t.muted, \
    t.expected_status_codes, t.expected_body_pattern, t.queue, t.callback_url, t.next_run_at, \
    t.last_execution_at, t.inserted_at, t.updated_at";

/// Filter by queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// All.
    Any,
    /// Tasks without a queue.
    None,
    /// Tasks of a queue.
    Named(String),
}

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Whether more tasks follow.
    pub has_more: bool,
    /// Number of tasks, if counted.
    pub total: Option<i64>,
}

/// The statements, built from the switches.
pub(super) struct Sql {
    join: &'static str,
    order: &'static str,
    counts: bool,
}

impl Sql {
    pub(super) fn of(switches: &Switches) -> Self {
        let join = match switches.list_query {
            ListQuery::GlobalGroup => {
                "LEFT JOIN (SELECT task_id, max(scheduled_for) AS last FROM executions GROUP BY task_id) l \
                 ON l.task_id = t.id"
            }
            ListQuery::ScopedGroup => {
                "LEFT JOIN (SELECT task_id, max(scheduled_for) AS last FROM executions \
                 WHERE task_id IN (SELECT id FROM tasks WHERE organization_id = $1) GROUP BY task_id) l \
                 ON l.task_id = t.id"
            }
            ListQuery::Lateral => {
                "LEFT JOIN LATERAL (SELECT scheduled_for AS last FROM executions WHERE task_id = t.id \
                 ORDER BY scheduled_for DESC LIMIT 1) l ON true"
            }
            ListQuery::Denorm => "",
        };
        let order = match switches.list_query {
            ListQuery::Denorm => "t.last_execution_at DESC NULLS LAST, t.inserted_at DESC",
            _ => "l.last DESC NULLS LAST, t.inserted_at DESC",
        };
        Self { join, order, counts: switches.list_total == ListTotal::Count }
    }
}

impl Queue {
    fn condition(&self) -> &'static str {
        match self {
            Self::Any => "AND $2::text IS NULL",
            Self::None => "AND t.queue IS NULL AND $2::text IS NULL",
            Self::Named(_) => "AND t.queue = $2::text",
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Any | Self::None => None,
        }
    }
}

impl Store {
    /// A page of an organization's tasks, latest run first.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn list(
        &self,
        organization: Uuid,
        queue: &Queue,
        limit: i64,
        offset: i64,
    ) -> Result<Page, Refusal> {
        let client = self.get().await?;
        let (Sql { join, order, counts }, condition) = (&self.list, queue.condition());
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t {join} WHERE t.organization_id = $1 {condition} \
             ORDER BY {order} LIMIT $3 OFFSET $4"
        );
        let wanted = if *counts { limit } else { limit + 1 };
        let rows = client
            .query(&prepared(&client, &sql).await?, &[&organization, &queue.name(), &wanted, &offset])
            .await?;
        let length = usize::try_from(limit).unwrap_or_default();
        let tasks: Vec<Task> = rows.iter().take(length).map(task).collect();
        if !counts {
            return Ok(Page { has_more: rows.len() > length, tasks, total: None });
        }
        let sql = format!("SELECT count(*) FROM tasks t WHERE t.organization_id = $1 {condition}");
        let total: i64 =
            client.query_one(&prepared(&client, &sql).await?, &[&organization, &queue.name()]).await?.get(0);
        Ok(Page { has_more: offset.saturating_add(limit) < total, tasks, total: Some(total) })
    }

    /// One task.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails; no connection is free.
    pub async fn show(&self, organization: Uuid, id: Uuid) -> Result<Task, Refusal> {
        let client = self.get().await?;
        let row = client.query_opt(&prepared(&client, &of_one()).await?, &[&id, &organization]).await?;
        row.as_ref().map(task).ok_or(Refusal::NoTask)
    }

    /// The executions of a task, newest first.
    ///
    /// # Errors
    /// There is no such task; PostgreSQL fails; no connection is free.
    pub async fn executions(
        &self,
        organization: Uuid,
        id: Uuid,
        limit: i64,
    ) -> Result<Vec<Execution>, Refusal> {
        self.show(organization, id).await?;
        let client = self.get().await?;
        let sql = "SELECT id, status, scheduled_for, started_at, finished_at, status_code, duration_ms, \
                   error_message, attempt FROM executions WHERE task_id = $1 \
                   ORDER BY scheduled_for DESC, attempt DESC LIMIT $2";
        let rows = client.query(&prepared(&client, sql).await?, &[&id, &limit]).await?;
        Ok(rows.iter().map(execution).collect())
    }

    /// The backlog over all nodes. Requests that arrive during a count share the next one:
    /// a count reads everything that waits, and needs no key.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn backlog(&self) -> Result<Backlog, Refusal> {
        let asked = Instant::now();
        let mut last = self.backlog.lock().await;
        if let Some((begun, backlog)) = *last
            && begun >= asked
        {
            return Ok(backlog);
        }
        let begun = Instant::now();
        let backlog = self.count_backlog().await?;
        *last = Some((begun, backlog));
        Ok(backlog)
    }

    async fn count_backlog(&self) -> Result<Backlog, Refusal> {
        let client = self.get_background().await?;
        let sql = "SELECT count(*) FILTER (WHERE scheduled_for <= now()), \
                   count(*) FILTER (WHERE scheduled_for > now()), \
                   coalesce(greatest(extract(epoch FROM now() - min(scheduled_for)) * 1000, 0), 0)::bigint, \
                   (SELECT count(*) FROM executions WHERE status = 'running') \
                   FROM (SELECT scheduled_for FROM executions WHERE status = 'pending' AND lane IS NULL \
                   UNION ALL SELECT scheduled_for FROM executions \
                   WHERE lane IS NOT NULL AND status = 'pending') p";
        let row = client.query_one(&prepared(&client, sql).await?, &[]).await?;
        Ok(Backlog { due: row.get(0), later: row.get(1), oldest_ms: row.get(2), running: row.get(3) })
    }
}

/// $1 the task, $2 its organization.
pub(super) fn of_one() -> String {
    format!("SELECT {COLUMNS} FROM tasks t WHERE t.id = $1 AND t.organization_id = $2")
}

/// A row of [`COLUMNS`].
pub(super) fn task(row: &Row) -> Task {
    let stamp = |column: usize| row.get::<_, Option<Timestamp>>(column).map(Stamp);
    let headers: String = row.get(4);
    Task {
        id: row.get(0),
        name: row.get(1),
        url: row.get(2),
        method: row.get(3),
        // A jsonb is JSON.
        headers: RawValue::from_string(headers).unwrap_or_default(),
        body: row.get(5),
        schedule_type: row.get(6),
        cron_expression: row.get(7),
        scheduled_at: stamp(8),
        enabled: row.get(9),
        timeout_ms: row.get(10),
        retry_attempts: row.get(11),
        muted: row.get(12),
        expected_status_codes: row.get(13),
        expected_body_pattern: row.get(14),
        queue: row.get(15),
        callback_url: row.get(16),
        next_run_at: stamp(17),
        last_execution_at: stamp(18),
        inserted_at: Stamp(row.get(19)),
        updated_at: Stamp(row.get(20)),
    }
}

fn execution(row: &Row) -> Execution {
    let stamp = |column: usize| row.get::<_, Option<Timestamp>>(column).map(Stamp);
    Execution {
        id: row.get(0),
        status: row.get(1),
        scheduled_for: Stamp(row.get(2)),
        started_at: stamp(3),
        finished_at: stamp(4),
        status_code: row.get(5),
        duration_ms: row.get(6),
        error_message: row.get(7),
        attempt: row.get(8),
    }
}
