//! Workers that claim one job at a time, and the control of their number.
//!
//! As published. Jobs are executed as with the dispatcher ([`super::dispatch`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout};

use super::Executor;
use crate::config::millis;
use crate::config::switch::Workers;
use crate::refusal::Refusal;
use crate::store::claim::Claimed;

/// Interval between updates of the target number.
const UPDATE_INTERVAL: Duration = Duration::from_secs(10);
/// Waiting jobs are counted up to this.
const COUNT_MAX: i64 = 20;
const IDLE_MIN: Duration = Duration::from_secs(2);
const IDLE_MAX: Duration = Duration::from_secs(10);
/// An idle worker ends after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const AFTER_PROBLEM: Duration = Duration::from_millis(200);

impl Executor {
    /// Keeps the number of workers that the switch asks for, until stopped.
    pub(super) async fn manage_workers(self: Arc<Self>) {
        self.send_first_heartbeat().await;
        if self.switches.workers == Workers::Fixed {
            for _ in 0..self.switches.max_workers {
                self.tasks.spawn(Arc::clone(&self).run_worker());
            }
            return;
        }
        while !self.stop.is_cancelled() {
            self.update_target().await;
            let there = self.metrics.workers.get();
            for _ in there..self.target.load(Ordering::Relaxed) as i64 {
                self.tasks.spawn(Arc::clone(&self).run_worker());
            }
            tokio::select! {
                () = tokio::time::sleep(UPDATE_INTERVAL) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// Updates the target number of workers for the dispatcher.
    pub(super) async fn adjust_target(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            self.update_target().await;
            self.metrics.workers.set(self.target.load(Ordering::Relaxed) as i64);
            tokio::select! {
                () = tokio::time::sleep(UPDATE_INTERVAL) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn update_target(&self) {
        if let Ok(pending) = self.store.pending(COUNT_MAX).await {
            let wanted = pending.clamp(1, self.switches.max_workers.into());
            self.target.store(usize::try_from(wanted).unwrap_or(1), Ordering::Relaxed);
        }
    }

    /// Runs a worker. The gauge rises before the first wait, so that it is not started twice.
    fn run_worker(self: Arc<Self>) -> impl Future<Output = ()> {
        self.metrics.workers.inc();
        async move {
            self.worker_loop().await;
            self.metrics.workers.dec();
        }
    }

    async fn worker_loop(self: &Arc<Self>) {
        let mut wait = IDLE_MIN;
        let mut busy_at = Instant::now();
        while !self.stop.is_cancelled() {
            match self.claim_one().await {
                Ok(Some(claimed)) => {
                    self.run_claimed(claimed).await;
                    tokio::time::sleep(millis(self.switches.worker_pause_ms)).await;
                    (wait, busy_at) = (IDLE_MIN, Instant::now());
                }
                Ok(None) => {
                    if self.switches.workers == Workers::Managed && busy_at.elapsed() >= IDLE_TIMEOUT {
                        return;
                    }
                    tokio::select! {
                        _ = timeout(wait, self.wake.notified()) => {}
                        () = self.stop.cancelled() => {}
                    }
                    wait = (wait * 2).min(IDLE_MAX);
                }
                Err(problem) => {
                    tracing::warn!(reason = %problem, "nothing can be claimed now");
                    tokio::time::sleep(AFTER_PROBLEM).await;
                }
            }
        }
    }

    /// Tries to claim one job, after a cheap check that there is any.
    async fn claim_one(&self) -> Result<Option<Claimed>, Refusal> {
        if self.may_hold_unknown.swap(false, Ordering::Relaxed) {
            self.reconcile().await?;
        }
        // Alternates, so that queued and unqueued work cannot starve each other.
        if self.is_queues_turn.fetch_xor(true, Ordering::Relaxed) {
            let claimed = self.claim_one_queued().await?;
            return if claimed.is_some() { Ok(claimed) } else { self.claim_one_unqueued().await };
        }
        let claimed = self.claim_one_unqueued().await?;
        if claimed.is_some() { Ok(claimed) } else { self.claim_one_queued().await }
    }

    async fn claim_one_unqueued(&self) -> Result<Option<Claimed>, Refusal> {
        if !self.store.is_pending().await? {
            return Ok(None);
        }
        Ok(self.track_claim(self.store.claim(self.node, 1, Timestamp::UNIX_EPOCH)).await?.pop())
    }

    async fn claim_one_queued(&self) -> Result<Option<Claimed>, Refusal> {
        if !self.queues_may_have_work.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        let mut claimed = self.track_claim(self.store.claim_queued(self.node, 1)).await?;
        if !claimed.is_empty() {
            // Another queue may have one, too.
            self.queues_may_have_work.store(true, Ordering::Relaxed);
        }
        Ok(claimed.pop())
    }
}
