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
use crate::store::create::NewTask;
use crate::store::deed::{Answer, Deed};
use crate::task::Task;

/// Most tasks of one statement.
const TASKS_MAX: usize = 500;
/// Defaults of tasks: of those that run again and again, and of the others.
const CRON: (&str, i32) = ("GET", 3);
const ONCE: (&str, i32) = ("POST", 5);
const TIMEOUT_MS: i32 = 30_000;

#[derive(Serialize)]
struct Made<T> {
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

/// Who writes new tasks.
pub struct Clerk {
    group: Option<Group<NewTask, Result<(), Refusal>>>,
    path: CreatePath,
    due: Due,
    metrics: Metrics,
    events: Events,
}

impl Clerk {
    /// Writes in the way of the switches.
    pub fn new(store: &Arc<Store>, switches: &Switches, metrics: Metrics, events: Events) -> Self {
        let group = (switches.create_path == CreatePath::Group).then(|| {
            let store = Arc::clone(store);
            Group::start(TASKS_MAX, millis(switches.batch_gap_ms), move |tasks| {
                let store = Arc::clone(&store);
                async move { write(&store, tasks).await }
            })
        });
        Self { group, path: switches.create_path, due: switches.due, metrics, events }
    }

    /// Whether a new task is written together with others that come at the same time, and not by itself.
    pub fn is_grouped(&self, draft: &Draft) -> bool {
        self.group.is_some() && !matches!(draft.when, When::Cron(..))
    }

    /// Writes a task together with others. It is there when this comes back, whatever happens then.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn create(
        &self,
        organization: Uuid,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(NewTask, Answer), Refusal> {
        let task = self.task(organization, draft, now);
        let group = self.group.as_ref().ok_or(Refusal::Stopping)?;
        group.join(task.clone()).await.ok_or(Refusal::Stopping)??;
        self.tell(&task);
        let answer = accepted(&task);
        Ok((task, answer))
    }

    /// Writes a task as what a request does, which is to be ended with the answer.
    ///
    /// # Errors
    /// The name of the target is none; PostgreSQL fails.
    pub async fn write(
        &self,
        deed: &Deed<'_>,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(NewTask, Answer), Refusal> {
        let task = self.task(deed.organization(), draft, now);
        let checks = self.path == CreatePath::DnsUpdate;
        if checks {
            self.look_up(&task.url).await?;
        }
        deed.create(&task, checks).await?;
        let answer = if task.cron.is_some() { made(&deed.show(task.id).await?) } else { accepted(&task) };
        Ok((task, answer))
    }

    /// A request that wrote a task has ended well.
    pub fn wrote(&self, task: &NewTask) {
        self.metrics.create_statements.inc();
        self.metrics.created.inc();
        self.tell(task);
    }

    fn tell(&self, task: &NewTask) {
        self.events.tell(task.organization, || Event::Task { task_id: task.id, change: "created" });
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

/// The answer to a task that runs once.
fn accepted(task: &NewTask) -> Answer {
    let data = Receipt {
        task_id: task.id,
        execution_id: task.execution,
        status: "pending",
        scheduled_for: Stamp(task.due),
    };
    encoded(202, &Made { data, message: "the task is written and will be executed" })
}

/// The answer to one that runs again and again.
fn made(task: &Task) -> Answer {
    encoded(201, &Made { data: task, message: "the task is written and will be executed again and again" })
}

fn encoded(status: u16, body: &impl Serialize) -> Answer {
    Answer { status, body: serde_json::to_string(body).unwrap_or_default() }
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
