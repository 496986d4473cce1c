//! The CPU bound: the rate at which the CPU time per request fills the CPUs.
//!
//! Does not know of locks, disks and queues; where the rate stays far below this bound, one of those is the limit.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::fixture::division;
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::usable::UsableTrials;
use super::{GENERATOR, Measured, Study};
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

    /// Whether a part of a fixture, by its name in [`super::Place::cpus`], belongs to it.
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
}

/// From this share of the bound on, a service counts as CPU-bound. A judgement: the rest is CPU time that is charged to no
/// process, such as interrupts.
const FULL: f64 = 0.85;

/// Below this share it counts as not CPU-bound. A judgement too.
const IDLE: f64 = 0.6;

/// CPUs that a component uses if one of its threads is always busy and the others hardly. A judgement.
const ONE: std::ops::RangeInclusive<f64> = 0.85..=1.1;

/// What limits a variant, as far as CPU time shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limited {
    /// Nothing: it answered the whole load.
    KeptUp,
    /// The CPUs.
    ByCpus,
    /// One CPU that a component fills alone, though it could use more: a single busy thread or process.
    ByOneCpu(Component),
    /// The CPUs for the most part.
    MostlyByCpus,
    /// Something else: locks, disks, or too little load.
    Otherwise,
}

impl Bound {
    /// What limits it.
    pub fn limited(&self) -> Limited {
        let one = self.costs.iter().find(|(component, cost)| {
            let used = self.throughput * cost.as_nanos() as f64 / 1e9;
            **component != Component::Generator && self.cpus > 1 && ONE.contains(&used)
        });
        match (self.reached, one) {
            _ if self.kept_up => Limited::KeptUp,
            (share, _) if share >= FULL => Limited::ByCpus,
            (_, Some((component, _))) => Limited::ByOneCpu(*component),
            (share, None) if share >= IDLE => Limited::MostlyByCpus,
            _ => Limited::Otherwise,
        }
    }
}

/// The bound of every variant under every workload whose CPU time is known.
pub(super) fn all(study: &Study, usable: &UsableTrials<'_>) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for workload in &study.definition.workloads {
        for variant in &study.lineup.variants {
            let cell = Cell { variant: variant.name.clone(), workload: workload.name.clone() };
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
    let kept_up = measured.kept_up == Some(true);
    Some(BlockCosts { limit: limit(&demands)?, costs, throughput, kept_up })
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
        let cell = Cell { variant: "stock".to_owned(), workload: "list".to_owned() };
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
        };
        // 1,238/s * 807 us = 0.999 CPUs.
        assert_eq!(bound(1_238.0, 807).limited(), Limited::ByOneCpu(Component::Service));
        assert_eq!(bound(2_200.0, 807).limited(), Limited::ByCpus);
        assert_eq!(bound(700.0, 807).limited(), Limited::Otherwise);
    }

    #[test]
    fn without_knowing_the_cpus_nothing_is_bounded() {
        assert_eq!(
            limit(&[demand(Component::Generator, 20.0, ""), demand(Component::Service, 80.0, "1")]),
            None
        );
    }
}
