//! Tasks and executions as callers see them.
//!
//! Does not read what callers send ([`crate::draft`] does) and does not know where tasks are kept.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::stamp::Stamp;

/// A task.
#[derive(Debug, Clone, Serialize)]
pub struct Task {
    /// Its id.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
    /// What it calls.
    pub url: String,
    /// How.
    pub method: String,
    /// With which headers: an object of texts.
    pub headers: Box<RawValue>,
    /// With which body, for methods that have one.
    pub body: Option<String>,
    /// `once` or `cron`.
    pub schedule_type: String,
    /// When, again and again.
    pub cron_expression: Option<String>,
    /// When, once.
    pub scheduled_at: Option<Stamp>,
    /// Whether it is executed at all.
    pub enabled: bool,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: i32,
    /// How often one that runs once is tried at the most.
    pub retry_attempts: i32,
    /// Whether nobody is to be told of failures.
    pub muted: bool,
    /// Statuses that are successes, and no others.
    pub expected_status_codes: Option<String>,
    /// A text that the answer has to have in it.
    pub expected_body_pattern: Option<String>,
    /// The queue in which it waits for others to finish.
    pub queue: Option<String>,
    /// Who is told of results.
    pub callback_url: Option<String>,
    /// When the next execution is due, of one that runs again and again.
    pub next_run_at: Option<Stamp>,
    /// When the latest execution ended.
    pub last_execution_at: Option<Stamp>,
    /// When it was made.
    pub inserted_at: Stamp,
    /// When it was changed.
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
    /// When a worker took it.
    pub started_at: Option<Stamp>,
    /// When its result was known.
    pub finished_at: Option<Stamp>,
    /// What the target answered with.
    pub status_code: Option<i32>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<i32>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// Which try it is, from 1.
    pub attempt: i32,
}
