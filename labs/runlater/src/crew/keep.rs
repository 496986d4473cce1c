//! Results get written, whatever happens to PostgreSQL meanwhile.
//!
//! Does not decide what a result is.

use std::collections::HashSet;
use std::time::Duration;

use uuid::Uuid;

use super::Crew;
use crate::refusal::Refusal;
use crate::store::Store;
use crate::store::result::Record;

const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(1);

impl Crew {
    /// Whether a result was accepted: it was not if somebody else has the execution by now.
    pub(super) async fn keep(&self, record: Record) -> bool {
        match &self.results {
            // The group is there as long as the crew is.
            Some(group) => group.join(record).await.unwrap_or(false),
            None => write(&self.store, vec![record]).await.pop().unwrap_or(false),
        }
    }
}

/// Writes results and says which were accepted, in their order. Tries until PostgreSQL says either.
pub(super) async fn write(store: &Store, mut records: Vec<Record>) -> Vec<bool> {
    let mut wait = WAIT_MIN;
    let mut is_unsure = false;
    loop {
        let problem = match accepted(store, &records, is_unsure).await {
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
        // The answer may have been lost, and not the results.
        is_unsure = true;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(WAIT_MAX);
    }
}

async fn accepted(
    store: &Store,
    records: &[Record],
    is_unsure: bool,
) -> Result<HashSet<(Uuid, i32)>, Refusal> {
    let mut accepted = store.write_results(records).await?;
    if is_unsure && accepted.len() < records.len() {
        accepted.extend(store.written(records).await?);
    }
    Ok(accepted)
}

/// So that one that cannot be written takes no other with it. It is written without what the target said.
async fn one_by_one(store: &Store, records: &mut [Record]) -> Vec<bool> {
    let mut results = Vec::with_capacity(records.len());
    for record in records {
        let mut result = store.write_results(std::slice::from_ref(record)).await;
        if result.is_err() {
            record.verdict.response_body = None;
            record.verdict.error_message = Some("the answer could not be kept".to_owned());
            result = store.write_results(std::slice::from_ref(record)).await;
        }
        if let Err(problem) = &result {
            tracing::error!(reason = %problem, execution = %record.job.id, "a result is lost");
        }
        results.push(result.is_ok_and(|accepted| accepted.contains(&record.job.claimed())));
    }
    results
}
