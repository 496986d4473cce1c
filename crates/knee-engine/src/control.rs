//! Stopping a run from outside (a signal, a key, a screen), noting something in its record, and reading its clock.
//!
//! Does not handle signals; the binary does and calls this. Does not write records.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::clock::MonotonicClock;

use crate::steering::Steering;

/// A handle on a run, before or after its start. Clones control the same run.
#[derive(Clone, Debug, Default)]
pub struct Control {
    level: Arc<AtomicU8>,
    clock: Arc<Mutex<Option<MonotonicClock>>>,
    /// Lines that are not in the record yet.
    notes: Arc<Mutex<Vec<String>>>,
    /// What the load waits for when everything is ready.
    gate: Arc<Mutex<Option<Arc<dyn Gate>>>>,
    /// When the load began on another clock, and is not in the record yet.
    late: Arc<Mutex<Option<(i64, i64)>>>,
    /// Its rate.
    steering: Steering,
}

/// What a load waits for that starts together with those of other machines.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Everything is ready for the first request. Returns shortly before the start.
    fn ready(&self);

    /// Waits for the start. Returns a clock that read zero then.
    fn start(&self) -> MonotonicClock;
}

/// Most notes that wait for the end of an interval; further ones are dropped.
const NOTES_MAX: usize = 100;

/// What a run was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// Continue.
    Run,
    /// Send no new requests; requests in flight have their grace period.
    Stop,
    /// Stop at once; requests in flight become censored.
    Abort,
}

impl Control {
    /// A handle that lets the run continue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends new arrivals within 100 ms. Requests in flight can finish.
    pub fn stop(&self) {
        self.level.fetch_max(1, Ordering::Relaxed);
    }

    /// Stops the run within 100 ms.
    pub fn abort(&self) {
        self.level.fetch_max(2, Ordering::Relaxed);
    }

    /// Adds a line to the record, with the time at which the interval in progress ends. For what happens to a run from
    /// outside. Does nothing if the run is not saved.
    pub fn note(&self, text: impl Into<String>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(text.into());
        }
    }

    /// The load waits at this gate before its first request.
    pub fn wait_at(&self, gate: Arc<dyn Gate>) {
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
    }

    /// The gate.
    pub(crate) fn gate(&self) -> Option<Arc<dyn Gate>> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The load began from `low` to `high` nanoseconds after the agreed time, for the record.
    pub fn began_late(&self, low: i64, high: i64) {
        *self.late.lock().unwrap_or_else(PoisonError::into_inner) = Some((low, high));
    }

    /// Takes when the load began, if that is not in the record yet.
    pub(crate) fn take_late(&self) -> Option<(i64, i64)> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the lines that are not in the record yet.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the clock of the latest run; it reads zero at the start of the load. `None` before the load starts, and
    /// after the first call.
    pub fn take_clock(&self) -> Option<MonotonicClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What changes the rate of the run.
    pub const fn steering(&self) -> &Steering {
        &self.steering
    }

    /// Sets the clock of a run that starts now.
    pub(crate) fn begin(&self, clock: MonotonicClock) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock);
        self.steering.begin(clock);
    }

    /// The strongest request so far.
    pub fn request(&self) -> Request {
        match self.level.load(Ordering::Relaxed) {
            0 => Request::Run,
            1 => Request::Stop,
            _ => Request::Abort,
        }
    }
}
