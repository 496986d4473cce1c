//! Notifications: sent when a task starts to fail, after its last attempt, and when it recovers.
//!
//! Only changes are sent: a task that fails each minute is reported once. Delivered, and lost, like callbacks.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::Executor;
use crate::job::{ExecutionResult, Job};
use crate::stamp::Stamp;

/// Body of the message; the field names are public.
#[allow(clippy::struct_field_names, reason = "the names are published")]
#[derive(Debug, Serialize)]
struct Message<'a> {
    event: &'static str,
    task_id: Uuid,
    execution_id: Uuid,
    url: &'a str,
    status: &'a str,
    status_code: Option<i32>,
    error_message: Option<&'a str>,
    attempt: i32,
    finished_at: Stamp,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusChange {
    /// The task failed.
    Failure,
    /// The task succeeded.
    Success,
}

impl StatusChange {
    /// The change that a result can mean, and the address to notify.
    pub(super) fn of<'a>(job: &'a Job, result: &ExecutionResult) -> Option<(Self, &'a str)> {
        let (change, url) = match result.status {
            "success" => (Self::Success, &job.work.recovery_url),
            // A retry follows: the outcome is open.
            "failed" | "timeout" if result.retry_at.is_none() => (Self::Failure, &job.work.failure_url),
            _ => return None,
        };
        Some((change, url.as_deref()?))
    }

    /// The event, given whether the previous run failed; `None` if nothing changed.
    fn event(self, failed_before: Option<bool>) -> Option<&'static str> {
        match (self, failed_before) {
            (Self::Failure, None | Some(false)) => Some("task.failed"),
            (Self::Success, Some(true)) => Some("task.recovered"),
            _ => None,
        }
    }
}

impl Executor {
    /// Notifies of a run whose status differs from the previous run's.
    pub(super) async fn notify(self: Arc<Self>, job: Arc<Job>, result: ExecutionResult, at: Timestamp) {
        let Some((change, url)) = StatusChange::of(&job, &result) else { return };
        let event = match self.store.failed_before(&job).await {
            Ok(before) => change.event(before),
            Err(problem) => {
                tracing::warn!(reason = %problem, task = %job.task_id, "nobody knows whether a task began to fail");
                self.metrics.lost_notices.inc();
                return;
            }
        };
        let Some(event) = event else { return };
        let message = Message {
            event,
            task_id: job.task_id,
            execution_id: job.id,
            url: &job.work.url,
            status: result.status,
            status_code: result.status_code,
            error_message: result.error_message.as_deref(),
            attempt: job.attempt,
            finished_at: Stamp(at),
        };
        if self.deliver(url, &message, &job).await {
            self.metrics.notices.inc();
        } else {
            tracing::info!(task = %job.task_id, event, "nobody was told of a task");
            self.metrics.lost_notices.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_is_notified() {
        assert_eq!(StatusChange::Failure.event(None), Some("task.failed"), "the first run");
        assert_eq!(StatusChange::Failure.event(Some(false)), Some("task.failed"));
        assert_eq!(StatusChange::Failure.event(Some(true)), None);
        assert_eq!(StatusChange::Success.event(Some(true)), Some("task.recovered"));
        assert_eq!(
            (StatusChange::Success.event(Some(false)), StatusChange::Success.event(None)),
            (None, None)
        );
    }
}
