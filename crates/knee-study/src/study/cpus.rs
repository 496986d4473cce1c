//! How the CPUs were divided in a study, and how much of its part the load generator used.
//!
//! Does not divide and does not measure.

use std::collections::BTreeMap;

use knee_core::fixture::division::Division;
use serde::{Deserialize, Serialize};

use super::usable::UsableTrials;
use super::{Measured, Study};
use crate::definition::Cell;
use crate::metric::Metric;
use crate::statistics::location;

/// A generator that uses more than this share of its CPUs has too few. The limit of the validity rule `worker_cpu`.
const FULL: f64 = 0.9;

/// The CPUs of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Who had which CPUs.
    #[serde(flatten)]
    pub division: Division,
    /// Share of its own CPUs that the generator used, 0 to 1, under the variant and workload that made it work most:
    /// the median of the blocks. `None` if it is unknown, or if the CPUs were shared.
    pub generator_used: Option<f64>,
    /// Whether the generator had too few CPUs for that.
    pub too_few: bool,
}

/// The CPUs of a study; `None` if knee started no service, or before they were divided.
pub(super) fn of(study: &Study, usable: &UsableTrials<'_>) -> Option<CpuUse> {
    let division = study.division.clone()?;
    let cpus = division.generator_cpus() as f64;
    let cells = study.definition.workloads.iter().flat_map(|workload| {
        let variants = study.lineup.variants.iter();
        variants.map(|variant| Cell::new(&variant.name, &workload.name))
    });
    let shares = cells.filter_map(|cell| {
        let used: Vec<f64> = usable.of_cell(&cell).filter_map(used).collect();
        (!used.is_empty() && cpus > 0.0).then(|| location::median(&used) / cpus)
    });
    let generator_used = shares.max_by(f64::total_cmp).filter(|_| division.shared.is_none());
    let too_few = generator_used.is_some_and(|share| share > FULL);
    Some(CpuUse { division, generator_used, too_few })
}

/// CPUs that the generator used in a trial: CPU time per response times responses per second.
fn used(measured: &Measured) -> Option<f64> {
    let figures: &BTreeMap<Metric, _> = &measured.figures;
    let cost = figures.get(&Metric::GeneratorCpuPerRequest)?.value;
    Some(cost / 1e9 * figures.get(&Metric::Throughput)?.value)
}
