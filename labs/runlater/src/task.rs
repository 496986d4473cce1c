//! Tasks and executions, as shown to clients.
//!
//! Does not parse requests ([`crate::draft`] does) and does not access the store.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::stamp::Stamp;

/// A task.
#[derive(Debug, Clone, Serialize)]
pub struct Task {
    /// Its id.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Target address.
    pub url: String,
    /// Method.
    pub method: String,
    /// Headers, as an object of strings.
    pub headers: Box<RawValue>,
    /// Body, for methods that have one.
    pub body: Option<String>,
    /// `once` or `cron`.
    pub schedule_type: String,
    /// Cron expression of a recurring task.
    pub cron_expression: Option<String>,
    /// Time of a one-time task.
    pub scheduled_at: Option<Stamp>,
    /// Whether it is executed.
    pub enabled: bool,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: i32,
    /// Most attempts of a one-time task.
    pub retry_attempts: i32,
    /// Whether notifications are off.
    pub muted: bool,
    /// The only status codes that count as success, if given.
    pub expected_status_codes: Option<String>,
    /// Text that the response must contain.
    pub expected_body_pattern: Option<String>,
    /// Queue, whose tasks run one at a time.
    pub queue: Option<String>,
    /// Address for callbacks with results.
    pub callback_url: Option<String>,
    /// Next due time of a recurring task.
    pub next_run_at: Option<Stamp>,
    /// End of the latest execution.
    pub last_execution_at: Option<Stamp>,
    /// Creation time.
    pub inserted_at: Stamp,
    /// Time of the last change.
    pub updated_at: Stamp,
}

/// An execution of a task.
#[derive(Debug, Clone, Serialize)]
pub struct Execution {
    /// Its id.
    pub id: Uuid,
    /// pending, running, success, failed, timeout or missed.
    pub status: String,
    /// When it is due.
    pub scheduled_for: Stamp,
    /// Time of the claim.
    pub started_at: Option<Stamp>,
    /// Time of the result.
    pub finished_at: Option<Stamp>,
    /// Status code of the target's response.
    pub status_code: Option<i32>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<i32>,
    /// Reason of a failure.
    pub error_message: Option<String>,
    /// Attempt, from 1.
    pub attempt: i32,
}
