//! What the oracle's server says of itself: whether it did what its law says, and how exactly.
//!
//! Sums up what was noted; does not measure.

use serde::{Deserialize, Serialize};

/// Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Requests answered.
    pub answered: u64,
    /// From a request being read to its answer being written, as it really was.
    pub held_mean: f64,
    /// The same at the median.
    pub held_p50: f64,
    /// The same at the 99.9th percentile.
    pub held_p99_9: f64,
    /// By how much answers went out later than by the law, at the median.
    pub late_p50: f64,
    /// The same at the 99th percentile.
    pub late_p99: f64,
    /// The same at the most.
    pub late_max: f64,
    /// Mean time by the law from coming to the beginning of the service.
    pub wait_mean: f64,
    /// Mean time by the law from the beginning of the service to its end.
    pub service_mean: f64,
    /// Longest time between two looks at the network while answers were due: for so long the server
    /// was not running.
    pub gap_max: f64,
}

/// What is noted of each answer. Times are in nanoseconds.
#[derive(Debug, Default)]
pub struct Notes {
    held: Vec<u64>,
    late: Vec<u64>,
    wait: u128,
    service: u128,
    gap_max: u64,
}

impl Notes {
    /// An answer to a request that came at `came`, was served from `begins` to `ends` by the law,
    /// and whose answer was written at `written`.
    pub fn answer(&mut self, came: u64, begins: u64, ends: u64, written: u64) {
        self.held.push(written - came);
        self.late.push(written.saturating_sub(ends));
        self.wait += u128::from(begins - came);
        self.service += u128::from(ends - begins);
    }

    /// The server looked again after `span`, although an answer was due earlier or soon.
    pub fn gap(&mut self, span: u64) {
        self.gap_max = self.gap_max.max(span);
    }

    /// The sum of it.
    pub fn sum_up(mut self) -> Statement {
        self.held.sort_unstable();
        self.late.sort_unstable();
        let count = self.held.len().max(1) as f64;
        let held: u128 = self.held.iter().map(|span| u128::from(*span)).sum();
        Statement {
            answered: self.held.len() as u64,
            held_mean: held as f64 / count / 1e6,
            held_p50: quantile(&self.held, 0.5),
            held_p99_9: quantile(&self.held, 0.999),
            late_p50: quantile(&self.late, 0.5),
            late_p99: quantile(&self.late, 0.99),
            late_max: quantile(&self.late, 1.0),
            wait_mean: self.wait as f64 / count / 1e6,
            service_mean: self.service as f64 / count / 1e6,
            gap_max: self.gap_max as f64 / 1e6,
        }
    }
}

/// The least of the `sorted` nanoseconds that at least a share `p` do not exceed, in milliseconds;
/// zero if there are none.
fn quantile(sorted: &[u64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map_or(0.0, |span| *span as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_sums_up_what_was_noted() {
        let mut notes = Notes::default();
        // Came at 0 ms, waited 1 ms, took 2 ms, was written 1 ms late.
        notes.answer(0, 1_000_000, 3_000_000, 4_000_000);
        notes.answer(0, 3_000_000, 5_000_000, 5_000_000);
        notes.gap(7_000_000);
        let statement = notes.sum_up();
        assert_eq!(statement.answered, 2);
        assert_eq!((statement.held_mean, statement.held_p50), (4.5, 4.0));
        assert_eq!((statement.wait_mean, statement.service_mean), (2.0, 2.0));
        assert_eq!((statement.late_p50, statement.late_max, statement.gap_max), (0.0, 1.0, 7.0));
    }

    #[test]
    fn a_server_that_answered_nothing_states_zeros() {
        assert_eq!(Notes::default().sum_up(), Statement::default());
    }
}
