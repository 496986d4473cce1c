//! Callbacks: posts a result to the task's callback address, in up to three attempts.
//!
//! Callbacks are not stored: those waiting for a retry are lost when the node ends, and so are those beyond the memory
//! budget while receivers do not respond.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::SemaphorePermit;
use uuid::Uuid;

use super::Executor;
use crate::job::{ExecutionResult, Job};
use crate::stamp::Stamp;

const MAX_TRIES: u32 = 3;

/// Body of the message; the field names are public.
#[allow(clippy::struct_field_names, reason = "the names are published")]
#[derive(Debug, Serialize)]
struct Message<'a> {
    event: &'static str,
    task_id: Uuid,
    execution_id: Uuid,
    status: &'a str,
    status_code: Option<i32>,
    duration_ms: i32,
    response_body: Option<&'a str>,
    error_message: Option<&'a str>,
    attempt: i32,
    scheduled_for: Stamp,
    finished_at: Stamp,
}

impl Executor {
    /// Sends the callback for a result.
    pub(super) async fn send_callback(
        self: Arc<Self>,
        url: String,
        job: Arc<Job>,
        result: ExecutionResult,
        at: Timestamp,
    ) {
        let message = Message {
            event: "execution.completed",
            task_id: job.task_id,
            execution_id: job.id,
            status: result.status,
            status_code: result.status_code,
            duration_ms: result.duration_ms,
            response_body: result.response_body.as_deref(),
            error_message: result.error_message.as_deref(),
            attempt: job.attempt,
            scheduled_for: Stamp(job.due),
            finished_at: Stamp(at),
        };
        if self.deliver(&url, &message, &job).await {
            self.metrics.callbacks.inc();
        } else {
            tracing::info!(execution = %job.id, "nobody was told of a result");
            self.metrics.lost_callbacks.inc();
        }
    }

    /// Sends a message with retries; true if it arrived. The second attempt comes after one wait, the third after
    /// four more.
    pub(super) async fn deliver(&self, url: &str, message: &impl Serialize, job: &Job) -> bool {
        let message = serde_json::to_string(message).unwrap_or_default();
        let Some(_reserved) = self.reserve(&message, job) else { return false };
        for number in 0..MAX_TRIES {
            if number > 0 {
                let wait = self.callback_wait * 4_u32.pow(number - 1);
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    // On stop, retry now instead of waiting another half minute.
                    () = self.stop.cancelled() => {}
                }
            }
            let delivered = tokio::select! {
                delivered = self.webhook_client.post(url, message.clone(), &job.work.webhook_secret) => delivered,
                () = self.abandon.cancelled() => false,
            };
            if delivered {
                return true;
            }
        }
        false
    }

    /// Reserves memory for a message while it is being sent, if available.
    fn reserve(&self, message: &str, job: &Job) -> Option<SemaphorePermit<'_>> {
        // The text and a copy per attempt; the job lives as long.
        let bytes =
            2 * message.len() + job.work.body.as_ref().map_or(0, String::len) + job.work.headers.len();
        self.callback_budget.try_acquire_many(u32::try_from(bytes / 1024 + 1).ok()?).ok()
    }
}
