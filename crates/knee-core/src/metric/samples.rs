//! Samples in the intervals of a record: unchanged until a run has more of a series than it keeps unchanged.
//!
//! From then on its percentiles come from counts, however exact the later pieces are. Counts are a third of the size.

use std::collections::BTreeMap;

use super::trend::STORED_EXACT_MAX;
use super::{Key, Metrics, Sink};

/// How many samples each distribution of a run has had so far.
#[derive(Debug, Default)]
pub struct SamplesSoFar(BTreeMap<Key, u64>);

impl SamplesSoFar {
    /// Counts the samples of the next piece of the run, and shortens those that are too many to stay unchanged.
    pub fn shorten(&mut self, next: &mut Metrics) {
        for (key, series) in &mut next.series {
            let Sink::Trend(trend) = &mut series.sink else { continue };
            let so_far = match self.0.get_mut(key) {
                Some(so_far) => so_far,
                None => self.0.entry(key.clone()).or_default(),
            };
            *so_far = so_far.saturating_add(trend.count());
            if *so_far > STORED_EXACT_MAX as u64 {
                trend.count_samples();
            }
        }
    }
}
