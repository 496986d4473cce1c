//! One who claims for all: as many executions as there are free workers, by one statement.
//!
//! Does not perform them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::Crew;
use crate::config::millis;
use crate::config::switch::Workers;
use crate::refusal::Refusal;
use crate::store::claim::Claimed;

/// Most executions of one claim.
const CLAIM_MAX: usize = 500;
/// How often all that waits is looked at, and not only what became due of late.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// What becomes due later than those before it may be written before them, and clocks differ: by so much. What comes later
/// still waits for the next look at all.
const SLACK: SignedDuration = SignedDuration::from_secs(3);
const AFTER_PROBLEM: Duration = Duration::from_millis(200);

/// From where on the index is read. What was done leaves dead entries before it, of which there are many until they
/// are cleaned away.
struct Horizon {
    since: Timestamp,
    swept_at: Option<Instant>,
}

impl Horizon {
    fn begin(&mut self, crew: &Crew) -> Timestamp {
        let is_old = self.swept_at.is_none_or(|at| at.elapsed() >= SWEEP_EVERY);
        if crew.sweep.swap(false, Ordering::Relaxed) || is_old {
            self.swept_at = Some(Instant::now());
            return Timestamp::UNIX_EPOCH;
        }
        self.since
    }

    /// After a claim that began at a time: before what it took last nothing is left, or, if it could have taken more,
    /// before its beginning.
    fn end(&mut self, began: Timestamp, claimed: &[Claimed], is_full: bool) {
        let last = claimed.iter().map(|claimed| claimed.job.due).max();
        let reached = if is_full { last.unwrap_or(Timestamp::UNIX_EPOCH) } else { began };
        self.since = reached.saturating_sub(SLACK).unwrap_or(Timestamp::UNIX_EPOCH);
    }
}

/// When queues are looked at: they go first, so that what waits outside of them cannot hold them up for ever, and they get
/// a half of the places, or every second one, so that they cannot either.
struct Turn {
    at: Instant,
    was_taken: bool,
}

impl Turn {
    /// How many of the free places queues may have in this round.
    fn share(&mut self, crew: &Crew, free: usize) -> usize {
        let is_due = crew.lanes.load(Ordering::Relaxed) || self.at.elapsed() >= crew.poll;
        let is_turn = is_due && (free > 1 || !self.was_taken);
        self.was_taken = is_turn;
        if !is_turn {
            return 0;
        }
        self.at = Instant::now();
        crew.lanes.store(false, Ordering::Relaxed);
        free.div_ceil(2)
    }
}

impl Crew {
    /// Claims and starts calls until it is stopped.
    pub(super) async fn dispatch(self: Arc<Self>) {
        let places = Arc::new(Semaphore::new(self.switches.max_workers as usize));
        self.metrics.workers.set(self.switches.max_workers.into());
        let gap = millis(self.switches.batch_gap_ms);
        let mut horizon = Horizon { since: Timestamp::UNIX_EPOCH, swept_at: None };
        let mut turn = Turn { at: Instant::now(), was_taken: false };
        self.arrive().await;
        if self.switches.workers == Workers::Managed {
            tokio::spawn(Arc::clone(&self).aim());
        }
        while !self.stop.is_cancelled() {
            let begun = Instant::now();
            let is_full = match self.round(&places, &mut horizon, &mut turn).await {
                Ok(is_full) => is_full,
                Err(problem) => {
                    tracing::warn!(reason = %problem, "nothing can be claimed now");
                    tokio::time::sleep(AFTER_PROBLEM).await;
                    true
                }
            };
            if !is_full {
                self.idle().await;
            }
            sleep_until(begun + gap).await;
        }
        // Whoever has a place is counted by the tasks; nobody else waits for one.
    }

    /// One look for work; whether there may be more of it.
    async fn round(
        self: &Arc<Self>,
        places: &Arc<Semaphore>,
        horizon: &mut Horizon,
        turn: &mut Turn,
    ) -> Result<bool, Refusal> {
        if self.is_unsure.swap(false, Ordering::Relaxed) {
            self.reconcile().await?;
        }
        let free = self.free(places).await;
        if free == 0 {
            return Ok(false);
        }
        let share = turn.share(self, free);
        let mut is_full = false;
        let mut left = free;
        if share > 0 {
            let claimed = self.take(self.store.claim_lanes(self.node, share)).await?;
            is_full = claimed.len() >= share;
            if is_full {
                self.lanes.store(true, Ordering::Relaxed);
            }
            left -= claimed.len().min(left);
            self.place_all(places, claimed);
        }
        if left > 0 {
            let (began, since) = (Timestamp::now(), horizon.begin(self));
            let most = left.min(CLAIM_MAX);
            let claimed = self.take(self.store.claim(self.node, most, since)).await?;
            let is_filled = claimed.len() >= most;
            horizon.end(began, &claimed, is_filled);
            is_full |= is_filled;
            self.place_all(places, claimed);
        }
        Ok(is_full)
    }

    fn place_all(self: &Arc<Self>, places: &Arc<Semaphore>, claimed: Vec<Claimed>) {
        for claimed in claimed {
            let place = Arc::clone(places).try_acquire_owned().ok();
            self.tasks.spawn(Arc::clone(self).place(claimed, place));
        }
    }

    async fn place(self: Arc<Self>, claimed: Claimed, place: Option<OwnedSemaphorePermit>) {
        self.work(claimed).await;
        tokio::time::sleep(millis(self.switches.worker_pause_ms)).await;
        drop(place);
        if self.switches.workers == Workers::Managed {
            // Who claims may wait for there to be fewer, and not for a place.
            self.wake.notify_one();
        }
    }

    /// Waits until there is a free place, and says how many there are.
    async fn free(&self, places: &Arc<Semaphore>) -> usize {
        tokio::select! {
            permit = places.acquire() => drop(permit),
            () = self.stop.cancelled() => return 0,
        }
        let most = self.switches.max_workers as usize;
        let busy = most - places.available_permits().min(most);
        self.target.load(Ordering::Relaxed).saturating_sub(busy)
    }

    /// Waits for a claim, and takes what it got into hand before anybody can look for it.
    pub(super) async fn take(
        &self,
        claim: impl Future<Output = Result<Vec<Claimed>, Refusal>>,
    ) -> Result<Vec<Claimed>, Refusal> {
        let _claiming = self.claiming.read().await;
        let claimed = claim.await;
        match &claimed {
            Ok(claimed) => self.hold(claimed),
            // What is refused before it is sent has taken nothing; all else may have.
            Err(Refusal::Busy(_)) => {}
            Err(_) => self.is_unsure.store(true, Ordering::Relaxed),
        }
        claimed
    }

    /// Frees what this node took without knowing.
    pub(super) async fn reconcile(&self) -> Result<(), Refusal> {
        let _alone = self.claiming.write().await;
        let in_hand: Vec<uuid::Uuid> = self.in_hand.lock().iter().map(|(id, _)| *id).collect();
        let freed = self.store.reconcile(self.node, &in_hand).await.inspect_err(|_| {
            self.is_unsure.store(true, Ordering::Relaxed);
        })?;
        if freed > 0 {
            tracing::info!(executions = freed, "freed: their claims were answered to nobody");
            self.sweep.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until somebody says that there is work, or it may be due.
    async fn idle(&self) {
        let next = self.store.next_due().await.ok().flatten();
        let until = next.and_then(|next| Duration::try_from(Timestamp::now().duration_until(next)).ok());
        let wait = until.map_or(self.poll, |until| until.min(self.poll)).max(Duration::from_millis(1));
        tokio::select! {
            _ = timeout(wait, self.wake.notified()) => {}
            () = self.stop.cancelled() => {}
        }
    }
}
