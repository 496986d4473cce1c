//! What happens while somebody watches: tasks that come, executions that begin and end.
//!
//! Keeps nothing: who does not watch misses it, and who falls behind misses the oldest. Knows of this node only.

use serde::Serialize;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::stamp::Stamp;

/// Events that wait for a watcher who is slow.
const BEHIND_MAX: usize = 1024;

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A task was made, changed or deleted.
    Task {
        /// Which.
        task_id: Uuid,
        /// created, updated or deleted.
        change: &'static str,
    },
    /// An execution has another status.
    Execution {
        /// Which.
        execution_id: Uuid,
        /// Of which task.
        task_id: Uuid,
        /// Its status.
        status: &'static str,
        /// Which try it is.
        attempt: i32,
        /// What the target answered with.
        status_code: Option<i32>,
        /// How long the call took, in milliseconds.
        duration_ms: Option<i32>,
        /// Since when.
        at: Stamp,
    },
}

/// Where events go.
#[derive(Debug, Clone)]
pub struct Events(broadcast::Sender<(Uuid, Event)>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND_MAX))
    }
}

impl Events {
    /// Tells those who watch an organization. Without watchers the event is not even made.
    pub fn tell(&self, organization: Uuid, event: impl FnOnce() -> Event) {
        if self.0.receiver_count() > 0 {
            // All of them may have left just now.
            let _ = self.0.send((organization, event()));
        }
    }

    /// What happens from now on, in all organizations.
    pub fn watch(&self) -> broadcast::Receiver<(Uuid, Event)> {
        self.0.subscribe()
    }
}
