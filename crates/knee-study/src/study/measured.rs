//! From a finished run to the figures that a study compares.
//!
//! Takes what the run says of itself; does not judge and does not look at processes. A percentile that the sample cannot carry is absent.

use std::collections::BTreeMap;

use knee_core::estimate::{Distribution, Quantile};
use knee_core::record::Run;
use knee_core::unit::Nanos;

use super::{Figure, Measured, Place};
use crate::metric::Metric;
use crate::statistics::warm_up::{self, WarmUp};
use crate::sweep::StepResult;

/// What the requests that were measured cost: CPU time spent within the window that rates are computed over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// CPU time of the service.
    pub service: Option<Nanos>,
    /// CPU time of databases and caches.
    pub stores: Option<Nanos>,
    /// CPU time of this program, which sends the requests.
    pub generator: Option<Nanos>,
    /// Memory of the service at the end.
    pub memory: Option<u64>,
}

/// The percentiles that are compared.
const QUANTILES: [(Metric, f64); 5] = [
    (Metric::P50, 0.5),
    (Metric::P90, 0.9),
    (Metric::P95, 0.95),
    (Metric::P99, 0.99),
    (Metric::P99_9, 0.999),
];

impl Measured {
    /// What a run measured, in a study's terms. `record` is the name of its record, if it was kept.
    pub fn of(run: &Run, spent: Spent, record: Option<String>) -> Self {
        let tally = run.measured.all();
        let response = Distribution::response(&tally);
        let books = run.measured.books();
        let mut figures: BTreeMap<Metric, Figure> = BTreeMap::new();
        for (metric, q) in QUANTILES {
            match response.quantile(q) {
                Quantile::Value(value) => drop(figures.insert(metric, Figure::from(value.as_nanos() as f64))),
                Quantile::AtLeast(value) => {
                    figures.insert(metric, Figure { value: value.as_nanos() as f64, at_least: true });
                }
                Quantile::TooFew { .. } => {}
            }
        }
        let bounded = response.bounds().count() > 0;
        if let Some(mean) = response.all().mean() {
            figures.insert(Metric::Mean, Figure { value: mean, at_least: bounded });
        }
        if let Some(max) = response.all().max() {
            figures.insert(Metric::Max, Figure { value: max.as_nanos() as f64, at_least: bounded });
        }
        let window = StepResult::of(run, 1.0);
        figures.insert(Metric::Rate, Figure::from(window.goodput));
        figures.insert(Metric::Errors, Figure::from(window.failed()));
        let planned = books.planned;
        // Not those that came due in it: where answers take longer than the window, others end there.
        let ended = window.achieved * window.seconds;
        let per_request = |cpu: Nanos| Figure::from(cpu.as_nanos() as f64 / ended);
        if ended > 0.0 {
            figures.extend(spent.service.map(|cpu| (Metric::CpuPerRequest, per_request(cpu))));
            figures.extend(spent.stores.map(|cpu| (Metric::StoreCpuPerRequest, per_request(cpu))));
            figures.extend(spent.generator.map(|cpu| (Metric::GeneratorCpuPerRequest, per_request(cpu))));
        }
        figures.extend(spent.memory.map(|bytes| (Metric::Memory, Figure::from(bytes as f64))));
        Self {
            figures,
            requests: planned,
            state: run.truth.state,
            reasons: run.truth.reasons.iter().map(|reason| reason.text.clone()).collect(),
            steady: steady(run),
            record,
            place: Place::default(),
        }
    }
}

/// Whether medians of the intervals settled: MSER-5 over those of the whole intervals between warm-up and end. It needs
/// twenty, so that trials of less than twenty seconds are `None`: too short to tell.
fn steady(run: &Run) -> Option<bool> {
    // Beyond the window answers still come in, of fewer and fewer requests.
    let end = Nanos(run.head.measured_from.as_nanos() + run.window().as_nanos());
    let inside = run.series.iter().filter(|point| !point.warm_up && point.to <= end);
    let medians: Vec<f64> = inside.filter_map(|point| Some(point.response?[0].as_nanos() as f64)).collect();
    match warm_up::cut(&medians) {
        WarmUp::Until(_) => Some(true),
        WarmUp::NeverSteady => Some(false),
        WarmUp::TooShort => None,
    }
}
