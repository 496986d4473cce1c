//! Signs of life, and what becomes of the work of nodes that give none.
//!
//! Whether a node lives is decided by the clock of PostgreSQL alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Crew;
use crate::buffer;
use crate::config::switch::Rescue;

const AFTER_PROBLEM: Duration = Duration::from_millis(200);

/// When signs of life were given last, and since when without a break.
struct Pulse {
    at: Instant,
    /// The same by the clock that goes on while the machine sleeps.
    date: Timestamp,
    unbroken_since: Instant,
}

impl Pulse {
    fn begin() -> Self {
        let now = Instant::now();
        Self { at: now, date: Timestamp::now(), unbroken_since: now }
    }

    /// Notes what came of a sign of life that began at `at`.
    fn note(&mut self, at: Instant, date: Timestamp, is_given: bool, lease: Duration) {
        let by_date = Duration::try_from(self.date.duration_until(date)).unwrap_or_default();
        let apart = at.duration_since(self.at).max(by_date).max(at.elapsed());
        // A sign that took its time is as old when it is written, and that of others is, too.
        if !is_given || apart >= lease / 2 {
            self.unbroken_since = Instant::now();
        }
        (self.at, self.date) = (at, date);
    }
}

impl Crew {
    /// Gives the first sign of life: what is claimed before it, others would take over at once.
    pub(super) async fn arrive(&self) {
        while let Err(problem) = self.store.beat(self.node).await {
            tracing::warn!(reason = %problem, "no first sign of life");
            tokio::select! {
                () = tokio::time::sleep(AFTER_PROBLEM) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Gives signs of life, and takes over from those who do not, until the process ends.
    pub(super) async fn live(self: Arc<Self>) {
        let mut pulse = Pulse::begin();
        let mut checked_at = Instant::now();
        loop {
            let is_gone = self.is_gone.lock().await;
            if *is_gone {
                return;
            }
            let (at, date) = (Instant::now(), Timestamp::now());
            let given = self.store.beat(self.node).await;
            drop(is_gone);
            pulse.note(at, date, given.is_ok(), self.lease);
            match given {
                // As old as others may take it for.
                Ok(()) => *self.alive_at.lock() = at,
                Err(problem) => {
                    tracing::warn!(reason = %problem, "no sign of life");
                    // What went wrong here may have taken the answer to a claim with it.
                    self.is_unsure.store(true, Ordering::Relaxed);
                    self.rouse();
                }
            }
            // After PostgreSQL was away all seem dead: they get the time to show that they are not.
            if self.switches.rescue == Rescue::Lease && pulse.unbroken_since.elapsed() >= self.lease {
                self.take_over().await;
            }
            // A claim may be written long after its connection broke.
            if checked_at.elapsed() >= self.lease {
                checked_at = Instant::now();
                self.is_unsure.store(true, Ordering::Relaxed);
            }
            // Queues are looked at from time to time, whoever may have forgotten to tell.
            self.lanes.store(true, Ordering::Relaxed);
            tokio::time::sleep(self.beat).await;
        }
    }

    async fn take_over(&self) {
        match self.store.rescue(self.node, self.lease).await {
            Ok(0) => {}
            Ok(executions) => {
                tracing::warn!(executions, "rescued from nodes that are gone");
                self.sweep.store(true, Ordering::Relaxed);
                self.rouse();
            }
            Err(problem) => tracing::warn!(reason = %problem, "nothing can be rescued now"),
        }
    }

    /// Writes every few seconds what need not be written at once.
    pub(super) async fn flush(self: Arc<Self>) {
        loop {
            tokio::time::sleep(buffer::ROUND).await;
            self.buffer.flush(&self.store).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn signs_that_are_late_slow_or_lost_begin_the_wait_for_others_anew() {
        let lease = Duration::from_secs(12);
        let second = Duration::from_secs(1);
        let since = |pulse: &Pulse| pulse.unbroken_since;
        let mut pulse = Pulse::begin();
        let (begun, date) = (pulse.at, pulse.date);
        pulse.note(begun, date, true, lease);
        assert_eq!(since(&pulse), begun, "in time");
        tokio::time::advance(second * 2).await;
        pulse.note(Instant::now(), date, false, lease);
        assert_eq!(since(&pulse), begun + second * 2, "not given");
        tokio::time::advance(second * 7).await;
        pulse.note(Instant::now(), date, true, lease);
        assert_eq!(since(&pulse), begun + second * 9, "late");
        let at = Instant::now();
        tokio::time::advance(second * 6).await;
        pulse.note(at, date, true, lease);
        assert_eq!(since(&pulse), begun + second * 15, "slow");
        tokio::time::advance(second).await;
        pulse.note(Instant::now(), date + second * 60, true, lease);
        assert_eq!(since(&pulse), begun + second * 16, "the machine slept");
    }
}
