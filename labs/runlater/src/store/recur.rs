//! Recurring tasks: writes their next executions, on one node at a time.
//!
//! Does not evaluate cron expressions; [`crate::recurrence`] does.

use jiff::Timestamp;
use uuid::Uuid;

use super::Store;
use crate::recurrence::Recurrence;
use crate::refusal::Refusal;

/// Advisory lock: any number, the same on every node; only one node schedules.
const SCHEDULER_LOCK: i64 = 7_206_086;
/// Most tasks per round.
const ROUND: i64 = 1000;
/// Monthly executions after which tasks of the free tier are not executed.
const FREE_MAX: i32 = 5000;

/// Result of a scheduler round.
#[derive(Debug)]
pub struct Round {
    /// Executions written.
    pub executions: usize,
    /// Whether more tasks may be waiting.
    pub is_full: bool,
}

/// An execution to write.
struct Coming {
    task: Uuid,
    at: Timestamp,
    is_missed: bool,
    why: Option<&'static str>,
    queue_key: Option<String>,
}

impl Store {
    /// Writes the executions of recurring tasks due until `soon`, and missed ones. `None` if another node
    /// is scheduling.
    ///
    /// # Errors
    /// PostgreSQL fails; nothing is written then.
    pub async fn schedule(&self, now: Timestamp, soon: Timestamp) -> Result<Option<Round>, Refusal> {
        let mut client = self.get_background().await?;
        let transaction = client.transaction().await?;
        let statement = transaction.prepare_cached("SELECT pg_try_advisory_xact_lock($1)").await?;
        if !transaction.query_one(&statement, &[&SCHEDULER_LOCK]).await?.get::<_, bool>(0) {
            return Ok(None);
        }
        let sql = "SELECT t.id, t.cron_expression, t.next_run_at, \
                   CASE WHEN t.queue IS NOT NULL THEN t.organization_id || '/' || t.queue END, \
                   o.tier = 'free' AND o.monthly_execution_count >= $3 \
                   FROM tasks t JOIN organizations o ON o.id = t.organization_id \
                   WHERE t.enabled AND t.next_run_at IS NOT NULL AND t.next_run_at <= $1 \
                   ORDER BY t.next_run_at LIMIT $2 FOR UPDATE OF t";
        let statement = transaction.prepare_cached(sql).await?;
        let rows = transaction.query(&statement, &[&soon, &ROUND, &FREE_MAX]).await?;
        let (mut coming, mut tasks, mut nexts) = (Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            let (task, text, first): (Uuid, Option<String>, Timestamp) = (row.get(0), row.get(1), row.get(2));
            let cron = text.as_deref().and_then(Recurrence::read);
            let (times, next) = match &cron {
                Some(cron) => cron.due(first, soon),
                None => (vec![first], None),
            };
            coming.extend(plan(task, cron.as_ref(), &times, now, row.get(3), row.get(4)));
            tasks.push(task);
            nexts.push(next);
        }
        write(&transaction, &coming, &tasks, &nexts).await?;
        transaction.commit().await?;
        Ok(Some(Round { executions: coming.len(), is_full: rows.len() as i64 == ROUND }))
    }
}

/// Executions for a task's past times: all but the last were missed; the last runs if it is not too late.
fn plan(
    task: Uuid,
    cron: Option<&Recurrence>,
    times: &[Timestamp],
    now: Timestamp,
    queue_key: Option<&str>,
    is_blocked: bool,
) -> Vec<Coming> {
    let mut coming: Vec<Coming> = times
        .iter()
        .map(|time| {
            let lateness = time.duration_until(now);
            let is_late = cron.is_some_and(|cron| lateness > cron.grace(*time));
            let why = if is_blocked {
                Some("the organization has had all executions of its tier this month")
            } else if is_late {
                Some("the time passed while nobody executed")
            } else {
                None
            };
            Coming {
                task,
                at: *time,
                is_missed: why.is_some(),
                why,
                queue_key: queue_key.map(ToOwned::to_owned),
            }
        })
        .collect();
    // Only the last of several past times is executed.
    let passed = coming.iter().rposition(|execution| execution.at <= now);
    for execution in coming.iter_mut().take(passed.unwrap_or_default()) {
        execution.is_missed = true;
        execution.why = execution.why.or(Some("a later time passed, too"));
    }
    coming
}

async fn write(
    transaction: &deadpool_postgres::Transaction<'_>,
    coming: &[Coming],
    tasks: &[Uuid],
    nexts: &[Option<Timestamp>],
) -> Result<(), Refusal> {
    let sql = "INSERT INTO executions (id, task_id, scheduled_for, status, error_message, finished_at, lane) \
               SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], \
               $6::timestamptz[], $7::text[])";
    let statement = transaction.prepare_cached(sql).await?;
    let ids: Vec<Uuid> = coming.iter().map(|_| Uuid::now_v7()).collect();
    let of: Vec<Uuid> = coming.iter().map(|execution| execution.task).collect();
    let at: Vec<Timestamp> = coming.iter().map(|execution| execution.at).collect();
    let status: Vec<&str> =
        coming.iter().map(|execution| if execution.is_missed { "missed" } else { "pending" }).collect();
    let why: Vec<Option<&str>> = coming.iter().map(|execution| execution.why).collect();
    let ended: Vec<Option<Timestamp>> =
        coming.iter().map(|execution| execution.is_missed.then_some(execution.at)).collect();
    let queue_keys: Vec<Option<&str>> =
        coming.iter().map(|execution| execution.queue_key.as_deref()).collect();
    transaction.execute(&statement, &[&ids, &of, &at, &status, &why, &ended, &queue_keys]).await?;
    let sql = "UPDATE tasks t SET next_run_at = n.next FROM unnest($1::uuid[], $2::timestamptz[]) AS n(id, next) \
               WHERE t.id = n.id";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&tasks, &nexts]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_the_past_times_is_executed_if_it_is_not_too_late() {
        let hourly = Recurrence::read("0 * * * *").unwrap();
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        let times = ["10", "11", "12"].map(|hour| time(&format!("2030-01-31T{hour}:00:00Z")));
        let missed = |now: &str, is_blocked| -> Vec<bool> {
            let coming = plan(Uuid::nil(), Some(&hourly), &times, time(now), None, is_blocked);
            assert!(coming.iter().all(|execution| execution.is_missed == execution.why.is_some()));
            coming.iter().map(|execution| execution.is_missed).collect()
        };
        assert_eq!(missed("2030-01-31T12:29:00Z", false), [true, true, false]);
        assert_eq!(
            missed("2030-01-31T12:31:00Z", false),
            [true, true, true],
            "half an hour late is too late"
        );
        assert_eq!(missed("2030-01-31T11:59:55Z", false), [true, true, false], "one is still to come");
        assert_eq!(missed("2030-01-31T12:00:01Z", true), [true, true, true], "all of the month are used up");
    }
}
