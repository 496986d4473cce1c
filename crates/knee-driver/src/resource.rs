//! What observers saw of resources during a run, for the steps of a sweep.
//!
//! `knee_findings` calculates demands and bounds. Does not observe.

use knee_core::record::Run;
use knee_findings::{Bound, Evidence};
use knee_study::sweep::resource::ResourceUse;

/// The resources that were observed beside `run`, the tightest first; empty if nothing was observed.
pub fn of(run: &Run) -> Vec<ResourceUse> {
    if run.observations.sources.is_empty() {
        return Vec::new();
    }
    let bounds = knee_findings::bounds(&Evidence::of(run, &run.observations));
    bounds.into_iter().map(used).collect()
}

fn used(bound: Bound) -> ResourceUse {
    let Bound { resource, servers, demand_s, limit_per_s, reached } = bound;
    ResourceUse { resource, servers, demand_s, limit_per_s, reached }
}
