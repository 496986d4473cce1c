//! Nodes and their signs of life, what becomes of the work of those that are gone, and what is forgotten in time.
//!
//! All of it goes by the clock of PostgreSQL: the clocks of nodes may differ.

use std::time::Duration;

use uuid::Uuid;

use super::{Store, kept};
use crate::refusal::Refusal;

/// Rows that are deleted by one statement, so that none holds others up for long.
const SWEEP: i64 = 5000;
/// Ids begin with the milliseconds since the epoch at which they were made (RFC 9562, version 7): those below this one are
/// more than a week old, and the index on ids finds them.
const WEEK_OLD: &str = "(lpad(to_hex((extract(epoch FROM now() - interval '7 days') * 1000)::bigint), 12, '0') \
                        || repeat('0', 20))::uuid";

impl Store {
    /// A sign of life.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn beat(&self, node: i64) -> Result<(), Refusal> {
        let client = self.get_own().await?;
        let sql = "INSERT INTO nodes (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET beat_at = now()";
        client.execute(&kept(&client, sql).await?, &[&node]).await?;
        Ok(())
    }

    /// Frees the executions of nodes that gave no sign of life for so long, for others to take; says how many.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn rescue(&self, lease: Duration) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let sql = "UPDATE executions e SET status = 'pending', node = NULL, started_at = NULL \
                   WHERE e.status = 'running' AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = e.node \
                   AND n.beat_at > now() - make_interval(secs => $1))";
        let rescued = client.execute(&kept(&client, sql).await?, &[&lease.as_secs_f64()]).await?;
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

    /// Deletes executions that ended so long ago that their organization's tier has no right to them: 7 days, or 30;
    /// tasks that ran once and have no execution any more; and idempotency keys of yesterday. Says how many rows.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn forget(&self) -> Result<u64, Refusal> {
        let client = self.get_own().await?;
        let mut forgotten = 0;
        for sql in [
            format!(
                "DELETE FROM executions WHERE (id, scheduled_for) IN (SELECT e.id, e.scheduled_for FROM executions e \
                 LEFT JOIN tasks t ON t.id = e.task_id LEFT JOIN organizations o ON o.id = t.organization_id \
                 WHERE e.id < {WEEK_OLD} AND e.status NOT IN ('pending', 'running') AND e.scheduled_for < now() - \
                 CASE WHEN o.tier = 'pro' THEN interval '30 days' ELSE interval '7 days' END LIMIT $1)"
            ),
            format!(
                "DELETE FROM tasks WHERE id IN (SELECT t.id FROM tasks t WHERE t.id < {WEEK_OLD} \
                 AND t.schedule_type = 'once' AND t.scheduled_at < now() - interval '7 days' \
                 AND NOT EXISTS (SELECT FROM executions e WHERE e.task_id = t.id) LIMIT $1)"
            ),
            "DELETE FROM idempotency_keys WHERE (organization_id, key) IN (SELECT organization_id, key \
             FROM idempotency_keys WHERE inserted_at < now() - interval '24 hours' LIMIT $1)"
                .to_owned(),
        ] {
            let statement = kept(&client, &sql).await?;
            loop {
                let gone = client.execute(&statement, &[&SWEEP]).await?;
                forgotten += gone;
                if gone < SWEEP.unsigned_abs() {
                    break;
                }
            }
        }
        Ok(forgotten)
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
