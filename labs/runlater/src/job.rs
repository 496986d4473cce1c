//! A claimed execution, and how the outcome of its call is judged.
//!
//! Makes no call and keeps no result.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::call::Outcome;
use crate::retry;

/// What a worker has to do.
#[derive(Debug, Clone)]
pub struct Job {
    /// Id of the execution.
    pub id: Uuid,
    /// Id of the task.
    pub task_id: Uuid,
    /// When it was due.
    pub due: Timestamp,
    /// Which try it is.
    pub attempt: i32,
    /// How often it was claimed: the proof that a result is from whoever has it now.
    pub claim: i32,
    /// Organization and queue, of one that waited for others.
    pub lane: Option<String>,
    /// What to call.
    pub work: Work,
}

/// What is called, from the task and its organization.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Whose it is.
    pub organization: Uuid,
    /// What signs calls.
    pub webhook_secret: String,
    /// Whether the task is to be executed.
    pub enabled: bool,
    /// Whether it runs again and again: such a task is not retried.
    pub is_cron: bool,
    /// The address.
    pub url: String,
    /// The method.
    pub method: String,
    /// Headers, as a JSON object of texts.
    pub headers: String,
    /// The body.
    pub body: Option<String>,
    /// How long the call may take, in milliseconds.
    pub timeout_ms: i32,
    /// How often it may be tried.
    pub retry_attempts: i32,
    /// Who is told of results.
    pub callback_url: Option<String>,
    /// Statuses that are successes, and no others.
    pub expected_status_codes: Option<String>,
    /// A text that the answer has to have in it.
    pub expected_body_pattern: Option<String>,
    /// Who is told when the task begins to fail.
    pub failure_url: Option<String>,
    /// Who is told when it works again.
    pub recovery_url: Option<String>,
}

/// What is written of an execution that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// success, failed, timeout or missed.
    pub status: &'static str,
    /// What the target answered with.
    pub status_code: Option<i32>,
    /// How long the call took, in milliseconds.
    pub duration_ms: i32,
    /// What the target said.
    pub response_body: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
}

impl Job {
    /// Which claim of which execution this is; a node may have had the same execution before.
    pub fn claimed(&self) -> (Uuid, i32) {
        (self.id, self.claim)
    }

    /// Judges what came of the call, and says when to try again.
    pub fn judge(&self, outcome: Outcome, took: Duration, retry_unit: Duration, now: Timestamp) -> Verdict {
        let mut asked = None;
        let (status, status_code, response_body, error_message) = match outcome {
            Outcome::Timeout => {
                ("timeout", None, None, Some(format!("no answer within {} ms", self.work.timeout_ms)))
            }
            Outcome::Failed(reason) => ("failed", None, None, Some(reason)),
            Outcome::Answered { status, retry_after, body } => {
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
        Verdict {
            status,
            status_code,
            duration_ms: i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
            response_body,
            error_message,
            retry_at: retry::next(self.attempt, most, retry_unit, asked.as_deref(), now),
        }
    }

    /// Its end without a call.
    pub fn miss(&self, why: &str) -> Verdict {
        Verdict {
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
        Job { id: Uuid::nil(), task_id: Uuid::nil(), due, attempt: 1, claim: 1, lane: None, work }
    }

    fn judge(work: Work, outcome: Outcome) -> (&'static str, Option<i64>) {
        let unit = Duration::from_secs(30);
        let verdict = job(work).judge(outcome, Duration::from_millis(7), unit, Timestamp::UNIX_EPOCH);
        assert_eq!(verdict.duration_ms, 7);
        assert_eq!(verdict.status == "success", verdict.error_message.is_none());
        (verdict.status, verdict.retry_at.map(Timestamp::as_second))
    }

    fn answer(status: u16, retry_after: Option<&str>) -> Outcome {
        Outcome::Answered { status, retry_after: retry_after.map(str::to_owned), body: "it is ok".to_owned() }
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
