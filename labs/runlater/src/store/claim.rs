//! Claims: assigns due executions to exactly one node.
//!
//! A claim counts up `claim`; a result with an older count is refused ([`super::result`]). Does not wait for work.

use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Store, prepared};
use crate::config::switch::{ClaimQuery, Switches};
use crate::job::{Job, Work};
use crate::refusal::Refusal;

/// Advisory lock: any number, the same on every node; one node at a time claims from queues.
const QUEUES_LOCK: i64 = 7_206_085;

/// Columns of the work of a job, in the order that [`work`] reads them.
const WORK: &str = "t.organization_id, o.webhook_secret, t.enabled, t.schedule_type = 'cron', t.url, t.method, \
    t.headers::text, t.body, t.timeout_ms, t.retry_attempts, t.callback_url, t.expected_status_codes, \
    t.expected_body_pattern, \
    CASE WHEN o.notify_on_failure AND NOT t.muted THEN o.notification_webhook_url END, \
    CASE WHEN o.notify_on_recovery AND NOT t.muted THEN o.notification_webhook_url END";
const TASK: &str =
    "LEFT JOIN tasks t ON t.id = c.task_id LEFT JOIN organizations o ON o.id = t.organization_id";
/// What a claim changes and returns.
const CLAIM: &str = "UPDATE executions e SET status = 'running', started_at = clock_timestamp(), node = $1, \
    claim = e.claim + 1 FROM due d WHERE e.id = d.id AND e.scheduled_for = d.scheduled_for \
    RETURNING e.id, e.task_id, e.scheduled_for, e.attempt, e.claim, e.lane";
const CLAIMED: &str = "c.id, c.task_id, c.scheduled_for, c.attempt, c.claim, c.lane";

/// A claimed job, with or without its work loaded.
#[derive(Debug)]
pub struct Claimed {
    /// The job; its work is empty if it is not loaded.
    pub job: Job,
    /// Whether the work is loaded.
    pub is_loaded: bool,
    /// Whether the task was deleted.
    pub is_orphan: bool,
}

/// The statements, built from the switches.
pub(super) struct Sql {
    /// Claims unqueued executions. $1: node, $2: how many, in a batch $3: earliest due time to scan.
    claim: String,
    queued: String,
    /// Loads the work of task $1.
    load: String,
    preloads: bool,
    is_batch: bool,
}

impl Sql {
    pub(super) fn of(switches: &Switches) -> Self {
        let preloads = switches.claim_preload.is_on();
        let is_batch = switches.claim_query == ClaimQuery::Batch;
        let due = match switches.claim_query {
            ClaimQuery::JoinSort => {
                "SELECT e.id, e.scheduled_for FROM executions e JOIN tasks t ON t.id = e.task_id \
                 JOIN organizations o ON o.id = t.organization_id \
                 WHERE e.status = 'pending' AND e.lane IS NULL AND e.scheduled_for <= now() AND t.enabled \
                 ORDER BY o.tier DESC, t.cron_expression NULLS FIRST, e.scheduled_for \
                 LIMIT $2 FOR UPDATE OF e SKIP LOCKED"
            }
            ClaimQuery::Single => {
                "SELECT id, scheduled_for FROM executions WHERE status = 'pending' AND lane IS NULL \
                 AND scheduled_for <= now() ORDER BY scheduled_for LIMIT $2 FOR UPDATE SKIP LOCKED"
            }
            ClaimQuery::Batch => {
                "SELECT id, scheduled_for FROM executions WHERE status = 'pending' AND lane IS NULL \
                 AND scheduled_for >= $3 AND scheduled_for <= now() ORDER BY scheduled_for LIMIT $2 \
                 FOR UPDATE SKIP LOCKED"
            }
        };
        // The first due execution per queue, unless one of the queue runs or waits for a retry.
        let queued = "SELECT e.id, e.scheduled_for FROM (SELECT DISTINCT ON (lane) id, scheduled_for, lane, attempt \
             FROM executions WHERE lane IS NOT NULL AND status = 'pending' \
             ORDER BY lane, attempt = 1, scheduled_for) f JOIN executions e ON e.id = f.id \
             AND e.scheduled_for = f.scheduled_for \
             WHERE e.scheduled_for <= now() AND NOT EXISTS (SELECT FROM executions r WHERE r.lane = f.lane \
             AND r.status = 'running') \
             ORDER BY e.scheduled_for LIMIT $2 FOR UPDATE OF e SKIP LOCKED";
        let joined = if preloads && is_batch { (format!(", {WORK}"), TASK) } else { (String::new(), "") };
        let claim = |due: &str| {
            let (columns, join) = &joined;
            format!(
                "WITH due AS MATERIALIZED ({due}), c AS ({CLAIM}) SELECT {CLAIMED}{columns} FROM c {join}"
            )
        };
        let load = format!(
            "SELECT {WORK} FROM tasks t JOIN organizations o ON o.id = t.organization_id WHERE t.id = $1"
        );
        Self { claim: claim(due), queued: claim(queued), load, preloads, is_batch }
    }
}

impl Store {
    /// Claims up to `most` due executions without a queue, due at `since` or later.
    ///
    /// # Errors
    /// PostgreSQL fails; executions may have been claimed.
    pub async fn claim(&self, node: i64, most: usize, since: Timestamp) -> Result<Vec<Claimed>, Refusal> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let claimed = if self.claim.is_batch {
            let client = self.get_background().await?;
            let statement = prepared(&client, &self.claim.claim).await?;
            let rows = client.query(&statement, &[&node, &most, &since]).await?;
            rows.iter().map(|row| claimed(row, self.claim.preloads)).collect()
        } else {
            self.claim_one(node, most).await?
        };
        self.metrics.claims.inc();
        self.metrics.claimed.inc_by(claimed.len() as u64);
        Ok(claimed)
    }

    /// As published: a transaction that claims, and loads the work with separate statements.
    async fn claim_one(&self, node: i64, most: i64) -> Result<Vec<Claimed>, Refusal> {
        let mut client = self.get_for_worker().await?;
        let transaction = client.transaction().await?;
        let statement = transaction.prepare_cached(&self.claim.claim).await?;
        let rows = transaction.query(&statement, &[&node, &most]).await?;
        let mut taken: Vec<Claimed> = rows.iter().map(|row| claimed(row, false)).collect();
        if self.claim.preloads {
            for claimed in &mut taken {
                let statement = transaction.prepare_cached(&self.claim.load).await?;
                let row = transaction.query_opt(&statement, &[&claimed.job.task_id]).await?;
                claimed.fill(row.as_ref());
            }
        }
        transaction.commit().await?;
        Ok(taken)
    }

    /// Claims up to `most` due executions that are first in an idle queue.
    ///
    /// # Errors
    /// PostgreSQL fails; executions may have been claimed.
    pub async fn claim_queued(&self, node: i64, most: usize) -> Result<Vec<Claimed>, Refusal> {
        let mut client = self.get_background().await?;
        let transaction = client.transaction().await?;
        let sql = "SELECT pg_try_advisory_xact_lock($1)";
        let statement = transaction.prepare_cached(sql).await?;
        if !transaction.query_one(&statement, &[&QUEUES_LOCK]).await?.get::<_, bool>(0) {
            return Ok(Vec::new());
        }
        let statement = transaction.prepare_cached(&self.claim.queued).await?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = transaction.query(&statement, &[&node, &most]).await?;
        transaction.commit().await?;
        let is_loaded = self.claim.preloads && self.claim.is_batch;
        self.metrics.claimed.inc_by(rows.len() as u64);
        Ok(rows.iter().map(|row| claimed(row, is_loaded)).collect())
    }

    /// Loads the work of a job; `None` if its task was deleted.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn load(&self, task: Uuid) -> Result<Option<Work>, Refusal> {
        let client = self.get_for_worker().await?;
        self.metrics.job_loads.inc();
        let row = client.query_opt(&prepared(&client, &self.claim.load).await?, &[&task]).await?;
        Ok(row.as_ref().and_then(|row| work(row, 0)))
    }

    /// Due time of the next unqueued execution after now.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, Refusal> {
        let client = self.get_background().await?;
        let sql = "SELECT scheduled_for FROM executions WHERE status = 'pending' AND lane IS NULL \
                   AND scheduled_for > now() ORDER BY scheduled_for LIMIT 1";
        Ok(client.query_opt(&prepared(&client, sql).await?, &[]).await?.map(|row| row.get(0)))
    }

    /// Whether anything is due: a cheap check before a claim.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn is_pending(&self) -> Result<bool, Refusal> {
        let client = self.get_for_worker().await?;
        let sql = "SELECT EXISTS (SELECT FROM executions WHERE status = 'pending' AND lane IS NULL \
                   AND scheduled_for <= now())";
        Ok(client.query_one(&prepared(&client, sql).await?, &[]).await?.get(0))
    }

    /// Number of waiting executions, counted up to `most`.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn pending(&self, most: i64) -> Result<i64, Refusal> {
        let client = self.get_background().await?;
        let sql = "SELECT count(*) FROM (SELECT FROM executions WHERE status = 'pending' AND lane IS NULL \
                   AND scheduled_for <= now() LIMIT $1) p";
        Ok(client.query_one(&prepared(&client, sql).await?, &[&most]).await?.get(0))
    }
}

fn claimed(row: &Row, is_loaded: bool) -> Claimed {
    let job = Job {
        id: row.get(0),
        task_id: row.get(1),
        due: row.get(2),
        attempt: row.get(3),
        claim: row.get(4),
        queue_key: row.get(5),
        work: Work::default(),
    };
    let mut claimed = Claimed { job, is_loaded: false, is_orphan: false };
    if is_loaded {
        match work(row, 6) {
            Some(work) => claimed.set(work),
            None => claimed.is_orphan = true,
        }
    }
    claimed
}

impl Claimed {
    fn set(&mut self, work: Work) {
        self.job.work = work;
        self.is_loaded = true;
    }

    fn fill(&mut self, row: Option<&Row>) {
        match row.and_then(|row| work(row, 0)) {
            Some(work) => self.set(work),
            None => self.is_orphan = true,
        }
    }
}

fn work(row: &Row, from: usize) -> Option<Work> {
    Some(Work {
        organization: row.get::<_, Option<Uuid>>(from)?,
        webhook_secret: row.get(from + 1),
        enabled: row.get(from + 2),
        is_cron: row.get(from + 3),
        url: row.get(from + 4),
        method: row.get(from + 5),
        headers: row.get(from + 6),
        body: row.get(from + 7),
        timeout_ms: row.get(from + 8),
        retry_attempts: row.get(from + 9),
        callback_url: row.get(from + 10),
        expected_status_codes: row.get(from + 11),
        expected_body_pattern: row.get(from + 12),
        failure_url: row.get(from + 13),
        recovery_url: row.get(from + 14),
    })
}
