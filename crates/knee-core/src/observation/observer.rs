//! What the engine knows of observers.
//!
//! Does not say how sources are read; that is for `knee-observe`.

use super::Batch;
use crate::clock::MonotonicClock;
use crate::record::Run;

/// What watches sources beside a run. The engine asks it once per interval, and writes what it returns into the record.
pub trait Observer: Send {
    /// The load begins: `clock` reads the time since then.
    fn begin(&mut self, clock: MonotonicClock);

    /// What was read since the last call. Does not wait.
    fn take(&mut self) -> Batch;

    /// Reads every source once more and stops. Waits a bounded time.
    fn end(&mut self) -> Batch;

    /// Asks sources about what the whole run shows, after [`Observer::end`]. Waits a bounded time. The batch has texts
    /// and changes of sources, and no points.
    fn ask(&mut self, _run: &Run) -> Batch {
        Batch::default()
    }
}
