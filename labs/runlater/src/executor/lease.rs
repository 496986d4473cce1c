//! Heartbeats of this node, and rescue of executions of nodes without heartbeats.
//!
//! Only PostgreSQL's clock decides whether a node is alive.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Executor;
use crate::buffer;
use crate::config::switch::Rescue;

const AFTER_PROBLEM: Duration = Duration::from_millis(200);

/// The last heartbeat, and since when heartbeats are unbroken.
struct Heartbeat {
    at: Instant,
    /// The same by the wall clock, which continues while the machine sleeps.
    date: Timestamp,
    unbroken_since: Instant,
}

impl Heartbeat {
    fn begin() -> Self {
        let now = Instant::now();
        Self { at: now, date: Timestamp::now(), unbroken_since: now }
    }

    /// Records a heartbeat that began at `at`.
    fn note(&mut self, at: Instant, date: Timestamp, is_given: bool, lease: Duration) {
        let by_date = Duration::try_from(self.date.duration_until(date)).unwrap_or_default();
        let apart = at.duration_since(self.at).max(by_date).max(at.elapsed());
        // A slow heartbeat is old when written, and so are those of other nodes.
        if !is_given || apart >= lease / 2 {
            self.unbroken_since = Instant::now();
        }
        (self.at, self.date) = (at, date);
    }
}

impl Executor {
    /// Sends the first heartbeat: other nodes would rescue claims made before it.
    pub(super) async fn send_first_heartbeat(&self) {
        while let Err(problem) = self.store.heartbeat(self.node).await {
            tracing::warn!(reason = %problem, "no first sign of life");
            tokio::select! {
                () = tokio::time::sleep(AFTER_PROBLEM) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Sends heartbeats and rescues executions of dead nodes, until the process ends.
    pub(super) async fn run_heartbeat(self: Arc<Self>) {
        let mut heartbeat = Heartbeat::begin();
        let mut checked_at = Instant::now();
        loop {
            let has_left = self.has_left.lock().await;
            if *has_left {
                return;
            }
            let (at, date) = (Instant::now(), Timestamp::now());
            let given = self.store.heartbeat(self.node).await;
            drop(has_left);
            heartbeat.note(at, date, given.is_ok(), self.lease);
            match given {
                // The start of the heartbeat: other nodes may count from there.
                Ok(()) => *self.last_heartbeat.lock() = at,
                Err(problem) => {
                    tracing::warn!(reason = %problem, "no sign of life");
                    // The same failure may have lost the response to a claim.
                    self.may_hold_unknown.store(true, Ordering::Relaxed);
                    self.wake_workers();
                }
            }
            // After an outage of PostgreSQL all nodes seem dead: give them a lease's time to send heartbeats.
            if self.switches.rescue == Rescue::Lease && heartbeat.unbroken_since.elapsed() >= self.lease {
                self.rescue_executions().await;
            }
            // A claim can be committed long after its connection broke.
            if checked_at.elapsed() >= self.lease {
                checked_at = Instant::now();
                self.may_hold_unknown.store(true, Ordering::Relaxed);
            }
            // Check queues now and then, in case a notification was lost.
            self.queues_may_have_work.store(true, Ordering::Relaxed);
            tokio::time::sleep(self.heartbeat_interval).await;
        }
    }

    async fn rescue_executions(&self) {
        match self.store.rescue(self.node, self.lease).await {
            Ok(0) => {}
            Ok(executions) => {
                tracing::warn!(executions, "rescued from nodes that are gone");
                self.scan_all.store(true, Ordering::Relaxed);
                self.wake_workers();
            }
            Err(problem) => tracing::warn!(reason = %problem, "nothing can be rescued now"),
        }
    }

    /// Flushes the buffer every few seconds.
    pub(super) async fn flush(self: Arc<Self>) {
        loop {
            tokio::time::sleep(buffer::FLUSH_INTERVAL).await;
            self.buffer.flush(&self.store).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn late_slow_or_lost_heartbeats_restart_the_wait_before_a_rescue() {
        let lease = Duration::from_secs(12);
        let second = Duration::from_secs(1);
        let since = |heartbeat: &Heartbeat| heartbeat.unbroken_since;
        let mut heartbeat = Heartbeat::begin();
        let (begun, date) = (heartbeat.at, heartbeat.date);
        heartbeat.note(begun, date, true, lease);
        assert_eq!(since(&heartbeat), begun, "in time");
        tokio::time::advance(second * 2).await;
        heartbeat.note(Instant::now(), date, false, lease);
        assert_eq!(since(&heartbeat), begun + second * 2, "not given");
        tokio::time::advance(second * 7).await;
        heartbeat.note(Instant::now(), date, true, lease);
        assert_eq!(since(&heartbeat), begun + second * 9, "late");
        let at = Instant::now();
        tokio::time::advance(second * 6).await;
        heartbeat.note(at, date, true, lease);
        assert_eq!(since(&heartbeat), begun + second * 15, "slow");
        tokio::time::advance(second).await;
        heartbeat.note(Instant::now(), date + second * 60, true, lease);
        assert_eq!(since(&heartbeat), begun + second * 16, "the machine slept");
    }
}
