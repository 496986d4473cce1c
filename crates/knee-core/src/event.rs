//! What a run tells while it runs: one closed enum that screens subscribe to.
//!
//! Events are for showing. The record is written from the same data by its own path, so a
//! screen that falls behind loses a frame, never a number.

use std::sync::Arc;

use crate::interval::Interval;
use crate::record::{Head, Run};

/// Something that happened to a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// Load begins.
    Started(Arc<Head>),
    /// An interval is complete.
    Interval(Arc<Interval>),
    /// No new arrivals any more; requests in flight have their grace period.
    Stopping {
        /// Whether a person asked for it (as opposed to the plan).
        interrupted: bool,
    },
    /// The tool (not the target) met something worth a line, such as a full disk.
    Warning(String),
    /// The run is over.
    Ended(Arc<Run>),
}
