//! The dispatcher: claims as many executions as there are free workers, in one statement.
//!
//! Does not execute them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::Executor;
use crate::config::millis;
use crate::config::switch::Workers;
use crate::refusal::Refusal;
use crate::store::claim::Claimed;

/// Most executions per claim.
const CLAIM_MAX: usize = 500;
/// Interval between scans of all waiting executions, not only recently due ones.
const FULL_SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// Overlap between scans: executions can be committed out of due order, and clocks differ. Later ones are found by the
/// next full scan.
const SLACK: SignedDuration = SignedDuration::from_secs(3);
const AFTER_PROBLEM: Duration = Duration::from_millis(200);

/// Where the index scan starts. Completed executions leave dead index entries before it until vacuum removes
/// them.
struct ScanStart {
    since: Timestamp,
    full_scan_at: Option<Instant>,
}

impl ScanStart {
    fn begin(&mut self, executor: &Executor) -> Timestamp {
        let is_old = self.full_scan_at.is_none_or(|at| at.elapsed() >= FULL_SCAN_INTERVAL);
        if executor.scan_all.swap(false, Ordering::Relaxed) || is_old {
            self.full_scan_at = Some(Instant::now());
            return Timestamp::UNIX_EPOCH;
        }
        self.since
    }

    /// Advances after a claim: nothing is left before the last execution taken or, if the claim was not full,
    /// before the start of the claim.
    fn end(&mut self, started_at: Timestamp, claimed: &[Claimed], is_full: bool) {
        let last = claimed.iter().map(|claimed| claimed.job.due).max();
        let reached = if is_full { last.unwrap_or(Timestamp::UNIX_EPOCH) } else { started_at };
        self.since = reached.saturating_sub(SLACK).unwrap_or(Timestamp::UNIX_EPOCH);
    }
}

/// When to check queues. They go first, so that unqueued work cannot starve them, and get half of the free slots or
/// every second one, so that they cannot starve unqueued work.
struct QueueTurn {
    at: Instant,
    was_taken: bool,
}

impl QueueTurn {
    /// Slots for queues in this round.
    fn share(&mut self, executor: &Executor, free: usize) -> usize {
        let is_due =
            executor.queues_may_have_work.load(Ordering::Relaxed) || self.at.elapsed() >= executor.poll;
        let is_turn = is_due && (free > 1 || !self.was_taken);
        self.was_taken = is_turn;
        if !is_turn {
            return 0;
        }
        self.at = Instant::now();
        executor.queues_may_have_work.store(false, Ordering::Relaxed);
        free.div_ceil(2)
    }
}

impl Executor {
    /// Claims and starts calls until it is stopped.
    pub(super) async fn dispatch(self: Arc<Self>) {
        let slots = Arc::new(Semaphore::new(self.switches.max_workers as usize));
        self.metrics.workers.set(self.switches.max_workers.into());
        let gap = millis(self.switches.batch_gap_ms);
        let mut scan_start = ScanStart { since: Timestamp::UNIX_EPOCH, full_scan_at: None };
        let mut turn = QueueTurn { at: Instant::now(), was_taken: false };
        self.send_first_heartbeat().await;
        if self.switches.workers == Workers::Managed {
            tokio::spawn(Arc::clone(&self).adjust_target());
        }
        while !self.stop.is_cancelled() {
            let begun = Instant::now();
            let is_full = match self.round(&slots, &mut scan_start, &mut turn).await {
                Ok(is_full) => is_full,
                Err(problem) => {
                    tracing::warn!(reason = %problem, "nothing can be claimed now");
                    tokio::time::sleep(AFTER_PROBLEM).await;
                    true
                }
            };
            if !is_full {
                self.wait_for_work().await;
            }
            sleep_until(begun + gap).await;
        }
        // Jobs in slots are tracked as tasks; nothing else waits for a slot.
    }

    /// One round of claims; true if there may be more work.
    async fn round(
        self: &Arc<Self>,
        slots: &Arc<Semaphore>,
        scan_start: &mut ScanStart,
        turn: &mut QueueTurn,
    ) -> Result<bool, Refusal> {
        if self.may_hold_unknown.swap(false, Ordering::Relaxed) {
            self.reconcile().await?;
        }
        let free = self.free_slots(slots).await;
        if free == 0 {
            return Ok(false);
        }
        let share = turn.share(self, free);
        let mut is_full = false;
        let mut left = free;
        if share > 0 {
            let claimed = self.track_claim(self.store.claim_queued(self.node, share)).await?;
            is_full = claimed.len() >= share;
            if is_full {
                self.queues_may_have_work.store(true, Ordering::Relaxed);
            }
            left -= claimed.len().min(left);
            self.spawn_all(slots, claimed);
        }
        if left > 0 {
            let (started_at, since) = (Timestamp::now(), scan_start.begin(self));
            let most = left.min(CLAIM_MAX);
            let claimed = self.track_claim(self.store.claim(self.node, most, since)).await?;
            let is_filled = claimed.len() >= most;
            scan_start.end(started_at, &claimed, is_filled);
            is_full |= is_filled;
            self.spawn_all(slots, claimed);
        }
        Ok(is_full)
    }

    fn spawn_all(self: &Arc<Self>, slots: &Arc<Semaphore>, claimed: Vec<Claimed>) {
        for claimed in claimed {
            let slot = Arc::clone(slots).try_acquire_owned().ok();
            self.tasks.spawn(Arc::clone(self).run_in_slot(claimed, slot));
        }
    }

    async fn run_in_slot(self: Arc<Self>, claimed: Claimed, slot: Option<OwnedSemaphorePermit>) {
        self.run_claimed(claimed).await;
        tokio::time::sleep(millis(self.switches.worker_pause_ms)).await;
        drop(slot);
        if self.switches.workers == Workers::Managed {
            // The dispatcher may be waiting for the target number, not for a slot.
            self.wake.notify_one();
        }
    }

    /// Waits for a free slot; returns the number of free ones.
    async fn free_slots(&self, slots: &Arc<Semaphore>) -> usize {
        tokio::select! {
            permit = slots.acquire() => drop(permit),
            () = self.stop.cancelled() => return 0,
        }
        let most = self.switches.max_workers as usize;
        let busy = most - slots.available_permits().min(most);
        self.target.load(Ordering::Relaxed).saturating_sub(busy)
    }

    /// Waits for a claim and tracks its executions before a reconcile can run.
    pub(super) async fn track_claim(
        &self,
        claim: impl Future<Output = Result<Vec<Claimed>, Refusal>>,
    ) -> Result<Vec<Claimed>, Refusal> {
        let _claiming = self.claiming.read().await;
        let claimed = claim.await;
        match &claimed {
            Ok(claimed) => self.track(claimed),
            // A claim refused before it was sent took nothing; any other may have.
            Err(Refusal::Busy(_)) => {}
            Err(_) => self.may_hold_unknown.store(true, Ordering::Relaxed),
        }
        claimed
    }

    /// Frees executions claimed by this node whose responses were lost.
    pub(super) async fn reconcile(&self) -> Result<(), Refusal> {
        let _alone = self.claiming.write().await;
        let held_claims: Vec<uuid::Uuid> = self.held_claims.lock().iter().map(|(id, _)| *id).collect();
        let freed = self.store.reconcile(self.node, &held_claims).await.inspect_err(|_| {
            self.may_hold_unknown.store(true, Ordering::Relaxed);
        })?;
        if freed > 0 {
            tracing::info!(executions = freed, "freed: their claims were answered to nobody");
            self.scan_all.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits for a wake-up or the next due time.
    async fn wait_for_work(&self) {
        let next = self.store.next_due().await.ok().flatten();
        let until = next.and_then(|next| Duration::try_from(Timestamp::now().duration_until(next)).ok());
        let wait = until.map_or(self.poll, |until| until.min(self.poll)).max(Duration::from_millis(1));
        tokio::select! {
            _ = timeout(wait, self.wake.notified()) => {}
            () = self.stop.cancelled() => {}
        }
    }
}
