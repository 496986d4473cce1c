//! Counters of one process, served at `/metrics`.
//!
//! Does not aggregate: with several processes, each reports its own counts and its process id.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds 1.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a process.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that got a thread.
    pub started: Counter,
    /// Requests answered below 500.
    pub answered: Counter,
    /// Requests answered with 500 and above.
    pub failed: Counter,
    /// Transactions that committed a change.
    pub commits: Counter,
    /// Requested changes, whether or not they shared a transaction.
    pub writes: Counter,
    /// Transactions that SQLite refused because another connection writes.
    pub busy: Counter,
    /// Waits of `yielding_60us`.
    pub yields: Counter,
    /// Checkpoints by the background thread.
    pub checkpoints: Counter,
    /// Units of work added inside transactions by `transaction_cost`.
    pub extra_work: Counter,
    /// Fragments rendered, repetitions included.
    pub renders: Counter,
    /// Fragments found in the cache.
    pub fragment_hits: Counter,
    /// Fragments not found in the cache.
    pub fragment_misses: Counter,
}

impl Counters {
    /// All counters in the text format of Prometheus.
    pub fn text(&self, process: u32) -> String {
        let rows = [
            ("lorem_begun_total", "Requests that were given a thread", &self.started),
            ("lorem_answered_total", "Requests answered below 500", &self.answered),
            ("lorem_failed_total", "Requests answered with 500 and above", &self.failed),
            ("lorem_commits_total", "Transactions committed", &self.commits),
            ("lorem_writes_total", "Changes asked for", &self.writes),
            ("lorem_busy_total", "Transactions refused as busy", &self.busy),
            ("lorem_yields_total", "Waits of 60 microseconds for a lock", &self.yields),
            ("lorem_checkpoints_total", "Checkpoints in the background", &self.checkpoints),
            ("lorem_toil_total", "Units of extra work inside transactions", &self.extra_work),
            ("lorem_renders_total", "Pieces of pages rendered", &self.renders),
            ("lorem_fragment_hits_total", "Pieces taken from the cache", &self.fragment_hits),
            ("lorem_fragment_misses_total", "Pieces the cache did not have", &self.fragment_misses),
        ];
        let mut text = String::new();
        for (name, help, counter) in rows {
            let value = counter.get();
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name}{{process=\"{process}\"}} {value}"
            );
        }
        text
    }
}
