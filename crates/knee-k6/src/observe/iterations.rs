//! How long iterations of a script take on average, without those of the warm-up.
//!
//! An iteration includes everything that the script waits for, pauses too. Keeps a sum and a count, no distribution.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use knee_core::unit::Nanos;

use super::{Context, Exchange, Observer};

/// Iterations that began at a moment or later, and ended by themselves. Clones share their counts.
#[derive(Clone, Debug)]
pub struct Iterations {
    from: Nanos,
    sum: Arc<Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Iterations {
    /// None yet; those count that begin at `from` or later, on the run's clock.
    pub fn since(from: Nanos) -> Self {
        Self { from, sum: Arc::default() }
    }

    /// Mean duration of those that ended by now; `None` without one.
    pub fn mean(&self) -> Option<Nanos> {
        let (count, nanos) = (self.sum.count.load(Ordering::Acquire), self.sum.nanos.load(Ordering::Acquire));
        nanos.checked_div(count).map(Nanos)
    }
}

impl Observer for Iterations {
    fn request(&self, _: &Exchange<'_>, _: &Context<'_>) {}
    fn check(&self, _: &str, _: bool, _: &Context<'_>) {}
    fn group(&self, _: Nanos, _: &Context<'_>) {}

    fn iteration(&self, span: Nanos, whole: bool, context: &Context<'_>) {
        if whole && context.at.since(span) >= self.from {
            self.sum.nanos.fetch_add(span.as_nanos(), Ordering::Release);
            self.sum.count.fetch_add(1, Ordering::Release);
        }
    }

    fn dropped(&self, _: u64, _: &Context<'_>) {}
    fn sample(&self, _: u32, _: f64, _: &Context<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_whole_iterations_that_began_after_the_warm_up() {
        let iterations = Iterations::since(Nanos::from_secs(1));
        assert_eq!(iterations.mean(), None);
        let of_a_worker = iterations.clone();
        let end = |at_ms: u64, span_ms: u64, whole: bool| {
            let at = Nanos::from_millis(at_ms);
            let context = Context { scenario: "", group: "", tags: &[], metadata: &[], at };
            of_a_worker.iteration(Nanos::from_millis(span_ms), whole, &context);
        };
        end(1_100, 900, true);
        end(2_000, 500, false);
        assert_eq!(iterations.mean(), None, "one began in the warm-up, the other was cut off");
        end(1_100, 100, true);
        end(3_000, 300, true);
        assert_eq!(iterations.mean(), Some(Nanos::from_millis(200)));
    }
}
