//! One job, from its claim to its written result and what follows from it.
//!
//! Does not look for work.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::Crew;
use super::notice::News;
use crate::call::Outcome;
use crate::config::switch::{LastExecWrite, MonthCounter, Rescue};
use crate::event::Event;
use crate::job::{Job, Verdict};
use crate::metric::Ended;
use crate::refusal::Refusal;
use crate::stamp::Stamp;
use crate::store::claim::Claimed;
use crate::store::result::Record;

/// How a job ended here.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Its row says so, or says that somebody else has it.
    Known,
    /// Its row says that it still runs here.
    GivenUp,
}

impl Crew {
    /// Does what was claimed and is in hand; afterwards it is not.
    pub(super) async fn work(self: &Arc<Self>, claimed: Claimed) {
        let held = claimed.job.claimed();
        let is_fresh = !claimed.is_loaded;
        let end = match self.loaded(claimed).await {
            Ok(Some(job)) => self.perform(Arc::new(job), is_fresh).await,
            Ok(None) => End::Known,
            Err(problem) => {
                tracing::warn!(reason = %problem, execution = %held.0, "a job cannot be loaded");
                End::GivenUp
            }
        };
        self.in_hand.lock().remove(&held);
        if end == End::GivenUp {
            // Its row still says that this node has it: it is freed before the next claim.
            self.is_unsure.store(true, Ordering::Relaxed);
            self.rouse();
        }
    }

    /// The job with its work; none if there is no task any more.
    async fn loaded(&self, claimed: Claimed) -> Result<Option<Job>, Refusal> {
        let Claimed { mut job, is_loaded, is_orphan } = claimed;
        if is_loaded {
            return Ok(Some(job));
        }
        let work = if is_orphan { None } else { self.store.load(job.task_id).await? };
        if let Some(work) = work {
            job.work = work;
            return Ok(Some(job));
        }
        // Its task was deleted after it was written. Nobody is to wait for it.
        let verdict = job.miss("its task is gone");
        self.keep(record(Arc::new(job), verdict, Timestamp::now())).await;
        Ok(None)
    }

    /// `is_fresh` says that the job was loaded just now, and not with its claim.
    async fn perform(self: &Arc<Self>, mut job: Arc<Job>, is_fresh: bool) -> End {
        if self.refetches() && !is_fresh {
            job = self.again(job).await;
        }
        if !self.has_lease() {
            tracing::warn!(execution = %job.id, "no sign of life was given for too long: others may have it");
            return End::GivenUp;
        }
        let (verdict, at) = if job.work.enabled {
            self.begins(job.due);
            self.announce(&job, "running", None);
            let begun = Instant::now();
            let outcome = tokio::select! {
                outcome = self.calling(&job) => outcome,
                () = self.abandon.cancelled() => return End::GivenUp,
            };
            let at = Timestamp::now();
            (job.judge(outcome, begun.elapsed(), self.retry_unit, at), at)
        } else {
            (job.miss("the task is not enabled"), Timestamp::now())
        };
        let record = record(Arc::clone(&job), verdict.clone(), at);
        if self.keep(record).await {
            self.follow(job, verdict, at).await;
        } else {
            self.metrics.refused_results.inc();
            tracing::info!(execution = %job.id, claim = job.claim, "a result is refused: the execution is not ours");
        }
        End::Known
    }

    async fn calling(&self, job: &Job) -> Outcome {
        self.metrics.calling.inc();
        let outcome = self.caller.call(job).await;
        self.metrics.calling.dec();
        outcome
    }

    /// What is done when a result is written.
    async fn follow(self: &Arc<Self>, mut job: Arc<Job>, verdict: Verdict, at: Timestamp) {
        self.metrics.ended.get_or_create(&Ended { status: verdict.status }).inc();
        self.announce(&job, verdict.status, Some(&verdict));
        if job.lane.is_some() {
            // The next one of the queue.
            self.tell(true);
        }
        self.count(&job, at).await;
        if self.refetches() {
            // Published: to see whether somebody is to be told of a failure, then of a recovery, then of the result.
            for _ in 0..3 {
                job = self.again(job).await;
            }
        }
        if News::of(&job, &verdict).is_some() {
            self.tasks.spawn(Arc::clone(self).notify(Arc::clone(&job), verdict.clone(), at));
        }
        if let Some(url) = job.work.callback_url.clone() {
            self.tasks.spawn(Arc::clone(self).call_back(url, job, verdict, at));
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

    /// Loads the work once more. What cannot be loaded stays as it was.
    async fn again(&self, job: Arc<Job>) -> Arc<Job> {
        match self.store.load(job.task_id).await {
            Ok(Some(work)) => Arc::new(Job { work, ..(*job).clone() }),
            _ => job,
        }
    }

    /// Whether others still know that this node lives; they take over what it has if not.
    fn has_lease(&self) -> bool {
        self.switches.rescue == Rescue::Age5min || self.alive_at.lock().elapsed() < self.lease
    }

    fn announce(&self, job: &Job, status: &'static str, verdict: Option<&Verdict>) {
        self.events.tell(job.work.organization, || Event::Execution {
            execution_id: job.id,
            task_id: job.task_id,
            status,
            attempt: job.attempt,
            status_code: verdict.and_then(|verdict| verdict.status_code),
            duration_ms: verdict.map(|verdict| verdict.duration_ms),
            at: Stamp(Timestamp::now()),
        });
    }
}

fn record(job: Arc<Job>, verdict: Verdict, at: Timestamp) -> Record {
    let next = verdict.retry_at.map(|_| Uuid::now_v7());
    Record { job, verdict, at, next }
}
