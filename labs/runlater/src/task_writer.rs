//! Creates tasks: turns a draft into rows, on the path that the switch selects.
//!
//! Does not parse HTTP and executes nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, TimestampRound, Unit};
use serde::Serialize;
use uuid::Uuid;

use crate::batcher::Batcher;
use crate::config::switch::{CreatePath, Due};
use crate::config::{Switches, millis};
use crate::draft::{Draft, When};
use crate::event::{Event, Events};
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::signature;
use crate::stamp::Stamp;
use crate::store::Store;
use crate::store::create::NewTask;
use crate::store::transaction::{RequestTransaction, StoredResponse};
use crate::task::Task;

/// Most tasks per statement.
const TASKS_MAX: usize = 500;
/// Default method and attempts of recurring tasks, and of one-time tasks.
const CRON: (&str, i32) = ("GET", 3);
const ONCE: (&str, i32) = ("POST", 5);
const TIMEOUT_MS: i32 = 30_000;

#[derive(Serialize)]
struct CreatedBody<T> {
    data: T,
    message: &'static str,
}

#[derive(Serialize)]
struct Receipt {
    task_id: Uuid,
    execution_id: Option<Uuid>,
    status: &'static str,
    scheduled_for: Stamp,
}

/// Writes new tasks.
pub struct TaskWriter {
    batcher: Option<Batcher<NewTask, Result<(), Refusal>>>,
    path: CreatePath,
    due: Due,
    metrics: Metrics,
    events: Events,
}

impl TaskWriter {
    /// Configured by the switches.
    pub fn new(store: &Arc<Store>, switches: &Switches, metrics: Metrics, events: Events) -> Self {
        let batcher = (switches.create_path == CreatePath::Group).then(|| {
            let store = Arc::clone(store);
            Batcher::start(TASKS_MAX, millis(switches.batch_gap_ms), move |tasks| {
                let store = Arc::clone(&store);
                async move { write(&store, tasks).await }
            })
        });
        Self { batcher, path: switches.create_path, due: switches.due, metrics, events }
    }

    /// Whether a new task is written in a batch.
    pub fn is_batched(&self, draft: &Draft) -> bool {
        self.batcher.is_some() && !matches!(draft.when, When::Cron(..))
    }

    /// Writes a task in a batch. It is committed when this returns.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(
        &self,
        organization: Uuid,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(NewTask, StoredResponse), Refusal> {
        let task = self.task(organization, draft, now);
        let batcher = self.batcher.as_ref().ok_or(Refusal::Stopping)?;
        batcher.submit(task.clone()).await.ok_or(Refusal::Stopping)??;
        self.publish_created(&task);
        let response = accepted_response(&task);
        Ok((task, response))
    }

    /// Writes a task within a request's transaction, which the caller must end with the response.
    ///
    /// # Errors
    /// The target's host name does not resolve; PostgreSQL fails.
    pub async fn write(
        &self,
        transaction: &RequestTransaction<'_>,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(NewTask, StoredResponse), Refusal> {
        let task = self.task(transaction.organization(), draft, now);
        let checks = self.path == CreatePath::DnsUpdate;
        if checks {
            self.resolve_host(&task.url).await?;
        }
        transaction.create(&task, checks).await?;
        let response = if task.cron.is_some() {
            recurring_response(&transaction.show(task.id).await?)
        } else {
            accepted_response(&task)
        };
        Ok((task, response))
    }

    /// Records a committed task: counts it and publishes the event.
    pub fn record_written(&self, task: &NewTask) {
        self.metrics.create_statements.inc();
        self.metrics.created.inc();
        self.publish_created(task);
    }

    fn publish_created(&self, task: &NewTask) {
        self.events.publish(task.organization, || Event::Task { task_id: task.id, change: "created" });
    }

    /// Checks that the target's host name resolves.
    async fn resolve_host(&self, url: &str) -> Result<(), Refusal> {
        self.metrics.name_lookups.inc();
        let refused = || Refusal::field("url", "has a host that is not known");
        let url = url::Url::parse(url).map_err(|_| refused())?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(80);
        tokio::net::lookup_host((host, port)).await.map(drop).map_err(|_| refused())
    }

    fn task(&self, organization: Uuid, draft: Draft, now: Timestamp) -> NewTask {
        let Draft { parts, when } = draft;
        let (due, cron) = match when {
            When::Now => (self.soon(now), None),
            // A time that passed during the request is due now.
            When::At(time) => (time.max(now), None),
            When::Cron(text, first) => (first, Some(text)),
        };
        let url = parts.url.unwrap_or_default();
        let (method, attempts) = if cron.is_some() { CRON } else { ONCE };
        NewTask {
            id: Uuid::now_v7(),
            execution: cron.is_none().then(Uuid::now_v7),
            organization,
            name: parts.name.unwrap_or_else(|| name(&url, now)),
            url,
            method: parts.method.unwrap_or_else(|| method.to_owned()),
            headers: parts.headers.unwrap_or_else(|| "{}".to_owned()),
            body: parts.body,
            cron,
            due,
            enabled: parts.enabled.unwrap_or(true),
            retry_attempts: parts.retry_attempts.unwrap_or(attempts),
            timeout_ms: parts.timeout_ms.unwrap_or(TIMEOUT_MS),
            muted: parts.muted.unwrap_or(false),
            callback_url: parts.callback_url,
            expected_status_codes: parts.expected_status_codes,
            expected_body_pattern: parts.expected_body_pattern,
            queue: parts.queue,
        }
    }

    /// Due time of an immediate execution.
    pub fn soon(&self, now: Timestamp) -> Timestamp {
        match self.due {
            Due::Now => now,
            Due::NextSecond => next_second(now),
        }
    }
}

/// As published: one second later, truncated to the second.
fn next_second(now: Timestamp) -> Timestamp {
    let later = now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now);
    let rule = TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc);
    later.round(rule).unwrap_or(later)
}

/// `<url> · <day month, HH:MM>`, truncated to the longest name.
fn name(url: &str, now: Timestamp) -> String {
    let short: String = url.chars().take(220).collect();
    let time = jiff::tz::TimeZone::UTC.to_datetime(now).strftime("%d %b, %H:%M");
    format!("{short} \u{b7} {time}")
}

/// Response for a one-time task.
fn accepted_response(task: &NewTask) -> StoredResponse {
    let data = Receipt {
        task_id: task.id,
        execution_id: task.execution,
        status: "pending",
        scheduled_for: Stamp(task.due),
    };
    encoded(202, &CreatedBody { data, message: "the task is written and will be executed" })
}

/// Response for a recurring task.
fn recurring_response(task: &Task) -> StoredResponse {
    encoded(
        201,
        &CreatedBody { data: task, message: "the task is written and will be executed again and again" },
    )
}

fn encoded(status: u16, body: &impl Serialize) -> StoredResponse {
    StoredResponse { status, body: serde_json::to_string(body).unwrap_or_default() }
}

async fn write(store: &Store, tasks: Vec<NewTask>) -> Vec<Result<(), Refusal>> {
    match store.create_many(&tasks).await {
        Ok(()) => tasks.iter().map(|_| Ok(())).collect(),
        // One invalid task must not fail the others.
        Err(problem) if problem.is_lasting() && tasks.len() > 1 => {
            let mut results = Vec::with_capacity(tasks.len());
            for task in &tasks {
                results.push(store.create_many(std::slice::from_ref(task)).await);
            }
            results
        }
        Err(problem) => tasks.iter().map(|_| Err(problem.clone())).collect(),
    }
}

/// Digest of a request, which identifies repetitions with the same key.
pub fn request_digest(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let text = [method.as_bytes(), b" ", path.as_bytes(), b"\n", body].concat();
    signature::raw_digest(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_due_time_is_a_whole_second_up_to_one_later() {
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        assert_eq!(next_second(time("2030-01-31T12:00:00.999Z")), time("2030-01-31T12:00:01Z"));
        assert_eq!(next_second(time("2030-01-31T12:00:00Z")), time("2030-01-31T12:00:01Z"));
    }

    #[test]
    fn a_task_without_a_name_is_named_after_its_target_and_time() {
        let now = "2030-01-31T12:05:00Z".parse().unwrap();
        assert_eq!(name("http://a/b", now), "http://a/b \u{b7} 31 Jan, 12:05");
        assert!(name(&"ä".repeat(255), now).chars().count() <= 255);
    }
}
