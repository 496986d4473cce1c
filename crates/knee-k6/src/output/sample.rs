//! One sample as outputs write it.

use std::sync::Arc;

use knee_core::unit::Nanos;

use crate::metric::MetricId;

/// One sample with all its tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its metric.
    pub metric: MetricId,
    /// Its value; milliseconds and bytes where the metric has a unit.
    pub value: f64,
    /// Time since the Unix epoch.
    pub at: Nanos,
    /// Its tags, sorted by name. Samples of one request share them.
    pub tags: Arc<[(String, String)]>,
    /// Metadata besides tags, in any order.
    pub metadata: Arc<[(String, String)]>,
}
