//! From a finished run to the figures that a study compares.
//!
//! Uses the run's own figures. Does not judge and does not inspect processes. A percentile that the sample does not
//! support is absent.

use std::collections::BTreeMap;

use knee_core::estimate::{Distribution, Quantile, samples_needed};
use knee_core::record::Run;
use knee_core::unit::Nanos;

use super::{Figure, Measured, Placement, TrialWarning};
use crate::metric::Metric;
use crate::statistics::warm_up::{self, WarmUp};
use crate::sweep::StepResult;

/// Cost of the measured requests: CPU time spent within the window over which rates are computed.
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

/// A service that answers at least this share of the due requests keeps up: requests in flight at the end of a short
/// trial are not a backlog. A judgement.
const KEEPS_UP: f64 = 0.95;

/// The percentiles that are compared.
const QUANTILES: [(Metric, f64); 5] = [
    (Metric::P50, 0.5),
    (Metric::P90, 0.9),
    (Metric::P95, 0.95),
    (Metric::P99, 0.99),
    (Metric::P99_9, 0.999),
];

impl Measured {
    /// The measurement of a run, in a study's terms. `record` is the name of its record, if it was saved.
    pub fn of(run: &Run, spent: Spent, record: Option<String>) -> Self {
        let tally = run.measured.all();
        let response = Distribution::response(&tally);
        let books = run.measured.accounting();
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
        figures.insert(Metric::Goodput, Figure::from(window.goodput));
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
            validity: run.validity.validity,
            warnings: run
                .validity
                .warnings
                .iter()
                .map(|warning| TrialWarning::new(&warning.code, &warning.message))
                .collect(),
            steady: steady(run),
            kept_up: run.head.plan.is_open().then(|| window.share() >= KEEPS_UP),
            record,
            placement: Placement::default(),
        }
    }
}

/// Why trials of up to `requests` requests have no figure for `metric`, if known.
pub(super) fn too_few(metric: Metric, requests: u64) -> Option<String> {
    let (_, q) = QUANTILES.into_iter().find(|(known, _)| *known == metric)?;
    let needed = samples_needed(q);
    (requests < needed)
        .then(|| format!("{metric} needs {needed} requests per trial, the largest trial has {requests}"))
}

/// Whether the medians of the intervals became steady, by MSER-5 over the whole intervals between warm-up and end. It
/// needs twenty intervals, so a trial of less than twenty seconds is too short and gives `None`.
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

#[cfg(test)]
mod tests {
    use knee_core::interval::Interval;
    use knee_core::outcome::Outcome;
    use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
    use knee_core::record::run::RunBuilder;
    use knee_core::record::{Build, Ending, Head, Machine};
    use knee_core::schedule::Curve;
    use knee_core::tally::Tally;

    use super::*;

    /// Users who never pause, for three seconds; the first is warm-up.
    fn head() -> Head {
        let users = Executor::Closed { vus: Curve::constant(100.0) };
        let plan = Plan {
            scenarios: vec![Scenario::new("default", users, Stop::At(Nanos::from_secs(3)))],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::from_secs(1),
            grace: Nanos::from_secs(30),
            request_timeout: None,
            connect_timeout: Nanos::from_secs(5),
            workers: 1,
            interval: Nanos::from_secs(1),
        };
        let build = Build { version: "0".into(), commit: None, optimized: true };
        let machine =
            Machine { system: String::new(), arch: String::new(), cpu: None, cores: 2, memory_bytes: None };
        Head {
            measured_from: plan.warm_up,
            plan,
            title: "slow".into(),
            started: Nanos::ZERO,
            build,
            machine,
            co_located: Some(true),
        }
    }

    /// Answers that took two seconds.
    fn answered(part: &mut Tally, count: u64) {
        let outcome = &mut part.endpoint_mut(EndpointId(0)).outcomes[Outcome::Ok as usize];
        for _ in 0..count {
            outcome.response.record(Nanos::from_secs(2));
            outcome.service.record(Nanos::from_secs(2));
        }
    }

    /// A hundred came due in the warm-up and were answered in the window; 300 came due there and were answered later.
    fn slow() -> Run {
        let mut seconds: Vec<Interval> = (0..5)
            .map(|second| Interval {
                from: Nanos::from_secs(second),
                to: Nanos::from_secs(second + 1),
                ..Interval::default()
            })
            .collect();
        seconds[0].warm_up.endpoint_mut(EndpointId(0)).planned = 100;
        seconds[1].measured.endpoint_mut(EndpointId(0)).planned = 300;
        answered(&mut seconds[2].warm_up, 100);
        answered(&mut seconds[4].measured, 300);
        let mut builder = RunBuilder::new(head());
        for second in &seconds {
            builder.add(second);
        }
        builder.end(Ending::Completed)
    }

    #[test]
    fn cpu_time_of_the_window_is_shared_by_the_requests_that_ended_in_it() {
        let spent = Spent { service: Some(Nanos::from_millis(200)), ..Spent::default() };
        let measured = Measured::of(&slow(), spent, None);
        assert_eq!(
            (measured.requests, measured.kept_up),
            (300, None),
            "users who wait ask for what they get"
        );
        let cost = measured.figures[&Metric::CpuPerRequest].value;
        assert!((cost - 2e6).abs() < 1.0, "200 ms and 100 answers, but {cost} ns");
    }

    #[test]
    fn a_percentile_of_few_requests_is_absent_and_says_how_many_it_takes() {
        let measured = Measured::of(&slow(), Spent::default(), None);
        assert!(measured.figures.contains_key(&Metric::P50) && !measured.figures.contains_key(&Metric::P99));
        let why = too_few(Metric::P99, measured.requests).unwrap();
        assert_eq!(why, "p99 needs 10000 requests per trial, the largest trial has 300");
        assert_eq!(too_few(Metric::P50, measured.requests), None);
        assert_eq!(too_few(Metric::Goodput, 0), None);
    }
}
