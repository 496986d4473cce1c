//! Observed resources in the trials of a study: how long a response keeps each of them busy, by variant and workload.
//!
//! Does not observe, does not compare and gives no verdict: the trials carry what their caller calculated.

use serde::{Deserialize, Serialize};

use super::Study;
use super::resource_use::OfResource;
use super::usable::UsableTrials;
use crate::definition::Cell;
use crate::statistics::location;

/// An observed resource in the trials of one variant under one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedResource {
    /// Variant and workload.
    pub cell: Cell,
    /// The resource: "CPUs of host".
    pub resource: String,
    /// Usable trials in which it was observed; 1 or more.
    pub n_trials: usize,
    /// Seconds that it is busy per complete response: the median of the trials.
    pub demand_s: f64,
    /// Its utilisation as a share: the median of the trials.
    pub reached: f64,
}

/// The resources of every variant and workload, those with the highest utilisation first; empty if nothing was observed.
pub(super) fn all(study: &Study, usable: &UsableTrials<'_>) -> Vec<ObservedResource> {
    let workloads = &study.definition.workloads;
    let cells = workloads.iter().flat_map(|workload| {
        study.lineup.variants.iter().map(move |variant| Cell::new(&variant.name, &workload.name))
    });
    cells.flat_map(|cell| of_cell(usable, &cell)).collect()
}

fn of_cell(usable: &UsableTrials<'_>, cell: &Cell) -> Vec<ObservedResource> {
    let mut names: Vec<&String> = usable.of_cell(cell).flat_map(|trial| trial.resources.keys()).collect();
    names.sort();
    names.dedup();
    let mut found: Vec<ObservedResource> = names
        .into_iter()
        .map(|name| {
            let trials: Vec<OfResource> =
                usable.of_cell(cell).filter_map(|trial| trial.resources.get(name).copied()).collect();
            let median =
                |of: fn(&OfResource) -> f64| location::median(&trials.iter().map(of).collect::<Vec<f64>>());
            ObservedResource {
                cell: cell.clone(),
                resource: name.clone(),
                n_trials: trials.len(),
                demand_s: median(|trial| trial.demand_s),
                reached: median(|trial| trial.reached),
            }
        })
        .collect();
    found.sort_by(|one, other| other.reached.total_cmp(&one.reached));
    found
}
