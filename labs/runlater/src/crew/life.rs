//! Signs of life, and what becomes of the work of nodes that give none.
//!
//! Whether a node lives is decided by the clock of PostgreSQL alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::Crew;
use crate::buffer;
use crate::config::switch::Rescue;

impl Crew {
    /// Gives signs of life, and takes over from those who do not, until the process ends.
    pub(super) async fn live(self: Arc<Self>) {
        let mut unbroken_since = Instant::now();
        loop {
            match self.store.beat(self.node).await {
                Ok(()) => *self.alive_at.lock() = Instant::now(),
                Err(problem) => {
                    tracing::warn!(reason = %problem, "no sign of life");
                    unbroken_since = Instant::now();
                    // What went wrong here may have taken the answer to a claim with it.
                    self.is_unsure.store(true, Ordering::Relaxed);
                    self.rouse();
                }
            }
            // After PostgreSQL was away all seem dead: they get the time to show that they are not.
            if self.switches.rescue == Rescue::Lease && unbroken_since.elapsed() >= self.lease {
                self.take_over().await;
            }
            // Queues are looked at from time to time, whoever may have forgotten to tell.
            self.lanes.store(true, Ordering::Relaxed);
            tokio::time::sleep(self.beat).await;
        }
    }

    async fn take_over(&self) {
        match self.store.rescue(self.lease).await {
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
