//! The start of a part at an agreed time: the gate that a load waits at.
//!
//! Does not agree on the time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::control::Gate;
use knee_fleet::nats::monotonic;

/// The gate opens so long before the start.
const BEFORE: Nanos = Nanos::from_millis(5);
/// The rest is waited for without giving up the CPU: a sleeping thread can wake up late.
const SPIN: Nanos = Nanos::from_micros(200);

/// Waits for a time of the machine's monotonic clock.
pub struct TimedGate {
    start: Mutex<Option<Nanos>>,
    known: Condvar,
    /// Called when everything is ready, and with the time of the start.
    ready: fn(),
    started: fn(Nanos),
}

impl std::fmt::Debug for TimedGate {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("TimedGate")
    }
}

impl TimedGate {
    /// A gate without a time.
    pub const fn new(ready: fn(), started: fn(Nanos)) -> Self {
        Self { start: Mutex::new(None), known: Condvar::new(), ready, started }
    }

    /// Sets the time of the start; only the first call counts.
    pub fn open(&self, at: Nanos) {
        self.start.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(at);
        self.known.notify_all();
    }

    /// Whether the time of the start is known.
    pub fn is_open(&self) -> bool {
        self.start.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn wait(&self) -> Nanos {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(at) = *start {
                return at;
            }
            start = self.known.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn sleep_until(at: Nanos) {
    let left = at.since(monotonic());
    if left > Nanos::ZERO {
        thread::sleep(left.into());
    }
}

impl Gate for TimedGate {
    fn ready(&self) {
        (self.ready)();
        sleep_until(self.wait().since(BEFORE));
    }

    fn start(&self) -> MonotonicClock {
        let at = self.wait();
        sleep_until(at.since(SPIN));
        while monotonic() < at {
            std::hint::spin_loop();
        }
        // The plan counts from the agreed time, however late this thread woke up: late requests show as lag.
        let now = monotonic();
        (self.started)(now);
        MonotonicClock::started(now.since(at))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_clock_reads_zero_at_the_agreed_time() {
        let gate = Arc::new(TimedGate::new(|| {}, |_| {}));
        let at = monotonic() + Nanos::from_millis(30);
        let opener = thread::spawn({
            let gate = gate.clone();
            move || gate.open(at)
        });
        gate.ready();
        let clock = gate.start();
        let (now, read) = (monotonic(), clock.now());
        assert!(now >= at);
        assert!(read.since(now.since(at)) < Nanos::from_millis(100), "{read} at {now}, started at {at}");
        opener.join().unwrap();
    }
}
