//! The percentiles of response time that a sweep shows beside the median: those that its limits are about.
//!
//! Does not judge; [`knee_study::sweep::slo`] does, by counting, for which fewer requests are enough.

use knee_core::estimate::samples_needed;
use knee_study::sweep::slo::{Statistic, Timed};
use knee_study::sweep::{FinishedStep, Report, Slo};

use crate::number::{percent, percent_apart};

use crate::view::reading::Reading;

/// Percentiles of a tail, the highest first.
pub(super) const TAILS: [(&str, f64); 3] = [("p99", 0.99), ("p95", 0.95), ("p90", 0.9)];

/// A percentile of response time at every step.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// Its name: `p99`.
    pub name: String,
    /// The share of the requests below it.
    pub q: f64,
    /// Its figure at each step, in the order of the steps.
    pub readings: Vec<Reading>,
}

impl Tail {
    fn of(report: &Report, name: String, q: f64) -> Self {
        let readings = report.trials.iter().map(|trial| reading(trial, q)).collect();
        Self { name, q, readings }
    }

    /// Why steps have no figure; `None` if all have one.
    pub fn missing(&self) -> Option<String> {
        let lacks = |reading: &Reading| matches!(reading, Reading::TooFew { .. });
        self.readings.iter().any(lacks).then(|| {
            format!(
                "{} is shown for steps with {} requests or more.",
                self.name,
                crate::number::count(samples_needed(self.q))
            )
        })
    }
}

/// The percentiles of the limits, ascending, and `widest` if most steps have too few requests for all of them.
pub(super) fn tails(report: &Report, widest: (&str, f64)) -> Vec<Tail> {
    let of_responses = report.config.slos.iter().filter(|slo| slo.of == Timed::Response);
    let mut wanted: Vec<(String, f64)> = of_responses
        .filter_map(|slo| match slo.statistic {
            // The median is shown anyway.
            Statistic::Quantile(q) if q.total_cmp(&0.5).is_ne() => Some((slo.statistic.to_string(), q)),
            _ => None,
        })
        .collect();
    if !wanted.iter().any(|(_, q)| carries(report, *q)) {
        wanted.push((widest.0.to_owned(), widest.1));
    }
    wanted.sort_by(|one, other| one.1.total_cmp(&other.1));
    wanted.dedup_by(|one, other| one.0 == other.0);
    wanted.into_iter().map(|(name, q)| Tail::of(report, name, q)).collect()
}

/// The limits on a percentile of response time that most steps have too few requests for, and that is judged by counting.
pub(super) fn counted(report: &Report) -> Vec<Slo> {
    let is_counted = |slo: &&Slo| match (slo.of, slo.statistic) {
        (Timed::Response, Statistic::Quantile(q)) => !carries(report, q),
        _ => false,
    };
    let mut counted: Vec<Slo> = report.config.slos.iter().filter(is_counted).copied().collect();
    // One limit of two percentiles is one column: the share is the same.
    counted.dedup_by_key(|slo| slo.limit);
    counted
}

/// The share of a step's requests above a limit, or that might have been.
pub(super) fn over(trial: &FinishedStep, slo: Slo) -> String {
    let Some(held) = slo.judge(&trial.result.response) else { return "–".to_owned() };
    let Statistic::Quantile(q) = slo.statistic else { return "–".to_owned() };
    let share = held.over as f64 / held.n as f64;
    if held.kept { percent(share) } else { percent_apart(share, 1.0 - q) }
}

/// The limits on response time with their names, in seconds.
pub(super) fn limits(report: &Report) -> Vec<(String, f64)> {
    let of_responses = report.config.slos.iter().filter(|slo| slo.of == Timed::Response);
    of_responses.map(|slo| (slo.to_string(), slo.limit.as_secs_f64())).collect()
}

/// Whether at least half of the steps of the ladder support a percentile.
pub(super) fn carries(report: &Report, q: f64) -> bool {
    let steps = report.ladder().count();
    report.ladder().filter(|trial| reading(trial, q).nanos().is_some()).count() * 2 >= steps
}

pub(super) fn reading(trial: &FinishedStep, q: f64) -> Reading {
    trial.result.response.quantile(q).into()
}
