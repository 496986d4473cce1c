//! A claimed execution, and how the outcome of its call becomes a result.
//!
//! Makes no calls and stores no results.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::call::Outcome;
use crate::retry;

/// A job for a worker.
#[derive(Debug, Clone)]
pub struct Job {
    /// Id of the execution.
    pub id: Uuid,
    /// Id of the task.
    pub task_id: Uuid,
    /// When it was due.
    pub due: Timestamp,
    /// Attempt, from 1.
    pub attempt: i32,
    /// Number of claims: fences off results of earlier claims.
    pub claim: i32,
    /// Organization and queue, if it is in a queue.
    pub queue_key: Option<String>,
    /// The call.
    pub work: Work,
}

/// The call of a job, from its task and organization.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Organization.
    pub organization: Uuid,
    /// Secret that signs calls.
    pub webhook_secret: String,
    /// Whether the task is enabled.
    pub enabled: bool,
    /// Whether it is recurring: such tasks are not retried.
    pub is_cron: bool,
    /// The address.
    pub url: String,
    /// The method.
    pub method: String,
    /// Headers, as a JSON object of strings.
    pub headers: String,
    /// The body.
    pub body: Option<String>,
    /// How long the call may take, in milliseconds.
    pub timeout_ms: i32,
    /// Most attempts.
    pub retry_attempts: i32,
    /// Address for callbacks with results.
    pub callback_url: Option<String>,
    /// The only status codes that count as success, if given.
    pub expected_status_codes: Option<String>,
    /// Text that the response must contain.
    pub expected_body_pattern: Option<String>,
    /// Address to notify when the task starts to fail.
    pub failure_url: Option<String>,
    /// Address to notify when it recovers.
    pub recovery_url: Option<String>,
}

/// The result of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionResult {
    /// success, failed, timeout or missed.
    pub status: &'static str,
    /// Status code of the target's response.
    pub status_code: Option<i32>,
    /// How long the call took, in milliseconds.
    pub duration_ms: i32,
    /// Body of the target's response.
    pub response_body: Option<String>,
    /// Reason of a failure.
    pub error_message: Option<String>,
    /// Time of the retry, if any.
    pub retry_at: Option<Timestamp>,
}

impl Job {
    /// Identifies the claim; a node can claim the same execution again.
    pub fn claimed(&self) -> (Uuid, i32) {
        (self.id, self.claim)
    }

    /// Turns the outcome of a call into a result, with the time of a retry.
    pub fn judge(
        &self,
        outcome: Outcome,
        took: Duration,
        retry_unit: Duration,
        now: Timestamp,
    ) -> ExecutionResult {
        let mut asked = None;
        let (status, status_code, response_body, error_message) = match outcome {
            Outcome::Timeout => {
                ("timeout", None, None, Some(format!("no answer within {} ms", self.work.timeout_ms)))
            }
            Outcome::Failed(reason) => ("failed", None, None, Some(reason)),
            Outcome::Responded { status, retry_after, body } => {
                let wrong = self.is_unexpected(status, &body);
                asked = retry_after.filter(|_| status == 429);
                (
                    if wrong.is_some() { "failed" } else { "success" },
                    Some(i32::from(status)),
                    Some(body),
                    wrong,
                )
            }
        };
        let most = if self.work.is_cron || status == "success" { 0 } else { self.work.retry_attempts };
        ExecutionResult {
            status,
            status_code,
            duration_ms: i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
            response_body,
            error_message,
            retry_at: retry::next(self.attempt, most, retry_unit, asked.as_deref(), now),
        }
    }

    /// The result of an execution without a call.
    pub fn miss(&self, why: &str) -> ExecutionResult {
        ExecutionResult {
            status: "missed",
            status_code: None,
            duration_ms: 0,
            response_body: None,
            error_message: Some(why.to_owned()),
            retry_at: None,
        }
    }

    fn is_unexpected(&self, status: u16, body: &str) -> Option<String> {
        let is_listed = |codes: &str| codes.split(',').any(|code| code.trim().parse() == Ok(status));
        let is_code = match self.work.expected_status_codes.as_deref() {
            Some(codes) => is_listed(codes),
            None => (200..300).contains(&status),
        };
        if !is_code {
            return Some(format!("the target answered {status}"));
        }
        let pattern = self.work.expected_body_pattern.as_deref()?;
        (!body.contains(pattern)).then(|| "the answer does not have the expected text in it".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(work: Work) -> Job {
        let due = Timestamp::UNIX_EPOCH;
        Job { id: Uuid::nil(), task_id: Uuid::nil(), due, attempt: 1, claim: 1, queue_key: None, work }
    }

    fn judge(work: Work, outcome: Outcome) -> (&'static str, Option<i64>) {
        let unit = Duration::from_secs(30);
        let result = job(work).judge(outcome, Duration::from_millis(7), unit, Timestamp::UNIX_EPOCH);
        assert_eq!(result.duration_ms, 7);
        assert_eq!(result.status == "success", result.error_message.is_none());
        (result.status, result.retry_at.map(Timestamp::as_second))
    }

    fn answer(status: u16, retry_after: Option<&str>) -> Outcome {
        Outcome::Responded {
            status,
            retry_after: retry_after.map(str::to_owned),
            body: "it is ok".to_owned(),
        }
    }

    #[test]
    fn a_result_is_a_success_by_its_status_and_its_text() {
        let text = |text: &str| Some(text.to_owned());
        let rows = [
            (None, None, 200, "success"),
            (None, None, 299, "success"),
            (None, None, 301, "failed"),
            (None, None, 404, "failed"),
            (text("404, 500"), None, 404, "success"),
            (text("404"), None, 200, "failed"),
            (None, text("is ok"), 200, "success"),
            (None, text("not there"), 200, "failed"),
        ];
        for (expected_status_codes, expected_body_pattern, status, expected) in rows {
            let work = Work { expected_status_codes, expected_body_pattern, ..Work::default() };
            assert_eq!(judge(work.clone(), answer(status, None)).0, expected, "{work:?} {status}");
        }
    }

    #[test]
    fn failures_of_tasks_that_run_once_are_tried_again_and_a_429_can_say_when() {
        let once = Work { retry_attempts: 3, ..Work::default() };
        assert_eq!(judge(once.clone(), answer(500, Some("9"))), ("failed", Some(120)), "only a 429 can ask");
        assert_eq!(judge(once.clone(), answer(429, Some("9"))), ("failed", Some(9)));
        assert_eq!(judge(once.clone(), Outcome::Timeout), ("timeout", Some(120)));
        assert_eq!(judge(once.clone(), Outcome::Failed("refused".to_owned())), ("failed", Some(120)));
        assert_eq!(judge(once.clone(), answer(200, None)), ("success", None));
        assert_eq!(judge(Work { is_cron: true, ..once.clone() }, answer(500, None)), ("failed", None));
        assert_eq!(judge(Work { retry_attempts: 1, ..once }, answer(500, None)), ("failed", None));
    }
}
