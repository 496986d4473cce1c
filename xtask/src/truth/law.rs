//! When an answer goes out: the laws by which the oracle's server serves.
//!
//! Arithmetic on nanoseconds, so that it can be tested exactly; does not wait and does not answer.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// How requests are served. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Law {
    /// Every request takes the same time, and none waits for another.
    Fixed {
        /// That time.
        span: u64,
    },
    /// As `Fixed`, but every n-th request takes longer.
    Bimodal {
        /// The time of most requests.
        fast: u64,
        /// The time of the others.
        slow: u64,
        /// Every how many-th is slow; from 1.
        every: u64,
    },
    /// One at a time, in the order in which they came, each for the same time (the D and the 1 of
    /// M/D/1).
    QueueFixed {
        /// That time.
        span: u64,
    },
    /// One at a time, in the order in which they came, each for an exponentially distributed time
    /// (the second M and the 1 of M/M/1).
    QueueExponential {
        /// The mean of the times.
        mean: u64,
        /// Seed of the generator that draws them.
        seed: u64,
    },
    /// As many at a time as there are workers, in the order in which they came (M/D/c and M/M/c).
    Workers {
        /// How many; from 1.
        workers: usize,
        /// The mean of the times.
        mean: u64,
        /// Seed of the generator that draws exponential times; all times are the same without one.
        seed: Option<u64>,
    },
}

/// When a request that came at some moment is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When its service begins; later than it came if it had to wait.
    pub begins: u64,
    /// When its answer is to go out.
    pub ends: u64,
}

/// A law at work.
#[derive(Debug)]
pub struct Service {
    law: Law,
    random: StdRng,
    served: u64,
    /// When each server of a queue has done all that it was given so far.
    free: Vec<u64>,
}

impl Service {
    /// Nothing has come yet.
    pub fn new(law: Law) -> Self {
        let (seed, workers) = match law {
            Law::QueueExponential { seed, .. } => (seed, 1),
            Law::Workers { workers, seed, .. } => (seed.unwrap_or(0), workers.max(1)),
            Law::Fixed { .. } | Law::Bimodal { .. } | Law::QueueFixed { .. } => (0, 1),
        };
        Self { law, random: StdRng::seed_from_u64(seed), served: 0, free: vec![0; workers] }
    }

    /// The turn of a request that came at `at`, which is not before that of the one before.
    pub fn admit(&mut self, at: u64) -> Turn {
        self.served += 1;
        match self.law {
            Law::Fixed { span } => Turn { begins: at, ends: at + span },
            Law::Bimodal { fast, slow, every } => {
                let span = if self.served.is_multiple_of(every) { slow } else { fast };
                Turn { begins: at, ends: at + span }
            }
            Law::QueueFixed { span } => self.queue(at, span),
            Law::QueueExponential { mean, .. } | Law::Workers { mean, seed: Some(_), .. } => {
                let span = self.draw(mean);
                self.queue(at, span)
            }
            Law::Workers { mean, seed: None, .. } => self.queue(at, mean),
        }
    }

    fn draw(&mut self, mean: u64) -> u64 {
        // Inverse of the distribution function; 1 - u is above zero.
        let uniform: f64 = self.random.random();
        (-(1.0 - uniform).ln() * mean as f64).round() as u64
    }

    /// Lindley's recursion, for several servers that of Kiefer and Wolfowitz: served from when it came
    /// or when the first server is free.
    fn queue(&mut self, at: u64, span: u64) -> Turn {
        let Some(first) = self.free.iter_mut().min() else { return Turn { begins: at, ends: at + span } };
        let begins = at.max(*first);
        *first = begins + span;
        Turn { begins, ends: *first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(law: Law, arrivals: &[u64]) -> Vec<u64> {
        let mut service = Service::new(law);
        arrivals.iter().map(|at| service.admit(*at).ends).collect()
    }

    #[test]
    fn a_fixed_service_lets_no_request_wait() {
        assert_eq!(ends(Law::Fixed { span: 10 }, &[0, 1, 2]), [10, 11, 12]);
    }

    #[test]
    fn every_nth_request_of_a_bimodal_service_is_slow() {
        let law = Law::Bimodal { fast: 1, slow: 50, every: 3 };
        assert_eq!(ends(law, &[0, 0, 0, 0, 0, 0]), [1, 1, 50, 1, 1, 50]);
    }

    #[test]
    fn two_workers_serve_two_at_a_time_in_order() {
        let law = Law::Workers { workers: 2, mean: 10, seed: None };
        assert_eq!(ends(law, &[0, 1, 2, 3, 30]), [10, 11, 20, 21, 40]);
    }

    #[test]
    fn a_queue_serves_one_at_a_time_in_order() {
        let mut service = Service::new(Law::QueueFixed { span: 10 });
        assert_eq!(service.admit(0), Turn { begins: 0, ends: 10 });
        assert_eq!(service.admit(4), Turn { begins: 10, ends: 20 });
        assert_eq!(service.admit(30), Turn { begins: 30, ends: 40 });
    }

    #[test]
    fn exponential_times_have_their_mean_and_their_standard_deviation() {
        let mut service = Service::new(Law::QueueExponential { mean: 1_000_000, seed: 7 });
        let spans: Vec<f64> = (0..100_000_u64)
            .map(|_| service.admit(0))
            .map(|turn| (turn.ends - turn.begins) as f64 / 1e6)
            .collect();
        let mean = spans.iter().sum::<f64>() / spans.len() as f64;
        let square = spans.iter().map(|span| (span - mean).powi(2)).sum::<f64>() / spans.len() as f64;
        // Standard errors are 0.3 % of the mean and 0.45 % of the deviation; these are over four.
        assert!((mean - 1.0).abs() < 0.015, "{mean}");
        assert!((square.sqrt() - 1.0).abs() < 0.02, "{}", square.sqrt());
    }
}
