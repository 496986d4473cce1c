//! What observers saw of resources during a run, for the steps of sweeps and the trials of studies.
//!
//! `knee_findings` calculates demands and bounds. Does not observe.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::record::Run;
use knee_findings::{Bound, Evidence};
use knee_study::study::OfResource;
use knee_study::sweep::resource::ResourceUse;

/// The resources that were observed beside `run`, the tightest first; empty if nothing was observed.
pub fn of(run: &Run) -> Vec<ResourceUse> {
    if run.observations.sources.is_empty() {
        return Vec::new();
    }
    let bounds = knee_findings::bounds(&Evidence::of(run, &run.observations));
    bounds.into_iter().map(used).collect()
}

/// The same of a service that is restarted between steps, by names that are the same in every step.
pub fn of_restarted(run: &Run) -> Vec<ResourceUse> {
    let mut known = BTreeSet::new();
    let named = of(run).into_iter().map(|used| ResourceUse { resource: lasting(&used.resource), ..used });
    named.filter(|used| known.insert(used.resource.clone())).collect()
}

/// The same for a trial, by names that are the same in every trial: without the numbers of processes and threads. Of
/// several with one name the tightest counts.
pub fn of_trial(run: &Run) -> BTreeMap<String, OfResource> {
    let mut resources = BTreeMap::new();
    for ResourceUse { resource, servers, demand_s, reached, .. } in of(run) {
        resources.entry(lasting(&resource)).or_insert(OfResource { servers, demand_s, reached });
    }
    resources
}

/// `thread 17/23 worker of shop (pid 17)` becomes `thread worker of shop`.
fn lasting(name: &str) -> String {
    let is_number =
        |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit() || letter == '/');
    let name = match name.rsplit_once(" (pid ") {
        Some((before, pid)) if pid.strip_suffix(')').is_some_and(is_number) => before,
        _ => name,
    };
    match name.strip_prefix("thread ").and_then(|rest| rest.split_once(' ')) {
        Some((number, rest)) if is_number(number) => format!("thread {rest}"),
        _ => name.to_owned(),
    }
}

fn used(bound: Bound) -> ResourceUse {
    let Bound { resource, servers, demand_s, limit_per_s, reached } = bound;
    ResourceUse { resource, servers, demand_s, limit_per_s, reached }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_the_same_name_in_every_trial() {
        for (name, lasts) in [
            ("CPUs of host", "CPUs of host"),
            ("CPUs of shop (pid 17)", "CPUs of shop"),
            ("thread 17/23 worker of shop (pid 17)", "thread worker of shop"),
            ("main thread of redis://127.0.0.1:6379", "main thread of redis://127.0.0.1:6379"),
            ("CPUs of odd (pid x)", "CPUs of odd (pid x)"),
            ("thread ", "thread "),
        ] {
            assert_eq!(lasting(name), lasts);
        }
    }
}
