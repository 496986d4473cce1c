//! What is written only every few seconds: how many executions an organization had, and when tasks last ran.
//!
//! What comes while a round is written is in the next one; what could not be written is, too. A kill loses what waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use uuid::Uuid;

use crate::store::Store;

/// How often it is written.
pub const ROUND: Duration = Duration::from_secs(5);

/// What waits to be written.
#[derive(Debug, Default)]
pub struct Buffer {
    months: Mutex<HashMap<Uuid, i32>>,
    lasts: Mutex<HashMap<Uuid, Timestamp>>,
    /// Held by a round: the last one waits for the one before, which has what is not here.
    round: tokio::sync::Mutex<()>,
}

impl Buffer {
    /// One more execution of an organization.
    pub fn count(&self, organization: Uuid, count: i32) {
        *self.months.lock().entry(organization).or_default() += count;
    }

    /// A task ended at a time.
    pub fn ended(&self, task: Uuid, at: Timestamp) {
        match self.lasts.lock().entry(task) {
            Entry::Occupied(mut last) => *last.get_mut() = (*last.get()).max(at),
            Entry::Vacant(place) => drop(place.insert(at)),
        }
    }

    /// Writes all that waits, one row after the other.
    pub async fn flush(&self, store: &Store) {
        let _round = self.round.lock().await;
        let months = std::mem::take(&mut *self.months.lock());
        for (organization, count) in months {
            if let Err(problem) = store.count_executions(organization, count).await {
                tracing::warn!(reason = %problem, "executions are counted later");
                self.count(organization, count);
            }
        }
        let lasts = std::mem::take(&mut *self.lasts.lock());
        for (task, at) in lasts {
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
        assert_eq!(buffer.months.lock()[&id], 3);
        assert_eq!(buffer.lasts.lock()[&id], time(5));
    }
}
