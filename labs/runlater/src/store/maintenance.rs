//! Maintenance statements: heartbeats, rescue of executions of dead nodes, deletion of old rows.
//!
//! Uses only PostgreSQL's clock: the clocks of nodes can differ.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::{Store, prepared};
use crate::refusal::Refusal;

/// Rows per delete statement, so that none blocks others for long.
const BATCH: i64 = 5000;
/// Ids begin with the milliseconds since the epoch at which they were made (RFC 9562, version 7): those below this one are
/// more than a week old, and the index on ids finds them.
const WEEK_OLD: &str = "(lpad(to_hex((extract(epoch FROM now() - interval '7 days') * 1000)::bigint), 12, '0') \
                        || repeat('0', 20))::uuid";
/// And more than 30 days.
const MONTH_OLD: &str = "(lpad(to_hex((extract(epoch FROM now() - interval '30 days') * 1000)::bigint), 12, '0') \
                         || repeat('0', 20))::uuid";
/// Returns the page's last id, its length, and the number of rows deleted.
const PAGE_READ: &str = "SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1), (SELECT count(*) FROM page), \
                         (SELECT count(*) FROM gone)";
/// Interval between complete scans.
const RESCAN_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// How far rows were scanned that are old enough to delete for some tiers only. Most stay for weeks and need not be
/// read in each round.
#[derive(Debug)]
pub struct ScanPosition {
    until: Uuid,
    since: Instant,
}

impl ScanPosition {
    /// At the beginning.
    pub fn start() -> Self {
        Self { until: Uuid::nil(), since: Instant::now() }
    }

    fn begin(&mut self) {
        if self.since.elapsed() >= RESCAN_INTERVAL {
            *self = Self::start();
        }
    }
}

impl Store {
    /// Records a heartbeat.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn heartbeat(&self, node: i64) -> Result<(), Refusal> {
        let client = self.get_background().await?;
        let sql =
            "INSERT INTO nodes (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp()";
        client.execute(&prepared(&client, sql).await?, &[&node]).await?;
        Ok(())
    }

    /// Frees the executions of nodes without a heartbeat for `lease`; returns how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn rescue(&self, node: i64, lease: Duration) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let sql = "UPDATE executions e SET status = 'pending', node = NULL, started_at = NULL \
                   WHERE e.status = 'running' AND e.node <> $2 AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = e.node \
                   AND n.beat_at > now() - make_interval(secs => $1))";
        let rescued = client.execute(&prepared(&client, sql).await?, &[&lease.as_secs_f64(), &node]).await?;
        self.metrics.rescued.inc_by(rescued);
        // Dead nodes stay listed for an hour, for operators.
        let sql = "DELETE FROM nodes WHERE beat_at < now() - make_interval(secs => $1) - interval '1 hour'";
        client.execute(&prepared(&client, sql).await?, &[&lease.as_secs_f64()]).await?;
        Ok(rescued)
    }

    /// As published: fails executions that run for more than five minutes, on any node.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn fail_old(&self) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let sql = "UPDATE executions SET status = 'failed', node = NULL, finished_at = now(), \
                   error_message = 'no result within 5 minutes' \
                   WHERE status = 'running' AND started_at < now() - interval '5 minutes'";
        let failed = client.execute(&prepared(&client, sql).await?, &[]).await?;
        self.metrics.rescued.inc_by(failed);
        Ok(failed)
    }

    /// Frees executions claimed by this node that it does not hold: their claim's response was lost.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn reconcile(&self, node: i64, held: &[Uuid]) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let sql = "UPDATE executions SET status = 'pending', node = NULL, started_at = NULL \
                   WHERE status = 'running' AND node = $1 AND id <> ALL ($2)";
        Ok(client.execute(&prepared(&client, sql).await?, &[&node, &held]).await?)
    }

    /// Removes a stopping node and frees its unfinished executions; returns how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn leave(&self, node: i64) -> Result<u64, Refusal> {
        let freed = self.reconcile(node, &[]).await?;
        let client = self.get_background().await?;
        client.execute(&prepared(&client, "DELETE FROM nodes WHERE id = $1").await?, &[&node]).await?;
        Ok(freed)
    }

    /// Deletes executions past the retention of their organization's tier, 7 or 30 days. Returns
    /// how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn delete_old_executions(&self, position: &mut ScanPosition) -> Result<u64, Refusal> {
        let old = format!(
            "DELETE FROM executions WHERE (id, scheduled_for) IN (SELECT e.id, e.scheduled_for FROM executions e \
             WHERE e.id < {MONTH_OLD} AND e.status NOT IN ('pending', 'running') \
             AND e.scheduled_for < now() - interval '30 days' LIMIT $1)"
        );
        let page = format!(
            "WITH page AS MATERIALIZED (SELECT id, scheduled_for, task_id, status FROM executions \
             WHERE id > $2 AND id < {WEEK_OLD} ORDER BY id LIMIT $1), \
             gone AS (DELETE FROM executions e USING page p LEFT JOIN tasks t ON t.id = p.task_id \
             LEFT JOIN organizations o ON o.id = t.organization_id \
             WHERE e.id = p.id AND e.scheduled_for = p.scheduled_for AND p.status NOT IN ('pending', 'running') \
             AND p.scheduled_for < now() - interval '7 days' AND o.tier IS DISTINCT FROM 'pro' RETURNING 1) \
             {PAGE_READ}"
        );
        Ok(self.delete_in_batches(&old).await? + self.scan_on(&page, position).await?)
    }

    /// Deletes one-time tasks without executions. Returns how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn delete_old_tasks(&self, position: &mut ScanPosition) -> Result<u64, Refusal> {
        let page = format!(
            "WITH page AS MATERIALIZED (SELECT id, schedule_type, scheduled_at FROM tasks \
             WHERE id > $2 AND id < {WEEK_OLD} ORDER BY id LIMIT $1), \
             gone AS (DELETE FROM tasks t USING page p WHERE t.id = p.id AND p.schedule_type = 'once' \
             AND p.scheduled_at < now() - interval '7 days' \
             AND NOT EXISTS (SELECT FROM executions e WHERE e.task_id = p.id) RETURNING 1) {PAGE_READ}"
        );
        self.scan_on(&page, position).await
    }

    /// Deletes idempotency keys older than a day. Returns how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn delete_old_keys(&self) -> Result<u64, Refusal> {
        let old = "DELETE FROM idempotency_keys WHERE (organization_id, key) IN (SELECT organization_id, key \
                   FROM idempotency_keys WHERE inserted_at < now() - interval '24 hours' LIMIT $1)";
        self.delete_in_batches(old).await
    }

    /// Repeats a delete statement until nothing is left.
    async fn delete_in_batches(&self, sql: &str) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let statement = prepared(&client, sql).await?;
        let mut all = 0;
        loop {
            let gone = client.execute(&statement, &[&BATCH]).await?;
            all += gone;
            if gone < BATCH.unsigned_abs() {
                return Ok(all);
            }
        }
    }

    /// Continues a scan: reads the next rows and deletes those past retention.
    async fn scan_on(&self, sql: &str, position: &mut ScanPosition) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let statement = prepared(&client, sql).await?;
        position.begin();
        let mut all = 0;
        loop {
            let row = client.query_one(&statement, &[&BATCH, &position.until]).await?;
            let (last, read, gone): (Option<Uuid>, i64, i64) = (row.get(0), row.get(1), row.get(2));
            all += gone.unsigned_abs();
            position.until = last.unwrap_or(position.until);
            if read < BATCH {
                return Ok(all);
            }
        }
    }

    /// Resets the monthly execution counts in a new month.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn begin_month(&self) -> Result<u64, Refusal> {
        let client = self.get_background().await?;
        let sql = "UPDATE organizations SET monthly_execution_count = 0, monthly_execution_reset_at = now() \
                   WHERE monthly_execution_reset_at < date_trunc('month', now())";
        Ok(client.execute(&prepared(&client, sql).await?, &[]).await?)
    }

    /// Notifies all listening nodes.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn notify(&self, channel: &str) -> Result<(), Refusal> {
        let client = self.get_background().await?;
        client.execute(&prepared(&client, "SELECT pg_notify($1, '')").await?, &[&channel]).await?;
        Ok(())
    }
}
