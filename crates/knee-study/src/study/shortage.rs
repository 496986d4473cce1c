//! Percentiles that a study will not have, found after its first block: while a user can still change it.
//!
//! Trials of requests, and of scripts with the placeholder `{duration}`, get longer by themselves (`state.rs`); those of
//! other scripts end by the options of the script. Does not change a study.

use super::state::Study;
use crate::metric::Metric;

/// A percentile that a study or its claims ask for, and for which one of its variants will have too few requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The percentile that takes the most requests.
    pub metric: Metric,
    /// The workload.
    pub workload: String,
    /// The variant with the fewest requests.
    pub variant: String,
    /// The requests that it will have in all blocks, if later trials are like the first.
    pub requests: u64,
    /// Fewest requests from which the percentile is published.
    pub needed: u64,
    /// Planned blocks.
    pub blocks: usize,
    /// Blocks that would do.
    pub blocks_needed: usize,
}

impl Study {
    /// The percentiles that it will not have, one for each workload. Empty before a trial of the first block was usable,
    /// and for quick studies, which are short on purpose.
    pub fn shortages(&self) -> Vec<Shortage> {
        if self.options.quick {
            return Vec::new();
        }
        let workloads = self.definition.workloads.iter();
        workloads.filter_map(|workload| self.shortage(&workload.name)).collect()
    }

    fn shortage(&self, workload: &str) -> Option<Shortage> {
        let (metric, needed) = self.rarest_percentile(workload)?;
        let first =
            self.entries.iter().filter(|entry| entry.trial.block == 0 && entry.trial.workload == workload);
        let usable = first.filter_map(|entry| Some((entry.usable()?.requests, &entry.trial.variant)));
        let (fewest, variant) = usable.min()?;
        let longer = self.measure_of(workload).as_secs_f64() / self.declared(workload).as_secs_f64();
        let each = (fewest as f64 * longer).max(1.0);
        let requests = (each * self.blocks as f64) as u64;
        (requests < needed).then(|| Shortage {
            metric,
            workload: workload.to_owned(),
            variant: variant.clone(),
            requests,
            needed,
            blocks: self.blocks,
            blocks_needed: (needed as f64 / each).ceil() as usize,
        })
    }
}
