//! Workers that each look for one job after the other, and who hires them.
//!
//! As published; what they do with a job is the same as for those who are given it ([`super::dispatch`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout};

use super::Crew;
use crate::config::millis;
use crate::config::switch::Workers;
use crate::refusal::Refusal;
use crate::store::claim::Claimed;

/// How often it is decided how many workers there are.
const DECIDE_EVERY: Duration = Duration::from_secs(10);
/// Jobs that wait are counted up to here.
const COUNT_MAX: i64 = 20;
const IDLE_MIN: Duration = Duration::from_secs(2);
const IDLE_MAX: Duration = Duration::from_secs(10);
/// A worker that had nothing to do for so long leaves.
const LEAVE_AFTER: Duration = Duration::from_secs(30);
const AFTER_PROBLEM: Duration = Duration::from_millis(200);

impl Crew {
    /// Keeps as many workers as the switch wants, until it is stopped.
    pub(super) async fn hire(self: Arc<Self>) {
        self.arrive().await;
        if self.switches.workers == Workers::Fixed {
            for _ in 0..self.switches.max_workers {
                self.tasks.spawn(Arc::clone(&self).toil());
            }
            return;
        }
        while !self.stop.is_cancelled() {
            self.decide().await;
            let there = self.metrics.workers.get();
            for _ in there..self.target.load(Ordering::Relaxed) as i64 {
                self.tasks.spawn(Arc::clone(&self).toil());
            }
            tokio::select! {
                () = tokio::time::sleep(DECIDE_EVERY) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// Decides how many workers there may be, for one who claims for all.
    pub(super) async fn aim(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            self.decide().await;
            self.metrics.workers.set(self.target.load(Ordering::Relaxed) as i64);
            tokio::select! {
                () = tokio::time::sleep(DECIDE_EVERY) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn decide(&self) {
        if let Ok(pending) = self.store.pending(COUNT_MAX).await {
            let wanted = pending.clamp(1, self.switches.max_workers.into());
            self.target.store(usize::try_from(wanted).unwrap_or(1), Ordering::Relaxed);
        }
    }

    /// One worker's life. The gauge goes up before the first wait, so that nobody hires it twice.
    fn toil(self: Arc<Self>) -> impl Future<Output = ()> {
        self.metrics.workers.inc();
        async move {
            self.labour().await;
            self.metrics.workers.dec();
        }
    }

    async fn labour(self: &Arc<Self>) {
        let mut wait = IDLE_MIN;
        let mut busy_at = Instant::now();
        while !self.stop.is_cancelled() {
            match self.seek().await {
                Ok(Some(claimed)) => {
                    self.work(claimed).await;
                    tokio::time::sleep(millis(self.switches.worker_pause_ms)).await;
                    (wait, busy_at) = (IDLE_MIN, Instant::now());
                }
                Ok(None) => {
                    if self.switches.workers == Workers::Managed && busy_at.elapsed() >= LEAVE_AFTER {
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

    /// One look for one job: first whether there is any, which is cheap.
    async fn seek(&self) -> Result<Option<Claimed>, Refusal> {
        if self.is_unsure.swap(false, Ordering::Relaxed) {
            self.reconcile().await?;
        }
        // In turn, so that neither what is in queues nor what is not can hold up the other for ever.
        if self.is_lanes_turn.fetch_xor(true, Ordering::Relaxed) {
            let claimed = self.seek_in_lanes().await?;
            return if claimed.is_some() { Ok(claimed) } else { self.seek_outside().await };
        }
        let claimed = self.seek_outside().await?;
        if claimed.is_some() { Ok(claimed) } else { self.seek_in_lanes().await }
    }

    async fn seek_outside(&self) -> Result<Option<Claimed>, Refusal> {
        if !self.store.is_pending().await? {
            return Ok(None);
        }
        Ok(self.take(self.store.claim(self.node, 1, Timestamp::UNIX_EPOCH)).await?.pop())
    }

    async fn seek_in_lanes(&self) -> Result<Option<Claimed>, Refusal> {
        if !self.lanes.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        let mut claimed = self.take(self.store.claim_lanes(self.node, 1)).await?;
        if !claimed.is_empty() {
            // There may be another one, in another queue.
            self.lanes.store(true, Ordering::Relaxed);
        }
        Ok(claimed.pop())
    }
}
