//! The times of events at each step, in a sweep of responses that are streams of events.
//!
//! Does not judge; [`knee_study::sweep::slo`] does, by counting, for which fewer responses are enough.

use knee_core::estimate::Distribution;
use knee_study::sweep::Report;
use knee_study::sweep::slo::{Statistic, Timed};

use super::goal::TAILS;
use crate::view::reading::Reading;

/// What the figures are, beside the heading.
pub const REMARK: &str = "average, then percentiles; the longest gap is that of each response";

/// The times of the events of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// Names of the percentiles beside the median: of the first events, and of the longest gaps.
    pub tails: [String; 2],
    /// The steps, in their order.
    pub rows: Vec<EventRow>,
}

/// The times of the events of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// The number of the step.
    pub number: usize,
    /// Its level, with its unit if that differs from the table's.
    pub level: String,
    /// From the scheduled send to the first event: average, median, percentile of the tail.
    pub first: [Reading; 3],
    /// The longest time between two events of each response: average, percentile of the tail.
    pub longest: [Reading; 2],
}

impl Events {
    /// Those of all steps, whose levels are written as in `levels`; `None` if no step had a stream of events.
    pub(super) fn of(report: &Report, levels: Vec<String>) -> Option<Self> {
        if report.trials.iter().all(|trial| trial.result.first_event.n() == 0) {
            return None;
        }
        let [first, longest] = [Timed::FirstEvent, Timed::LongestGap].map(|of| tail(report, of));
        let rows = report.trials.iter().zip(levels).map(|(trial, level)| {
            let [mean, _, most] = figures(trial.result.times(Timed::LongestGap), longest.1);
            EventRow {
                number: trial.step.number,
                level,
                first: figures(trial.result.times(Timed::FirstEvent), first.1),
                longest: [mean, most],
            }
        });
        let rows = rows.collect();
        Some(Self { tails: [first.0, longest.0], rows })
    }

    /// The names of the columns of all forms, after that of the step. A line of a terminal has room for no more.
    pub fn columns<'n>(&'n self, unit: &'n str) -> [&'n str; 6] {
        let [first, longest] = &self.tails;
        [unit, "first event", "p50", first, "longest gap", longest]
    }
}

impl EventRow {
    /// The figures under [`Events::columns`], without the level.
    pub fn readings(&self) -> impl Iterator<Item = Reading> {
        self.first.into_iter().chain(self.longest)
    }
}

/// Average, median, percentile of the tail.
fn figures(times: &Distribution, q: f64) -> [Reading; 3] {
    let summary = times.summary();
    let mean = Reading::new(summary.mean, summary.bounds > 0);
    [mean, times.quantile(0.5).into(), times.quantile(q).into()]
}

/// The percentile beside the median, with its name: that of the first limit on these times, if most steps have enough
/// responses for it, otherwise the highest for which they do.
fn tail(report: &Report, of: Timed) -> (String, f64) {
    let limits = report.config.slos.iter().filter(|slo| slo.of == of);
    let limited = limits.filter_map(|slo| match slo.statistic {
        // The median is shown anyway.
        Statistic::Quantile(q) if q.total_cmp(&0.5).is_ne() => Some((slo.statistic.to_string(), q)),
        _ => None,
    });
    let common = TAILS.map(|(name, q)| (name.to_owned(), q));
    let [.., last] = common.clone();
    limited.chain(common).find(|(_, q)| carries(report, of, *q)).unwrap_or(last)
}

/// Whether at least half of the steps of the ladder support a percentile of these times.
fn carries(report: &Report, of: Timed, q: f64) -> bool {
    let has_it = |times: &Distribution| Reading::from(times.quantile(q)).nanos().is_some();
    let supported = report.ladder().filter(|trial| has_it(trial.result.times(of))).count();
    supported * 2 >= report.ladder().count()
}
