//! Notices: an organization is told when a task begins to fail, after the last try, and when it works again.
//!
//! Only of changes: a task that fails each minute is told of once. Delivered as callbacks are, and lost as they are.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::Crew;
use crate::job::{Job, Verdict};
use crate::stamp::Stamp;

/// What is told; the names are those of the fields.
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

/// A change that somebody may want to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// It failed.
    Failure,
    /// It did what it should.
    Success,
}

impl News {
    /// What an execution is news of, and who wants to know of it.
    pub(super) fn of<'a>(job: &'a Job, verdict: &Verdict) -> Option<(Self, &'a str)> {
        let (news, url) = match verdict.status {
            "success" => (Self::Success, &job.work.recovery_url),
            // It is tried again: nobody knows yet.
            "failed" | "timeout" if verdict.retry_at.is_none() => (Self::Failure, &job.work.failure_url),
            _ => return None,
        };
        Some((news, url.as_deref()?))
    }

    /// The event, if it is one after a run that failed, or did not, or was none.
    fn event(self, failed_before: Option<bool>) -> Option<&'static str> {
        match (self, failed_before) {
            (Self::Failure, None | Some(false)) => Some("task.failed"),
            (Self::Success, Some(true)) => Some("task.recovered"),
            _ => None,
        }
    }
}

impl Crew {
    /// Tells of a run, if it is another one than the run before.
    pub(super) async fn notify(self: Arc<Self>, job: Arc<Job>, verdict: Verdict, at: Timestamp) {
        let Some((news, url)) = News::of(&job, &verdict) else { return };
        let event = match self.store.failed_before(&job).await {
            Ok(before) => news.event(before),
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
            status: verdict.status,
            status_code: verdict.status_code,
            error_message: verdict.error_message.as_deref(),
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
    fn only_a_change_is_told() {
        assert_eq!(News::Failure.event(None), Some("task.failed"), "the first run");
        assert_eq!(News::Failure.event(Some(false)), Some("task.failed"));
        assert_eq!(News::Failure.event(Some(true)), None);
        assert_eq!(News::Success.event(Some(true)), Some("task.recovered"));
        assert_eq!((News::Success.event(Some(false)), News::Success.event(None)), (None, None));
    }
}
