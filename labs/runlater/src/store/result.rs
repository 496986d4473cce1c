//! Results of executions, and what is counted with them.
//!
//! Invariant: a result is written only by whoever has the execution: it still runs, and was claimed no more since.
//! The next try of a call that failed is written in the same statement.

use std::collections::HashSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::create::each;
use super::{Store, kept};
use crate::config::switch::{LastExecWrite, StoreResult, Switches};
use crate::job::{Job, Verdict};
use crate::refusal::Refusal;

/// A result that is to be written.
#[derive(Debug, Clone)]
pub struct Record {
    /// Whose.
    pub job: std::sync::Arc<Job>,
    /// What.
    pub verdict: Verdict,
    /// When it was known.
    pub at: Timestamp,
    /// Id of the next try, if there is one.
    pub next: Option<Uuid>,
}

/// The statement, as the switches have it.
pub(super) struct Sql {
    write: String,
    is_alone: bool,
}

impl Sql {
    pub(super) fn of(switches: &Switches) -> Self {
        // Whoever has it is its node, and nobody is when it does not run. Its status would say the same, and lead by way of all
        // that run, and of all that ran and are not cleaned away yet. Everything else comes from what was accepted: a join of
        // two lists without an index takes the square of their length.
        let touched = if switches.last_exec_write == LastExecWrite::WithResult {
            // A task may have ended twice in a batch, and an older end comes late. All nodes take tasks in the same order, so that
            // none waits for one that waits for it.
            ", touched AS (UPDATE tasks t SET last_execution_at = l.at FROM \
             (SELECT task_id, max(at) AS at FROM done GROUP BY task_id ORDER BY task_id) l \
             WHERE t.id = l.task_id AND (t.last_execution_at IS NULL OR t.last_execution_at < l.at))"
        } else {
            ""
        };
        let write = format!(
            "WITH r AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::int[], $4::text[], $5::int[], \
             $6::int[], $7::text[], $8::text[], $9::timestamptz[], $10::uuid[], $11::timestamptz[], $12::int[], \
             $13::text[]) AS r(id, due, claim, status, status_code, \
             duration_ms, response_body, error_message, at, next, next_at, attempt, lane)), \
             done AS (UPDATE executions e SET status = r.status, finished_at = r.at, status_code = r.status_code, \
             duration_ms = r.duration_ms, response_body = r.response_body, error_message = r.error_message, \
             node = NULL FROM r WHERE e.id = r.id AND e.scheduled_for = r.due AND e.claim = r.claim \
             AND e.node IS NOT NULL RETURNING e.id, e.claim, e.task_id, r.at, r.next, r.next_at, r.attempt, r.lane), \
             again AS (INSERT INTO executions (id, task_id, scheduled_for, attempt, lane) \
             SELECT next, task_id, next_at, attempt + 1, lane FROM done WHERE next IS NOT NULL){touched} \
             SELECT id, claim FROM done"
        );
        Self { write, is_alone: switches.store_result == StoreResult::Each }
    }
}

impl Store {
    /// Writes results, all or none, and says which claims' were accepted. The others belong to somebody else by now.
    ///
    /// # Errors
    /// PostgreSQL fails. Whether they were written is not known then; they may be written again.
    pub async fn write_results(&self, records: &[Record]) -> Result<HashSet<(Uuid, i32)>, Refusal> {
        let client = if self.result.is_alone { self.get_at_last().await? } else { self.get_own().await? };
        let statement = kept(&client, &self.result.write).await?;
        let rows = client
            .query(
                &statement,
                &[
                    &each(records, |record| record.job.id),
                    &each(records, |record| record.job.due),
                    &each(records, |record| record.job.claim),
                    &each(records, |record| record.verdict.status),
                    &each(records, |record| record.verdict.status_code),
                    &each(records, |record| record.verdict.duration_ms),
                    &each(records, |record| record.verdict.response_body.as_deref()),
                    &each(records, |record| record.verdict.error_message.as_deref()),
                    &each(records, |record| record.at),
                    &each(records, |record| record.next),
                    &each(records, |record| record.verdict.retry_at),
                    &each(records, |record| record.job.attempt),
                    &each(records, |record| record.job.lane.as_deref()),
                ],
            )
            .await?;
        self.metrics.result_statements.inc();
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Which of these ended as these records say: asked when it is not known whether they were written.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn written(&self, records: &[Record]) -> Result<HashSet<(Uuid, i32)>, Refusal> {
        let client = self.get_own().await?;
        let sql = "SELECT e.id, e.claim FROM unnest($1::uuid[], $2::timestamptz[], $3::int[]) AS r(id, due, claim) \
                   JOIN executions e ON e.id = r.id AND e.scheduled_for = r.due AND e.claim = r.claim \
                   WHERE e.finished_at IS NOT NULL";
        let statement = kept(&client, sql).await?;
        let (ids, due) = (each(records, |record| record.job.id), each(records, |record| record.job.due));
        let rows = client.query(&statement, &[&ids, &due, &each(records, |record| record.job.claim)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Writes when one task last ran.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn write_last_execution(&self, task: Uuid, at: Timestamp) -> Result<(), Refusal> {
        let client = self.get_at_last().await?;
        let sql = "UPDATE tasks SET last_execution_at = $2 WHERE id = $1 \
                   AND (last_execution_at IS NULL OR last_execution_at < $2)";
        client.execute(&kept(&client, sql).await?, &[&task, &at]).await?;
        self.metrics.last_exec_writes.inc();
        Ok(())
    }

    /// Adds to the count of the executions of an organization in this month.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn count_executions(&self, organization: Uuid, count: i32) -> Result<(), Refusal> {
        let client = self.get_at_last().await?;
        let sql =
            "UPDATE organizations SET monthly_execution_count = monthly_execution_count + $2 WHERE id = $1";
        client.execute(&kept(&client, sql).await?, &[&organization, &count]).await?;
        self.metrics.month_writes.inc();
        Ok(())
    }
}
