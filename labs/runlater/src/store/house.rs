//! Nodes and their signs of life, what becomes of the work of those that are gone, and what is forgotten in time.
//!
//! All of it goes by the clock of PostgreSQL: the clocks of nodes may differ.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::{Store, kept};
use crate::refusal::Refusal;

/// Rows that are deleted by one statement, so that none holds others up for long.
const SWEEP: i64 = 5000;
/// Ids begin with the milliseconds since the epoch at which they were made (RFC 9562, version 7): those below this one are
/// more than a week old, and the index on ids finds them.
const WEEK_OLD: &str = "(lpad(to_hex((extract(epoch FROM now() - interval '7 days') * 1000)::bigint), 12, '0') \
                        || repeat('0', 20))::uuid";
/// And more than 30 days.
const MONTH_OLD: &str = "(lpad(to_hex((extract(epoch FROM now() - interval '30 days') * 1000)::bigint), 12, '0') \
                         || repeat('0', 20))::uuid";
/// Where a page ended, how long it was, and what went of it.
const PAGE_READ: &str = "SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1), (SELECT count(*) FROM page), \
                         (SELECT count(*) FROM gone)";
/// How often what stayed is looked at again.
const ANEW: Duration = Duration::from_secs(24 * 3600);

/// How far rows were looked at that are old enough for some tiers and not for others. Most of them stay for weeks, and need
/// not be read in each round.
#[derive(Debug)]
pub struct Looked {
    until: Uuid,
    since: Instant,
}

impl Looked {
    /// At nothing.
    pub fn nothing() -> Self {
        Self { until: Uuid::nil(), since: Instant::now() }
    }

    fn begin(&mut self) {
        if self.since.elapsed() >= ANEW {
            *self = Self::nothing();
        }
    }
}

impl Store {
    /// A sign of life.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn beat(&self, node: i64) -> Result<(), Refusal> {
        let client = self.get_own().await?;
        let sql =
            "INSERT INTO nodes (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp()";
        client.execute(&kept(&client, sql).await?, &[&node]).await?;
        Ok(())
    }

    /// Frees the executions of other nodes that gave no sign of life for so long, for anybody to take; says how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn rescue(&self, node: i64, lease: Duration) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let sql = "UPDATE executions e SET status = 'pending', node = NULL, started_at = NULL \
                   WHERE e.status = 'running' AND e.node <> $2 AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = e.node \
                   AND n.beat_at > now() - make_interval(secs => $1))";
        let rescued = client.execute(&kept(&client, sql).await?, &[&lease.as_secs_f64(), &node]).await?;
        self.metrics.rescued.inc_by(rescued);
        // An hour is long enough for somebody who wants to see which nodes there were.
        let sql = "DELETE FROM nodes WHERE beat_at < now() - make_interval(secs => $1) - interval '1 hour'";
        client.execute(&kept(&client, sql).await?, &[&lease.as_secs_f64()]).await?;
        Ok(rescued)
    }

    /// As published: what runs for more than five minutes has failed, whoever has it.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn fail_old(&self) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let sql = "UPDATE executions SET status = 'failed', node = NULL, finished_at = now(), \
                   error_message = 'no result within 5 minutes' \
                   WHERE status = 'running' AND started_at < now() - interval '5 minutes'";
        let failed = client.execute(&kept(&client, sql).await?, &[]).await?;
        self.metrics.rescued.inc_by(failed);
        Ok(failed)
    }

    /// Frees the executions of this node that it does not know of: a claim whose answer was lost.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn reconcile(&self, node: i64, in_hand: &[Uuid]) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let sql = "UPDATE executions SET status = 'pending', node = NULL, started_at = NULL \
                   WHERE status = 'running' AND node = $1 AND id <> ALL ($2)";
        Ok(client.execute(&kept(&client, sql).await?, &[&node, &in_hand]).await?)
    }

    /// Forgets a node that stops, and frees what it did not finish.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn leave(&self, node: i64) -> Result<u64, Refusal> {
        let freed = self.reconcile(node, &[]).await?;
        let client = self.get_own().await?;
        client.execute(&kept(&client, "DELETE FROM nodes WHERE id = $1").await?, &[&node]).await?;
        Ok(freed)
    }

    /// Deletes executions that ended so long ago that their organization's tier has no right to them: 7 days, or 30. Says
    /// how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn forget_executions(&self, looked: &mut Looked) -> Result<u64, Refusal> {
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
        Ok(self.sweep(&old).await? + self.look_on(&page, looked).await?)
    }

    /// Deletes tasks that ran once and have no execution any more. Says how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn forget_tasks(&self, looked: &mut Looked) -> Result<u64, Refusal> {
        let page = format!(
            "WITH page AS MATERIALIZED (SELECT id, schedule_type, scheduled_at FROM tasks \
             WHERE id > $2 AND id < {WEEK_OLD} ORDER BY id LIMIT $1), \
             gone AS (DELETE FROM tasks t USING page p WHERE t.id = p.id AND p.schedule_type = 'once' \
             AND p.scheduled_at < now() - interval '7 days' \
             AND NOT EXISTS (SELECT FROM executions e WHERE e.task_id = p.id) RETURNING 1) {PAGE_READ}"
        );
        self.look_on(&page, looked).await
    }

    /// Deletes idempotency keys of yesterday. Says how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn forget_keys(&self) -> Result<u64, Refusal> {
        let old = "DELETE FROM idempotency_keys WHERE (organization_id, key) IN (SELECT organization_id, key \
                   FROM idempotency_keys WHERE inserted_at < now() - interval '24 hours' LIMIT $1)";
        self.sweep(old).await
    }

    /// Deletes by a statement as long as there is more.
    async fn sweep(&self, sql: &str) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let statement = kept(&client, sql).await?;
        let mut all = 0;
        loop {
            let gone = client.execute(&statement, &[&SWEEP]).await?;
            all += gone;
            if gone < SWEEP.unsigned_abs() {
                return Ok(all);
            }
        }
    }

    /// Looks at the rows that come after those that were looked at before, and deletes of them what is to go.
    async fn look_on(&self, sql: &str, looked: &mut Looked) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let statement = kept(&client, sql).await?;
        looked.begin();
        let mut all = 0;
        loop {
            let row = client.query_one(&statement, &[&SWEEP, &looked.until]).await?;
            let (last, read, gone): (Option<Uuid>, i64, i64) = (row.get(0), row.get(1), row.get(2));
            all += gone.unsigned_abs();
            looked.until = last.unwrap_or(looked.until);
            if read < SWEEP {
                return Ok(all);
            }
        }
    }

    /// Begins to count the executions of organizations anew in a new month.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn begin_month(&self) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let sql = "UPDATE organizations SET monthly_execution_count = 0, monthly_execution_reset_at = now() \
                   WHERE monthly_execution_reset_at < date_trunc('month', now())";
        Ok(client.execute(&kept(&client, sql).await?, &[]).await?)
    }

    /// Tells all who listen.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn notify(&self, channel: &str) -> Result<(), Refusal> {
        let client = self.get_own().await?;
        client.execute(&kept(&client, "SELECT pg_notify($1, '')").await?, &[&channel]).await?;
        Ok(())
    }
}
