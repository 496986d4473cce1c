//! Executes one job, from its claim to its written result and follow-up work.
//!
//! Does not claim work.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::Executor;
use super::notification::StatusChange;
use crate::call::Outcome;
use crate::config::switch::{LastExecWrite, MonthCounter, Rescue};
use crate::event::Event;
use crate::job::{ExecutionResult, Job};
use crate::metric::Ended;
use crate::refusal::Refusal;
use crate::stamp::Stamp;
use crate::store::claim::Claimed;
use crate::store::result::Record;

/// How a job ended on this node.
#[derive(Debug, PartialEq, Eq)]
enum JobEnd {
    /// Its row has the result, or belongs to another node.
    Recorded,
    /// Its row still says that it runs here.
    Abandoned,
}

impl Executor {
    /// Executes a claim and releases it.
    pub(super) async fn run_claimed(self: &Arc<Self>, claimed: Claimed) {
        let held = claimed.job.claimed();
        let is_fresh = !claimed.is_loaded;
        let end = match self.load_work(claimed).await {
            Ok(Some(job)) => self.execute(Arc::new(job), is_fresh).await,
            Ok(None) => JobEnd::Recorded,
            Err(problem) => {
                tracing::warn!(reason = %problem, execution = %held.0, "a job cannot be loaded");
                JobEnd::Abandoned
            }
        };
        self.held_claims.lock().remove(&held);
        if end == JobEnd::Abandoned {
            // Its row still names this node: reconcile before the next claim.
            self.may_hold_unknown.store(true, Ordering::Relaxed);
            self.wake_workers();
        }
    }

    /// Loads the job's work; `None` if its task was deleted.
    async fn load_work(&self, claimed: Claimed) -> Result<Option<Job>, Refusal> {
        let Claimed { mut job, is_loaded, is_orphan } = claimed;
        if is_loaded {
            return Ok(Some(job));
        }
        let work = if is_orphan { None } else { self.store.load(job.task_id).await? };
        if let Some(work) = work {
            job.work = work;
            return Ok(Some(job));
        }
        // Its task was deleted: record the execution as missed.
        let result = job.miss("its task is gone");
        self.write_result(record(Arc::new(job), result, Timestamp::now())).await;
        Ok(None)
    }

    /// `is_fresh`: the job was loaded just now, not with its claim.
    async fn execute(self: &Arc<Self>, mut job: Arc<Job>, is_fresh: bool) -> JobEnd {
        if self.refetches() && !is_fresh {
            job = self.reload(job).await;
        }
        if !self.has_lease() {
            tracing::warn!(execution = %job.id, "no sign of life was given for too long: others may have it");
            return JobEnd::Abandoned;
        }
        let (result, at) = if job.work.enabled {
            self.record_start(job.due);
            self.publish_status(&job, "running", None);
            let begun = Instant::now();
            let outcome = tokio::select! {
                outcome = self.call_target(&job) => outcome,
                () = self.abandon.cancelled() => return JobEnd::Abandoned,
            };
            let at = Timestamp::now();
            (job.judge(outcome, begun.elapsed(), self.retry_unit, at), at)
        } else {
            (job.miss("the task is not enabled"), Timestamp::now())
        };
        let record = record(Arc::clone(&job), result.clone(), at);
        if self.write_result(record).await {
            self.after_result(job, result, at).await;
        } else {
            self.metrics.refused_results.inc();
            tracing::info!(execution = %job.id, claim = job.claim, "a result is refused: the execution is not ours");
        }
        JobEnd::Recorded
    }

    async fn call_target(&self, job: &Job) -> Outcome {
        self.metrics.calling.inc();
        let outcome = self.webhook_client.call(job).await;
        self.metrics.calling.dec();
        outcome
    }

    /// Follow-up work of a written result.
    async fn after_result(self: &Arc<Self>, mut job: Arc<Job>, result: ExecutionResult, at: Timestamp) {
        self.metrics.ended.get_or_create(&Ended { status: result.status }).inc();
        self.publish_status(&job, result.status, Some(&result));
        if job.queue_key.is_some() {
            // The next execution of the queue can start.
            self.task_added(true);
        }
        self.count(&job, at).await;
        if self.refetches() {
            // As published: reloads before the failure, recovery and callback checks.
            for _ in 0..3 {
                job = self.reload(job).await;
            }
        }
        if StatusChange::of(&job, &result).is_some() {
            self.tasks.spawn(Arc::clone(self).notify(Arc::clone(&job), result.clone(), at));
        }
        if let Some(url) = job.work.callback_url.clone() {
            self.tasks.spawn(Arc::clone(self).send_callback(url, job, result, at));
        }
    }

    async fn count(&self, job: &Job, at: Timestamp) {
        if job.attempt == 1 {
            match self.switches.month_counter {
                MonthCounter::Buffer5s => self.buffer.count(job.work.organization, 1),
                MonthCounter::RowUpdate => {
                    if self.store.count_executions(job.work.organization, 1).await.is_err() {
                        self.buffer.count(job.work.organization, 1);
                    }
                }
            }
        }
        match self.switches.last_exec_write {
            LastExecWrite::WithResult => {}
            LastExecWrite::Buffer5s => self.buffer.ended(job.task_id, at),
            LastExecWrite::RowUpdate => {
                if self.store.write_last_execution(job.task_id, at).await.is_err() {
                    self.buffer.ended(job.task_id, at);
                }
            }
        }
    }

    /// Reloads the work; keeps the old if that fails.
    async fn reload(&self, job: Arc<Job>) -> Arc<Job> {
        match self.store.load(job.task_id).await {
            Ok(Some(work)) => Arc::new(Job { work, ..(*job).clone() }),
            _ => job,
        }
    }

    /// Whether the lease is valid; other nodes rescue this node's executions if not.
    fn has_lease(&self) -> bool {
        self.switches.rescue == Rescue::Age5min || self.last_heartbeat.lock().elapsed() < self.lease
    }

    fn publish_status(&self, job: &Job, status: &'static str, result: Option<&ExecutionResult>) {
        self.events.publish(job.work.organization, || Event::Execution {
            execution_id: job.id,
            task_id: job.task_id,
            status,
            attempt: job.attempt,
            status_code: result.and_then(|result| result.status_code),
            duration_ms: result.map(|result| result.duration_ms),
            at: Stamp(Timestamp::now()),
        });
    }
}

fn record(job: Arc<Job>, result: ExecutionResult, at: Timestamp) -> Record {
    let next = result.retry_at.map(|_| Uuid::now_v7());
    Record { job, result, at, next }
}
