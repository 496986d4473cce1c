//! Results of executions, and what is counted with them.
//!
//! Invariant: only the owner of an execution writes its result: it still runs and was not claimed again.
//! The same statement writes the retry of a failed call.

use std::collections::HashSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::create::each;
use super::{Store, prepared};
use crate::config::switch::{LastExecWrite, StoreResult, Switches};
use crate::job::{ExecutionResult, Job};
use crate::refusal::Refusal;

/// A result to write.
#[derive(Debug, Clone)]
pub struct Record {
    /// Job.
    pub job: std::sync::Arc<Job>,
    /// Result.
    pub result: ExecutionResult,
    /// Time of the result.
    pub at: Timestamp,
    /// Id of the retry, if any.
    pub next: Option<Uuid>,
}

/// The statement, built from the switches.
pub(super) struct Sql {
    write: String,
    is_alone: bool,
}

impl Sql {
    pub(super) fn of(switches: &Switches) -> Self {
        // Matches by node, which is NULL unless the execution runs. Matching by status would scan all
        // running executions, and those that ran until vacuum. All else derives from the accepted rows: a join of
        // two lists without an index takes quadratic time.
        let touched = if switches.last_exec_write == LastExecWrite::WithResult {
            // A task can end twice in a batch, and out of order. All nodes lock tasks in the same order, which avoids
            // deadlocks.
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
    /// Writes results, all or none; returns the accepted claims. The others belong to other nodes by now.
    ///
    /// # Errors
    /// PostgreSQL fails; the results may have been written. Writing again is safe.
    pub async fn write_results(&self, records: &[Record]) -> Result<HashSet<(Uuid, i32)>, Refusal> {
        let client =
            if self.result.is_alone { self.get_for_worker().await? } else { self.get_background().await? };
        let statement = prepared(&client, &self.result.write).await?;
        let rows = client
            .query(
                &statement,
                &[
                    &each(records, |record| record.job.id),
                    &each(records, |record| record.job.due),
                    &each(records, |record| record.job.claim),
                    &each(records, |record| record.result.status),
                    &each(records, |record| record.result.status_code),
                    &each(records, |record| record.result.duration_ms),
                    &each(records, |record| record.result.response_body.as_deref()),
                    &each(records, |record| record.result.error_message.as_deref()),
                    &each(records, |record| record.at),
                    &each(records, |record| record.next),
                    &each(records, |record| record.result.retry_at),
                    &each(records, |record| record.job.attempt),
                    &each(records, |record| record.job.queue_key.as_deref()),
                ],
            )
            .await?;
        self.metrics.result_statements.inc();
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Which of these results are in the table already, if an earlier write may have succeeded.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn written(&self, records: &[Record]) -> Result<HashSet<(Uuid, i32)>, Refusal> {
        let client = self.get_background().await?;
        let sql = "SELECT e.id, e.claim FROM unnest($1::uuid[], $2::timestamptz[], $3::int[]) AS r(id, due, claim) \
                   JOIN executions e ON e.id = r.id AND e.scheduled_for = r.due AND e.claim = r.claim \
                   WHERE e.finished_at IS NOT NULL";
        let statement = prepared(&client, sql).await?;
        let (ids, due) = (each(records, |record| record.job.id), each(records, |record| record.job.due));
        let rows = client.query(&statement, &[&ids, &due, &each(records, |record| record.job.claim)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Writes the last execution of a task.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn write_last_execution(&self, task: Uuid, at: Timestamp) -> Result<(), Refusal> {
        let client = self.get_for_worker().await?;
        let sql = "UPDATE tasks SET last_execution_at = $2 WHERE id = $1 \
                   AND (last_execution_at IS NULL OR last_execution_at < $2)";
        client.execute(&prepared(&client, sql).await?, &[&task, &at]).await?;
        self.metrics.last_exec_writes.inc();
        Ok(())
    }

    /// Adds to the count of the executions of an organization in this month.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn count_executions(&self, organization: Uuid, count: i32) -> Result<(), Refusal> {
        let client = self.get_for_worker().await?;
        let sql =
            "UPDATE organizations SET monthly_execution_count = monthly_execution_count + $2 WHERE id = $1";
        client.execute(&prepared(&client, sql).await?, &[&organization, &count]).await?;
        self.metrics.month_writes.inc();
        Ok(())
    }
}
