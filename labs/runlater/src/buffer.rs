//! Buffers counts of executions per organization and times of last runs, and writes them every few seconds.
//!
//! A failed write is retried in the next round. A kill loses what is buffered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use uuid::Uuid;

use crate::store::Store;

/// Interval between writes.
pub const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// Buffered values.
#[derive(Debug, Default)]
pub struct Buffer {
    month_counts: Mutex<HashMap<Uuid, i32>>,
    last_runs: Mutex<HashMap<Uuid, Timestamp>>,
    /// Held while flushing: the final flush must wait for one in progress.
    flushing: tokio::sync::Mutex<()>,
}

impl Buffer {
    /// Counts executions of an organization.
    pub fn count(&self, organization: Uuid, count: i32) {
        *self.month_counts.lock().entry(organization).or_default() += count;
    }

    /// Records the end of a task.
    pub fn ended(&self, task: Uuid, at: Timestamp) {
        match self.last_runs.lock().entry(task) {
            Entry::Occupied(mut last) => *last.get_mut() = (*last.get()).max(at),
            Entry::Vacant(place) => drop(place.insert(at)),
        }
    }

    /// Writes all buffered values, row by row.
    pub async fn flush(&self, store: &Store) {
        let _flushing = self.flushing.lock().await;
        let month_counts = std::mem::take(&mut *self.month_counts.lock());
        for (organization, count) in month_counts {
            if let Err(problem) = store.count_executions(organization, count).await {
                tracing::warn!(reason = %problem, "executions are counted later");
                self.count(organization, count);
            }
        }
        let last_runs = std::mem::take(&mut *self.last_runs.lock());
        for (task, at) in last_runs {
            if let Err(problem) = store.write_last_execution(task, at).await {
                tracing::warn!(reason = %problem, "a last execution is written later");
                self.ended(task, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_the_latest_end_stays() {
        let buffer = Buffer::default();
        let (id, time) = (Uuid::nil(), |second| Timestamp::from_second(second).unwrap());
        buffer.count(id, 1);
        buffer.count(id, 2);
        buffer.ended(id, time(5));
        buffer.ended(id, time(3));
        assert_eq!(buffer.month_counts.lock()[&id], 3);
        assert_eq!(buffer.last_runs.lock()[&id], time(5));
    }
}
