//! The CPU bound: the rate at which the CPU time per request fills the CPUs.
//!
//! Does not know of locks, disks and queues, and does not judge: [`crate::cpu`] does.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::fixture::division;
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::usable::UsableTrials;
use super::{GENERATOR, Measured, Study};
use crate::cpu::{CpuEvidence, CpuFinding};
use crate::definition::Cell;
use crate::metric::Metric;
use crate::statistics::location;

/// A component that spends CPU time on requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// The load generator.
    Generator,
    /// The service that is loaded.
    Service,
    /// Its databases and caches, if they are separate processes.
    Stores,
}

impl Component {
    /// Every component.
    pub const ALL: [Self; 3] = [Self::Generator, Self::Service, Self::Stores];

    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Service => "service",
            Self::Stores => "stores",
        }
    }

    /// Metric of its CPU time per request.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Generator => Metric::GeneratorCpuPerRequest,
            Self::Service => Metric::CpuPerRequest,
            Self::Stores => Metric::StoreCpuPerRequest,
        }
    }

    /// Whether a part of a fixture, by its name in [`super::trial::Placement::cpus`], belongs to it.
    fn holds(self, name: &str) -> bool {
        match self {
            Self::Generator => name == GENERATOR,
            Self::Service => name.starts_with("service."),
            Self::Stores => name.starts_with("postgres.") || name.starts_with("redis."),
        }
    }
}

/// The CPU bound of one variant under one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Variant and workload.
    pub cell: Cell,
    /// Number of blocks that it is computed from.
    pub n_blocks: usize,
    /// CPU time per request of each component; medians of the blocks. The service is always known; a component that
    /// is absent does not exist or could not be seen.
    pub costs: BTreeMap<Component, Nanos>,
    /// Requests per second that ended, with any outcome; median of the blocks.
    pub throughput: f64,
    /// Requests per second that would fill the CPUs; median of the blocks.
    pub limit: f64,
    /// The share of that limit that was reached; median of the blocks.
    pub reached: f64,
    /// The CPUs that are full first.
    pub cpus: usize,
    /// The components that fill them.
    pub by: Vec<Component>,
    /// Whether the service answered the whole load in every block: then nothing was at its limit.
    #[serde(default)]
    pub kept_up: bool,
    /// Share of this machine's CPUs, 0 to 1, that was busy with anything; the median of the blocks. `None` in trials that
    /// an older version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_busy: Option<f64>,
    /// Whether the load generator can run on the CPUs of the service; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
}

impl Bound {
    /// What limits it.
    pub fn finding(&self) -> CpuFinding<Component> {
        self.evidence().finding()
    }

    /// What is known about its CPUs. With one CPU, a full thread is not a finding of its own.
    fn evidence(&self) -> CpuEvidence<Component> {
        let used = |cost: &Nanos| self.throughput * cost.as_nanos() as f64 / 1e9;
        let of_service =
            self.costs.iter().filter(|(part, _)| **part != Component::Generator && self.cpus > 1);
        let busiest = of_service.map(|(part, cost)| (*part, used(cost)));
        CpuEvidence {
            kept_up: self.kept_up,
            reached: Some(self.reached),
            busiest: busiest.max_by(|a, b| a.1.total_cmp(&b.1)),
            busy: self.host_busy,
            shared: self.shared,
        }
    }
}

/// The bound of every variant under every workload whose CPU time is known.
pub(super) fn all(study: &Study, usable: &UsableTrials<'_>) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for workload in &study.definition.workloads {
        for variant in &study.lineup.variants {
            let cell = Cell::new(&variant.name, &workload.name);
            bounds.extend(of(usable, cell));
        }
    }
    bounds
}

/// One block.
struct BlockCosts {
    costs: BTreeMap<Component, f64>,
    throughput: f64,
    limit: Limit,
    kept_up: bool,
    host_busy: Option<f64>,
    shared: Option<bool>,
}

/// A rate, in requests per second, and the CPUs that are full at it.
#[derive(Clone, Debug, PartialEq)]
struct Limit {
    rate: f64,
    cpus: usize,
    by: Vec<Component>,
}

fn of(usable: &UsableTrials<'_>, cell: Cell) -> Option<Bound> {
    let found: Vec<BlockCosts> = usable.of_cell(&cell).filter_map(costs_of).collect();
    let middle =
        |value: &dyn Fn(&BlockCosts) -> f64| location::median(&found.iter().map(value).collect::<Vec<_>>());
    // All blocks of a cell have the same CPUs unless the study went on elsewhere; the last one speaks then.
    let Limit { cpus, by, .. } = found.last()?.limit.clone();
    let busy: Vec<f64> = found.iter().filter_map(|block| block.host_busy).collect();
    let costs = Component::ALL.into_iter().filter_map(|component| {
        let costs: Vec<f64> = found.iter().filter_map(|block| block.costs.get(&component).copied()).collect();
        (!costs.is_empty()).then(|| (component, Nanos(location::median(&costs).round() as u64)))
    });
    Some(Bound {
        n_blocks: found.len(),
        costs: costs.collect(),
        throughput: middle(&|block| block.throughput),
        limit: middle(&|block| block.limit.rate),
        reached: middle(&|block| block.throughput / block.limit.rate),
        cpus,
        by,
        kept_up: found.iter().all(|block| block.kept_up),
        host_busy: (!busy.is_empty()).then(|| location::median(&busy)),
        shared: found.last()?.shared,
        cell,
    })
}

fn costs_of(measured: &Measured) -> Option<BlockCosts> {
    let figure = |metric: Metric| measured.figures.get(&metric).map(|figure| figure.value);
    let costs: BTreeMap<Component, f64> = Component::ALL
        .into_iter()
        .filter_map(|component| Some((component, figure(component.metric()).filter(|cost| *cost > 0.0)?)))
        .collect();
    costs.get(&Component::Service)?;
    let answered = 1.0 - figure(Metric::Errors).unwrap_or_default();
    let throughput = figure(Metric::Goodput).filter(|_| answered > 0.0)? / answered;
    let cpus = |component: &Component| {
        let known = measured.placement.cpus.iter().filter(|(name, _)| component.holds(name));
        known.flat_map(|(_, text)| cpus(text)).collect::<BTreeSet<usize>>()
    };
    let demands: Vec<(Component, f64, BTreeSet<usize>)> =
        costs.iter().map(|(component, cost)| (*component, *cost, cpus(component))).collect();
    let (generator, service) = (cpus(&Component::Generator), cpus(&Component::Service));
    let known = !generator.is_empty() && !service.is_empty();
    Some(BlockCosts {
        limit: limit(&demands)?,
        costs,
        throughput,
        kept_up: measured.kept_up == Some(true),
        host_busy: measured.host_busy,
        shared: known.then(|| !generator.is_disjoint(&service)),
    })
}

/// The utilization law: a CPU supplies one CPU second per second, and requests share it (Denning and Buzen, "The
/// Operational Analysis of Queueing Network Models", Computing Surveys 10(3), 1978). The demand of every set of parts
/// must fit the CPUs that its members can use; if it does for every set, a schedule exists (max-flow and min-cut). The
/// limit is the lowest rate over all sets. `None` if the CPUs of some part are unknown.
fn limit(demands: &[(Component, f64, BTreeSet<usize>)]) -> Option<Limit> {
    if demands.iter().any(|(.., cpus)| cpus.is_empty()) {
        return None;
    }
    let of_set = |set: u32| {
        let chosen = || demands.iter().enumerate().filter(move |(position, _)| set >> position & 1 == 1);
        let cpus: BTreeSet<usize> = chosen().flat_map(|(_, (.., cpus))| cpus).copied().collect();
        let nanos: f64 = chosen().map(|(_, (_, cost, _))| cost).sum();
        let by = chosen().map(|(_, (component, ..))| *component).collect();
        Limit { rate: cpus.len() as f64 * 1e9 / nanos, cpus: cpus.len(), by }
    };
    (1..1_u32 << demands.len()).map(of_set).min_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// The CPUs in a list such as `0-1,3`; empty for any other text.
fn cpus(text: &str) -> Vec<usize> {
    division::parse(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(component: Component, micros: f64, text: &str) -> (Component, f64, BTreeSet<usize>) {
        (component, micros * 1e3, cpus(text).into_iter().collect())
    }

    #[test]
    fn parts_that_share_all_cpus_fill_them_together() {
        // 2 CPUs / (44 + 75 + 22) us = 14,184 a second.
        let demands = [
            demand(Component::Generator, 44.0, "0-1"),
            demand(Component::Service, 75.0, "0-1"),
            demand(Component::Stores, 22.0, "0,1"),
        ];
        let limit = limit(&demands).unwrap();
        assert!((limit.rate - 2e6 / 141.0).abs() < 1e-6, "{limit:?}");
        assert_eq!((limit.cpus, limit.by.as_slice()), (2, Component::ALL.as_slice()));
    }

    #[test]
    fn a_part_on_a_cpu_of_its_own_fills_that_one_first() {
        // The service has one CPU for 80 us: 12,500; both together 2 CPUs for 100 us: 20,000.
        let apart = [demand(Component::Generator, 20.0, "0"), demand(Component::Service, 80.0, "1")];
        let found = limit(&apart).unwrap();
        assert!((found.rate - 12_500.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.cpus, found.by.as_slice()), (1, [Component::Service].as_slice()));
        // A generator that can run on any CPU takes what the service leaves.
        let loose = [demand(Component::Generator, 20.0, "0-1"), demand(Component::Service, 80.0, "1")];
        assert!((limit(&loose).unwrap().rate - 12_500.0).abs() < 1e-6);
        let heavy = [demand(Component::Generator, 90.0, "0-1"), demand(Component::Service, 80.0, "1")];
        assert_eq!(limit(&heavy).unwrap().by, [Component::Generator, Component::Service]);
    }

    #[test]
    fn a_service_that_fills_one_of_two_cpus_is_limited_by_that_one() {
        let cell = Cell::new("stock", "list");
        let bound = |throughput: f64, micros: u64| Bound {
            cell: cell.clone(),
            n_blocks: 8,
            costs: [
                (Component::Generator, Nanos::from_micros(90)),
                (Component::Service, Nanos::from_micros(micros)),
            ]
            .into(),
            throughput,
            limit: 2_220.0,
            reached: throughput / 2_220.0,
            cpus: 2,
            by: vec![Component::Generator, Component::Service],
            kept_up: false,
            host_busy: None,
            shared: Some(true),
        };
        // 1,238/s * 807 us = 0.999 CPUs.
        assert_eq!(bound(1_238.0, 807).finding(), CpuFinding::OneThread(Component::Service));
        assert_eq!(bound(2_200.0, 807).finding(), CpuFinding::Cpus);
        assert_eq!(bound(700.0, 807).finding(), CpuFinding::Unknown, "others can have used the CPUs");
        let on = |host_busy, shared| Bound { host_busy, shared, ..bound(700.0, 807) }.finding();
        assert_eq!(on(Some(0.97), Some(true)), CpuFinding::AllBusy);
        assert_eq!(on(Some(0.4), Some(true)), CpuFinding::Shared);
        assert_eq!(on(Some(0.4), Some(false)), CpuFinding::Elsewhere);
    }

    #[test]
    fn without_knowing_the_cpus_nothing_is_bounded() {
        assert_eq!(
            limit(&[demand(Component::Generator, 20.0, ""), demand(Component::Service, 80.0, "1")]),
            None
        );
    }
}
