//! Events of a run in progress: one closed enum, to which screens subscribe.
//!
//! Events are for showing. The record is written separately from the same data, so a screen that falls behind loses a
//! frame, never a measurement.

use std::sync::Arc;

use crate::interval::Interval;
use crate::observation::Batch;
use crate::record::Head;

/// Something that happened to a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// Load begins.
    Started(Arc<Head>),
    /// An interval is complete.
    Interval(Arc<Interval>),
    /// Observers read something.
    Observed {
        /// What they read. A batch counts from those before it.
        batch: Arc<Batch>,
        /// Its number in the run, from 0: a reader that misses one cannot use those that follow.
        number: u64,
    },
    /// Arrivals have ended; requests in flight have their grace period.
    Stopping {
        /// Whether a person asked for it (as opposed to the plan).
        interrupted: bool,
    },
    /// A problem of this program, not of the target, such as a full disk.
    Warning(String),
    /// The run is over.
    Ended,
}
