//! Waiting on platforms without `timerfd`: tokio's timer, which is up to 1.1 ms late.
//!
//! Does not correct the lateness: it is measured and part of the generator lag of each result.

use std::io;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;

use tokio::runtime::{LocalOptions, LocalRuntime};

use super::interface::Timer;

/// The timer of one worker thread.
#[derive(Clone, Debug)]
pub struct WorkerTimer {
    clock: MonotonicClock,
}

impl WorkerTimer {
    /// A runtime on which this timer works.
    pub fn runtime() -> io::Result<LocalRuntime> {
        tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build_local(LocalOptions::default())
    }

    /// A timer on `clock`.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        Ok(Self { clock })
    }

    /// Never returns; tokio drives its own timers.
    pub async fn drive(self) {
        std::future::pending::<()>().await;
    }
}

impl Timer for WorkerTimer {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    async fn sleep_until(&self, at: Nanos) {
        let span = at.since(self.clock.now());
        if span > Nanos::ZERO {
            tokio::time::sleep(Duration::from(span)).await;
        }
    }
}
