//! Writes results, retrying while PostgreSQL is unavailable.
//!
//! Does not decide what the result is.

use std::collections::HashSet;
use std::time::Duration;

use uuid::Uuid;

use super::Executor;
use crate::refusal::Refusal;
use crate::store::Store;
use crate::store::result::Record;

const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(1);

impl Executor {
    /// Writes a result; false if another node owns the execution by now.
    pub(super) async fn write_result(&self, record: Record) -> bool {
        match &self.results {
            // The batcher lives as long as the executor.
            Some(batcher) => batcher.submit(record).await.unwrap_or(false),
            None => write(&self.store, vec![record]).await.pop().unwrap_or(false),
        }
    }
}

/// Writes results; returns which were accepted, in order. Retries until PostgreSQL responds.
pub(super) async fn write(store: &Store, mut records: Vec<Record>) -> Vec<bool> {
    let mut wait = WAIT_MIN;
    let mut may_be_written = false;
    loop {
        let problem = match accepted(store, &records, may_be_written).await {
            Ok(accepted) => {
                return records.iter().map(|record| accepted.contains(&record.job.claimed())).collect();
            }
            Err(problem) => problem,
        };
        if problem.is_lasting() {
            tracing::error!(reason = %problem, results = records.len(), "results cannot be written as they are");
            return one_by_one(store, &mut records).await;
        }
        tracing::warn!(reason = %problem, results = records.len(), "results are written later");
        // Only the response may have been lost.
        may_be_written = true;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(WAIT_MAX);
    }
}

async fn accepted(
    store: &Store,
    records: &[Record],
    may_be_written: bool,
) -> Result<HashSet<(Uuid, i32)>, Refusal> {
    let mut accepted = store.write_results(records).await?;
    if may_be_written && accepted.len() < records.len() {
        accepted.extend(store.written(records).await?);
    }
    Ok(accepted)
}

/// Isolates a result that cannot be written, and writes it without the target's response.
async fn one_by_one(store: &Store, records: &mut [Record]) -> Vec<bool> {
    let mut results = Vec::with_capacity(records.len());
    for record in records {
        let mut result = store.write_results(std::slice::from_ref(record)).await;
        if result.is_err() {
            record.result.response_body = None;
            record.result.error_message = Some("the answer could not be kept".to_owned());
            result = store.write_results(std::slice::from_ref(record)).await;
        }
        if let Err(problem) = &result {
            tracing::error!(reason = %problem, execution = %record.job.id, "a result is lost");
        }
        results.push(result.is_ok_and(|accepted| accepted.contains(&record.job.claimed())));
    }
    results
}
