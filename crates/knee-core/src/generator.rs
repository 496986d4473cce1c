//! What the load generator saw of itself during one interval.
//!
//! Does not sample anything (`knee-engine` does) and does not judge; see [`crate::validity`].

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::unit::Nanos;

/// The load generator's samples of itself during one interval. `None` means that this platform
/// cannot measure it, never "zero".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSample {
    /// One entry per worker thread.
    pub workers: Vec<WorkerSample>,
    /// The thread that merges the intervals of the workers and writes the record. Absent in records of earlier versions.
    #[serde(default)]
    pub collector: Option<WorkerSample>,
    /// Scheduling periods in which a CPU quota stopped this process, and all periods. Of the cgroup that was stopped
    /// most: its own or one above it.
    pub throttled: Option<(u64, u64)>,
    /// Share of the interval, 0 to 1, that a hypervisor took from this machine's CPUs.
    pub steal: Option<f64>,
    /// Share of all CPUs of this machine, 0 to 1, that was busy with anything at all.
    pub host_busy: Option<f64>,
    /// File descriptors open and the limit on them.
    pub descriptors: Option<(u64, u64)>,
    /// Most local ports in use towards one address (open or in `TIME_WAIT`), and the number of local ports. If the
    /// machine has few sockets, all of them are counted instead.
    pub ports: Option<(u64, u64)>,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Wall-clock time minus the run's clock, in nanoseconds, relative to the start of the run;
    /// moves when the wall clock is stepped.
    pub wall_drift_ns: i64,
    /// Time the machine was suspended since the start of the run.
    pub suspended: Option<Nanos>,
    /// How late the workers noticed events. Absent in records of earlier versions.
    #[serde(default)]
    pub loop_lag: Option<LoopLag>,
    /// Whether all connections that were opened until now lead to this machine; `None` before the first one. Absent in
    /// records of earlier versions.
    #[serde(default)]
    pub co_located: Option<bool>,
    /// How late this platform's timers are by construction; no fault of the run.
    #[serde(default)]
    pub timer_slack: Nanos,
}

impl GeneratorSample {
    /// The highest share of a CPU that any worker used, 0 to 1; `None` without workers.
    pub fn busiest(&self) -> Option<f64> {
        self.workers.iter().map(|worker| worker.cpu).reduce(f64::max)
    }
}

/// What one worker thread used during an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSample {
    /// Share of the interval, 0 to 1, that the thread ran.
    pub cpu: f64,
    /// Share of the interval, 0 to 1, that the thread was ready to run and had no CPU.
    pub run_delay: Option<f64>,
}

/// How late responses were read, estimated from a timer that fires every few milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopLag {
    /// Per response: how long it waited to be read, estimated.
    pub lateness: Histogram,
    /// Number of tries.
    pub tries: u64,
    /// The sum of the pauses of [`PAUSE`] and longer; with several workers, the largest sum of one worker.
    pub paused: Nanos,
}

/// From this lateness on, the worker counts as stopped, not slow.
pub const PAUSE: Nanos = Nanos::from_millis(100);

impl LoopLag {
    /// Records a try that was `late`. It delayed `held` responses; `others` were read without this delay.
    pub fn note(&mut self, late: Nanos, held: u64, others: u64) {
        self.tries += 1;
        self.lateness.record_many(late, held);
        self.lateness.record_many(Nanos::ZERO, others);
        if late >= PAUSE {
            self.paused = self.paused.saturating_add(late);
        }
    }

    /// Adds the samples of another worker in the same interval.
    pub fn merge_beside(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.tries = self.tries.saturating_add(other.tries);
        self.paused = self.paused.max(other.paused);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.lateness.clear();
        self.tries = 0;
        self.paused = Nanos::ZERO;
    }
}

/// Of two answers whether everything is on this machine, that of both together.
pub fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    one.into_iter().chain(other).reduce(|one, other| one && other)
}
