//! Live events: changes of tasks and executions.
//!
//! Stores nothing: only current watchers get an event, and slow ones lose the oldest. Covers this node only.

use serde::Serialize;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::stamp::Stamp;

/// Most events buffered for a slow watcher.
const BACKLOG_MAX: usize = 1024;

/// An event.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A task was created, changed or deleted.
    Task {
        /// Id.
        task_id: Uuid,
        /// created, updated or deleted.
        change: &'static str,
    },
    /// An execution changed its status.
    Execution {
        /// Id.
        execution_id: Uuid,
        /// Task id.
        task_id: Uuid,
        /// Status.
        status: &'static str,
        /// Attempt, from 1.
        attempt: i32,
        /// Status code of the target's response.
        status_code: Option<i32>,
        /// How long the call took, in milliseconds.
        duration_ms: Option<i32>,
        /// Time of the change.
        at: Stamp,
    },
}

/// Broadcast channel for events.
#[derive(Debug, Clone)]
pub struct Events(broadcast::Sender<(Uuid, Event)>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG_MAX))
    }
}

impl Events {
    /// Publishes an event to watchers. Without watchers it is not even built.
    pub fn publish(&self, organization: Uuid, event: impl FnOnce() -> Event) {
        if self.0.receiver_count() > 0 {
            // The last watcher may have left just now.
            let _ = self.0.send((organization, event()));
        }
    }

    /// Events from now on, of all organizations.
    pub fn subscribe(&self) -> broadcast::Receiver<(Uuid, Event)> {
        self.0.subscribe()
    }
}
