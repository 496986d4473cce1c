//! Simulated cost of an interpreter: CPU work per row, and one lock for all threads of a process.
//!
//! Reproduces the bottleneck of the published runtime. Does nothing with default switches.

use std::hint::black_box;

use parking_lot::Mutex;

use crate::config::RuntimeLock;
use crate::metric::Metrics;

/// Fixed cost of a request, in rows; derived from the published throughput with 575 and with 200 rows per list.
const REQUEST_COST: u64 = 14;

/// Steps per unit: about half a microsecond of CPU time.
const STEPS_PER_UNIT: u64 = 400;

/// Adds the cost of an interpreter to encoding.
#[derive(Debug)]
pub struct Interpreter {
    cost: u64,
    lock: Option<Mutex<()>>,
    metrics: Metrics,
}

impl Interpreter {
    /// The interpreter of a process.
    pub fn new(cost: u32, lock: RuntimeLock, metrics: Metrics) -> Self {
        let lock = (lock == RuntimeLock::Process).then(Mutex::default);
        Self { cost: cost.into(), lock, metrics }
    }

    /// Runs `encode` for `rows` rows, at the cost of an interpreter.
    pub fn run<T>(&self, rows: usize, encode: impl FnOnce() -> T) -> T {
        let _guard = self.lock.as_ref().map(|lock| lock.lock());
        if self.cost > 0 {
            let units = self.cost * (REQUEST_COST + rows as u64);
            busy_work(units);
            self.metrics.row_work.inc_by(units);
        }
        encode()
    }
}

fn busy_work(units: u64) {
    let mut state = 1_u64;
    for step in 0..units * STEPS_PER_UNIT {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn row_cost_applies_per_row_and_per_request() {
        let metrics = Metrics::default();
        Interpreter::new(0, RuntimeLock::None, metrics.clone()).run(100, || ());
        assert_eq!(metrics.row_work.get(), 0);
        let interpreter = Interpreter::new(2, RuntimeLock::None, metrics.clone());
        interpreter.run(100, || ());
        assert_eq!(metrics.row_work.get(), 228);
    }

    #[test]
    fn with_the_runtime_lock_one_request_computes_at_a_time() {
        assert_eq!(max_concurrency(RuntimeLock::Process), 1);
        assert_eq!(max_concurrency(RuntimeLock::None), 2);
    }

    /// Two threads, each of which waits a while for the other one.
    fn max_concurrency(lock: RuntimeLock) -> usize {
        let interpreter = Arc::new(Interpreter::new(0, lock, Metrics::default()));
        let inside = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(Barrier::new(2));
        let spawn = || {
            let (interpreter, inside) = (Arc::clone(&interpreter), Arc::clone(&inside));
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                interpreter.run(1, || {
                    let mut most = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    for _ in 0..200 {
                        most = most.max(inside.load(Ordering::SeqCst));
                        if most == 2 {
                            break;
                        }
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    // The other one may still be waiting.
                    if most == 1 {
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                    most
                })
            })
        };
        let threads = [spawn(), spawn()];
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    }
}
