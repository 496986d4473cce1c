//! What a trial measured of one endpoint, as figures that a claim can be about.
//!
//! Does not compare. CPU time, memory and blocks are those of a whole trial, and an endpoint has none of them.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::estimate::samples_needed;

use super::times::{MergedTimes, ResponseTimes};
use super::trial::{Measured, OfEndpoint};
use super::{Entry, Figure, Refusal, Study};
use crate::definition::Cell;
use crate::metric::Metric;
use crate::statistics::share::Counted;

impl Measured {
    /// What it measured of one endpoint, with the validity of the whole trial. `None` if it stored nothing of it.
    ///
    /// Times are good to a thousandth. Of the rates of the trial, the endpoint has the share that its responses have of
    /// all responses.
    pub(super) fn of_endpoint(&self, name: &str) -> Option<Self> {
        let endpoint = self.endpoints.get(name)?;
        let mut figures = times(&endpoint.times, self.figures.get(&Metric::Max));
        figures.extend(rates(self, endpoint));
        figures.extend(errors(endpoint));
        figures.extend(response_size(endpoint));
        Some(Self {
            times: Some(endpoint.times.clone()),
            responses: Some(endpoint.responses),
            ..self.part(figures, endpoint.times.requests())
        })
    }
}

/// Figures of response times; nothing without a success. None is longer than `longest`, that of the whole trial.
fn times(times: &ResponseTimes, longest: Option<&Figure>) -> BTreeMap<Metric, Figure> {
    let mut figures = BTreeMap::new();
    let (Some(mean), Some(slowest)) = (times.mean_of_successes(), times.slowest_success()) else {
        return figures;
    };
    let max = longest.map_or(slowest, |longest| slowest.min(longest.value));
    let merged = MergedTimes::of([times]);
    let (requests, unsuccessful) = (merged.requests(), merged.unsuccessful());
    for metric in Metric::ALL {
        let Some(q) = metric.quantile().filter(|q| requests >= samples_needed(*q)) else { continue };
        figures.extend(merged.quantile(q).map(|figure| (metric, figure)));
    }
    // As of a whole trial: an unsuccessful request took longer than the slowest success.
    let ok = requests.saturating_sub(unsuccessful) as f64;
    let mean = (mean * ok + max * unsuccessful as f64) / requests as f64;
    let at_least = unsuccessful > 0;
    figures.insert(Metric::Mean, Figure { value: mean, at_least });
    figures.insert(Metric::Max, Figure { value: max, at_least });
    figures
}

/// Its share of the trial's goodput and throughput.
fn rates(trial: &Measured, endpoint: &OfEndpoint) -> Vec<(Metric, Figure)> {
    let all = trial.endpoints.values().map(|one| one.responses).fold(Counted::default(), Counted::plus);
    let ok = |counted: Counted| counted.of.saturating_sub(counted.failed);
    let parts = [
        (Metric::Goodput, ok(endpoint.responses), ok(all)),
        (Metric::Throughput, endpoint.responses.of, all.of),
    ];
    let rate = |(metric, part, all): (Metric, u64, u64)| {
        let whole = trial.figures.get(&metric).filter(|_| all > 0)?;
        Some((metric, Figure { value: whole.value * part as f64 / all as f64, at_least: whole.at_least }))
    };
    parts.into_iter().filter_map(rate).collect()
}

fn errors(endpoint: &OfEndpoint) -> Option<(Metric, Figure)> {
    let counted = endpoint.responses;
    (counted.of > 0).then(|| (Metric::Errors, Figure::from(counted.share())))
}

/// Mean bytes of a body. Among failed responses are some without a body, which are not counted apart: with a failure,
/// the mean is a lower bound.
fn response_size(endpoint: &OfEndpoint) -> Option<(Metric, Figure)> {
    let Counted { failed, of } = endpoint.responses;
    let mean = endpoint.body_bytes as f64 / of as f64;
    (of > 0).then_some((Metric::ResponseSize, Figure { value: mean, at_least: failed > 0 }))
}

/// The endpoints that trials stored, by name.
pub(super) fn stored<'a>(trials: impl Iterator<Item = &'a Measured>) -> BTreeSet<String> {
    trials.flat_map(|trial| trial.endpoints.keys().cloned()).collect()
}

/// Refuses a claim about an endpoint of which no trial stored anything, though trials of the same variant and workload
/// stored others: the name is wrong.
pub(super) fn unknown(study: &Study) -> Option<Refusal> {
    let claims = study.definition.claims.iter();
    let mut asked = claims.flat_map(|claim| claim.test.cells().into_iter().map(move |cell| (claim, cell)));
    asked.find_map(|(claim, cell)| {
        let endpoint = cell.endpoint.clone()?;
        let known = stored(trials(study, cell));
        (!known.is_empty() && !known.contains(&endpoint)).then(|| Refusal::UnknownEndpoint {
            claim: claim.id.clone(),
            endpoint,
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        })
    })
}

/// The usable trials of the variant and the workload of a cell.
fn trials<'a>(study: &'a Study, cell: &'a Cell) -> impl Iterator<Item = &'a Measured> {
    study.entries.iter().filter(|entry| entry.trial.is_of(cell)).filter_map(Entry::usable)
}

#[cfg(test)]
mod tests {
    use knee_core::validity::Validity;

    use super::*;
    use crate::study::Placement;

    fn millis(range: std::ops::RangeInclusive<u32>) -> Vec<f64> {
        range.map(|time| f64::from(time) * 1e6).collect()
    }

    /// 3,000 lists of 1 to 3,000 ms and 900 orders of 10 to 9,000 ms, with as many failed orders as given.
    fn trial(failed: u64) -> Measured {
        let orders: Vec<f64> = millis(1..=900).into_iter().map(|time| time * 10.0).collect();
        let lists = OfEndpoint {
            times: ResponseTimes::of_values(&millis(1..=3_000), 0),
            responses: Counted { failed: 0, of: 3_000 },
            body_bytes: 6_000_000,
        };
        let orders = OfEndpoint {
            times: ResponseTimes::of_values(&orders, failed),
            responses: Counted { failed, of: 900 + failed },
            body_bytes: 90_000,
        };
        let figures = [(Metric::Goodput, 390.0), (Metric::Throughput, 400.0), (Metric::Max, 9e9)];
        Measured {
            figures: figures.map(|(metric, value)| (metric, Figure::from(value))).into(),
            requests: 3_900 + failed,
            times: None,
            responses: None,
            endpoints: [("GET /items", lists), ("POST /orders", orders)]
                .map(|(name, of)| (name.to_owned(), of))
                .into(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            validity: Validity::Suspect,
            warnings: Vec::new(),
            steady: None,
            kept_up: None,
            host_busy: None,
            record: None,
            placement: Placement::default(),
        }
    }

    fn close(figure: Figure, value: f64) {
        assert!((figure.value / value - 1.0).abs() < 0.003, "{figure:?}, not {value}");
    }

    #[test]
    fn an_endpoint_has_the_times_of_its_own_requests() {
        let found = trial(0).of_endpoint("POST /orders").unwrap();
        assert_eq!((found.requests, found.validity), (900, Validity::Suspect));
        close(found.figures[&Metric::P50], 4.5e9);
        close(found.figures[&Metric::Mean], 4.505e9);
        close(found.figures[&Metric::Max], 9e9);
        assert!(found.figures[&Metric::Max].value <= 9e9, "no more than the longest of the trial");
        assert!(!found.figures.contains_key(&Metric::P99), "of too few requests");
        assert!(trial(0).of_endpoint("GET /orders").is_none());
    }

    #[test]
    fn rates_of_endpoints_add_up_to_those_of_the_trial() {
        let trial = trial(100);
        let rate = |metric: Metric| {
            let found = ["GET /items", "POST /orders"].map(|name| trial.of_endpoint(name).unwrap());
            found.map(|found| found.figures[&metric].value)
        };
        let [lists, orders] = rate(Metric::Goodput);
        assert!((lists - 300.0).abs() < 1e-9 && (orders - 90.0).abs() < 1e-9, "{lists} {orders}");
        let [lists, orders] = rate(Metric::Throughput);
        assert!((lists - 300.0).abs() < 1e-9 && (orders - 100.0).abs() < 1e-9, "{lists} {orders}");
    }

    #[test]
    fn a_failed_request_makes_the_size_and_the_mean_of_its_endpoint_lower_bounds() {
        let lists = trial(100).of_endpoint("GET /items").unwrap();
        let size = Figure { value: 2_000.0, at_least: false };
        assert_eq!(lists.figures[&Metric::ResponseSize], size);
        assert_eq!(lists.figures[&Metric::Errors], Figure::from(0.0));
        let orders = trial(100).of_endpoint("POST /orders").unwrap();
        assert_eq!(orders.figures[&Metric::ResponseSize], Figure { value: 90.0, at_least: true });
        assert!((orders.figures[&Metric::Errors].value - 0.1).abs() < 1e-12);
        let mean = orders.figures[&Metric::Mean];
        assert!(mean.at_least);
        close(mean, (4.505e9 * 900.0 + 9e9 * 100.0) / 1_000.0);
    }

    #[test]
    fn an_endpoint_without_a_success_has_no_time_and_only_errors() {
        let mut trial = trial(0);
        let orders = trial.endpoints.get_mut("POST /orders").unwrap();
        orders.times = ResponseTimes::of_values(&[], 40);
        orders.responses = Counted { failed: 40, of: 40 };
        let found = trial.of_endpoint("POST /orders").unwrap();
        assert!(!found.figures.contains_key(&Metric::Mean) && !found.figures.contains_key(&Metric::P50));
        assert_eq!(found.figures[&Metric::Errors], Figure::from(1.0));
        assert_eq!(found.figures[&Metric::Goodput], Figure::from(0.0));
    }
}
