//! New tasks: from what a caller wants to what is written, in the way of the switch.
//!
//! Does not take HTTP apart and executes nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, TimestampRound, Unit};
use serde::Serialize;
use uuid::Uuid;

use crate::config::switch::{CreatePath, Due};
use crate::config::{Switches, millis};
use crate::draft::{Draft, When};
use crate::event::{Event, Events};
use crate::group::Group;
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::signature;
use crate::stamp::Stamp;
use crate::store::Store;
use crate::store::create::{NewTask, Promise};

/// Most tasks of one statement.
const TASKS_MAX: usize = 500;
/// Defaults of tasks: of those that run again and again, and of the others.
const CRON: (&str, i32) = ("GET", 3);
const ONCE: (&str, i32) = ("POST", 5);
const TIMEOUT_MS: i32 = 30_000;

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// 201 or 202, or what was promised.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A key that makes a request one that is done once, however often it is sent.
#[derive(Debug, Clone)]
pub struct Once {
    /// The key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: Vec<u8>,
}

#[derive(Serialize)]
struct Accepted<'a> {
    data: Receipt,
    message: &'a str,
}

#[derive(Serialize)]
struct Receipt {
    task_id: Uuid,
    execution_id: Uuid,
    status: &'static str,
    scheduled_for: Stamp,
}

/// Who writes new tasks.
pub struct Clerk {
    store: Arc<Store>,
    group: Option<Group<NewTask, Result<(), Refusal>>>,
    path: CreatePath,
    due: Due,
    metrics: Metrics,
    events: Events,
}

impl Clerk {
    /// Writes in the way of the switches.
    pub fn new(store: Arc<Store>, switches: &Switches, metrics: Metrics, events: Events) -> Self {
        let group = (switches.create_path == CreatePath::Group).then(|| {
            let store = Arc::clone(&store);
            Group::start(TASKS_MAX, millis(switches.batch_gap_ms), move |tasks| {
                let store = Arc::clone(&store);
                async move { write(&store, tasks).await }
            })
        });
        Self { store, group, path: switches.create_path, due: switches.due, metrics, events }
    }

    /// Writes a task. It is there when this comes back, whatever happens then.
    ///
    /// # Errors
    /// The key was used for another request; the name of the target is none; PostgreSQL fails.
    pub async fn create(
        &self,
        organization: Uuid,
        draft: Draft,
        once: Option<Once>,
        now: Timestamp,
    ) -> Result<(NewTask, Answer), Refusal> {
        let task = self.task(organization, draft, now);
        let answer = match task.execution {
            Some(execution) => accepted(&task, execution),
            None => Answer { status: 201, body: String::new() },
        };
        if let Some(once) = once
            && task.execution.is_some()
        {
            let promise =
                Promise { key: once.key, request: once.request, status: answer.status, body: answer.body };
            let before = self.store.create_once(&task, &promise).await?;
            let kept = before.unwrap_or_else(|| promise.clone());
            if kept.request != promise.request {
                return Err(Refusal::KeyReused);
            }
            return Ok((task, Answer { status: kept.status, body: kept.body }));
        }
        self.write(&task).await?;
        self.events.tell(organization, || Event::Task { task_id: task.id, change: "created" });
        Ok((task, answer))
    }

    async fn write(&self, task: &NewTask) -> Result<(), Refusal> {
        match &self.group {
            Some(group) if task.execution.is_some() => {
                group.join(task.clone()).await.ok_or(Refusal::Stopping)?
            }
            _ => {
                let checks = self.path == CreatePath::DnsUpdate;
                if checks {
                    self.look_up(&task.url).await?;
                }
                self.store.create(task, checks).await
            }
        }
    }

    /// Whether the name of a target is one.
    async fn look_up(&self, url: &str) -> Result<(), Refusal> {
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
            // What passed while the request came is due now.
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

    /// When an execution is due that is to be at once.
    pub fn soon(&self, now: Timestamp) -> Timestamp {
        match self.due {
            Due::Now => now,
            Due::NextSecond => next_second(now),
        }
    }
}

/// Published: a second later, cut to the second.
fn next_second(now: Timestamp) -> Timestamp {
    let later = now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now);
    let rule = TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc);
    later.round(rule).unwrap_or(later)
}

/// `<url> · <day month, HH:MM>`, cut to what a name may have.
fn name(url: &str, now: Timestamp) -> String {
    let short: String = url.chars().take(220).collect();
    let time = jiff::tz::TimeZone::UTC.to_datetime(now).strftime("%d %b, %H:%M");
    format!("{short} \u{b7} {time}")
}

fn accepted(task: &NewTask, execution: Uuid) -> Answer {
    let data = Receipt {
        task_id: task.id,
        execution_id: execution,
        status: "pending",
        scheduled_for: Stamp(task.due),
    };
    let body = Accepted { data, message: "the task is written and will be executed" };
    Answer { status: 202, body: serde_json::to_string(&body).unwrap_or_default() }
}

async fn write(store: &Store, tasks: Vec<NewTask>) -> Vec<Result<(), Refusal>> {
    match store.create_many(&tasks).await {
        Ok(()) => tasks.iter().map(|_| Ok(())).collect(),
        // One that cannot be written must not take the others with it.
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

/// The digest of a request, to tell whether another one with the same key is the same.
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
    fn a_task_without_a_name_is_called_after_its_target_and_time() {
        let now = "2030-01-31T12:05:00Z".parse().unwrap();
        assert_eq!(name("http://a/b", now), "http://a/b \u{b7} 31 Jan, 12:05");
        assert!(name(&"ä".repeat(255), now).chars().count() <= 255);
    }
}
