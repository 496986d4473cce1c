//! Callbacks: somebody is told of a result, three times at the most.
//!
//! They are not kept: what waits for its next try is lost when the node ends, and so is one for which there is no room
//! because too many others do not answer.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::SemaphorePermit;
use uuid::Uuid;

use super::Crew;
use crate::job::{Job, Verdict};
use crate::stamp::Stamp;

const TRIES: u32 = 3;

/// What is told; the names are those of the fields.
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

impl Crew {
    /// Tells of a result.
    pub(super) async fn call_back(
        self: Arc<Self>,
        url: String,
        job: Arc<Job>,
        verdict: Verdict,
        at: Timestamp,
    ) {
        let message = Message {
            event: "execution.completed",
            task_id: job.task_id,
            execution_id: job.id,
            status: verdict.status,
            status_code: verdict.status_code,
            duration_ms: verdict.duration_ms,
            response_body: verdict.response_body.as_deref(),
            error_message: verdict.error_message.as_deref(),
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

    /// Sends a message until it arrives, and says whether it did. The second try comes after one wait, the third after
    /// four more.
    pub(super) async fn deliver(&self, url: &str, message: &impl Serialize, job: &Job) -> bool {
        let message = serde_json::to_string(message).unwrap_or_default();
        let Some(_room) = self.room(&message, job) else { return false };
        for number in 0..TRIES {
            if number > 0 {
                let wait = self.callback_wait * 4_u32.pow(number - 1);
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    // A stop does not wait for what may take another half a minute: it is tried now.
                    () = self.stop.cancelled() => {}
                }
            }
            let told = tokio::select! {
                told = self.caller.tell(url, message.clone(), &job.work.webhook_secret) => told,
                () = self.abandon.cancelled() => false,
            };
            if told {
                return true;
            }
        }
        false
    }

    /// Room for a message as long as it is being told, if there is some.
    fn room(&self, message: &str, job: &Job) -> Option<SemaphorePermit<'_>> {
        // The text and a copy for each try; the job is kept as long.
        let bytes =
            2 * message.len() + job.work.body.as_ref().map_or(0, String::len) + job.work.headers.len();
        self.telling.try_acquire_many(u32::try_from(bytes / 1024 + 1).ok()?).ok()
    }
}
