//! What an interpreter costs: own work for each row, and one lock for all threads of a process.
//!
//! Stands for the published runtime, so that its bottleneck can be had here, too. Does nothing unless asked.

use std::hint::black_box;

use parking_lot::Mutex;

use crate::config::RuntimeLock;
use crate::metric::Metrics;

/// A request costs as much as so many rows, besides its rows: what the published rates with 575 rows and with 200
/// rows in a list give together.
const REQUEST: u64 = 14;

/// Steps of one unit: about half a microsecond of a core.
const STEPS: u64 = 400;

/// What is between a row and its JSON.
#[derive(Debug)]
pub struct Interpreter {
    cost: u64,
    lock: Option<Mutex<()>>,
    metrics: Metrics,
}

impl Interpreter {
    /// One for the process.
    pub fn new(cost: u32, lock: RuntimeLock, metrics: Metrics) -> Self {
        let lock = (lock == RuntimeLock::Process).then(Mutex::default);
        Self { cost: cost.into(), lock, metrics }
    }

    /// Makes an answer of so many rows, at the cost of an interpreter.
    pub fn run<T>(&self, rows: usize, make: impl FnOnce() -> T) -> T {
        let _alone = self.lock.as_ref().map(|lock| lock.lock());
        if self.cost > 0 {
            let units = self.cost * (REQUEST + rows as u64);
            toil(units);
            self.metrics.toil.inc_by(units);
        }
        make()
    }
}

fn toil(units: u64) {
    let mut state = 1_u64;
    for step in 0..units * STEPS {
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
    fn row_cost_is_paid_by_row_and_by_request() {
        let metrics = Metrics::default();
        Interpreter::new(0, RuntimeLock::None, metrics.clone()).run(100, || ());
        assert_eq!(metrics.toil.get(), 0);
        let interpreter = Interpreter::new(2, RuntimeLock::None, metrics.clone());
        interpreter.run(100, || ());
        assert_eq!(metrics.toil.get(), 228);
    }

    #[test]
    fn with_the_runtime_lock_one_request_computes_at_a_time() {
        assert_eq!(most_at_a_time(RuntimeLock::Process), 1);
        assert_eq!(most_at_a_time(RuntimeLock::None), 2);
    }

    /// Two threads, each of which looks for the other one for a while.
    fn most_at_a_time(lock: RuntimeLock) -> usize {
        let interpreter = Arc::new(Interpreter::new(0, lock, Metrics::default()));
        let inside = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(Barrier::new(2));
        let seen = || {
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
                    // The other one may still be looking.
                    if most == 1 {
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                    most
                })
            })
        };
        let threads = [seen(), seen()];
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    }
}
