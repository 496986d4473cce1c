//! k6's end-of-test summary: everything its forms are made from, computed once.
//!
//! Its forms are modules of their own: text, the object for `handleSummary`, and two kinds of JSON. Does not
//! print, does not open files, and does not judge thresholds (they arrive judged).

use crate::duration::SignedDuration;
use crate::metric::{BuiltIn, Contains, Meter, Metric, MetricId, Sink};
use crate::threshold::{Aggregation, Judged};

pub mod data;

pub mod export;

pub mod machine;

pub mod number;

pub mod text;

#[cfg(test)]
mod sample;

use number::TimeUnit;

/// A finished run, as k6 sums it up.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The measurements.
    pub meter: Meter,
    /// Thresholds, by metric, sorted by name.
    pub judged: Vec<Judged>,
    /// From the begin of `setup` to the end of `teardown`: the span of all rates.
    pub elapsed: SignedDuration,
    /// Figures shown of trends, in this order.
    pub trend_stats: Vec<String>,
    /// Unit of times, as the option names it.
    pub time_unit: Option<String>,
}

/// One metric or sub-metric that has something to show.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name, with the filter of a sub-metric: `http_reqs{a:b}`.
    pub name: String,
    /// The filter alone; empty for a whole metric.
    pub suffix: &'a str,
    /// The metric.
    pub metric: &'a Metric,
    /// Its samples.
    pub sink: Sink,
    /// Its thresholds, if it has any.
    pub judged: Option<&'a Judged>,
}

impl Summary {
    /// The unit of times.
    pub fn unit(&self) -> Option<TimeUnit> {
        TimeUnit::of(self.time_unit.as_deref())
    }

    /// Every metric with samples or thresholds, sorted by name, each followed by its sub-metrics.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let mut metrics: Vec<(MetricId, &Metric)> = self.meter.catalog().metrics().collect();
        metrics.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        metrics.into_iter().flat_map(|(id, metric)| self.family(id, metric)).collect()
    }

    /// A metric and its sub-metrics, as far as there is something to show.
    fn family<'a>(&'a self, id: MetricId, metric: &'a Metric) -> Vec<Entry<'a>> {
        let mut family = Vec::new();
        let judged = self.judged_of(&metric.name);
        let sink = self.meter.sink(id).cloned();
        if sink.is_some() || judged.is_some() || self.has_judged_submetric(&metric.name) {
            let sink = sink.unwrap_or_else(|| Sink::new(metric.kind));
            family.push(Entry { name: metric.name.clone(), suffix: "", metric, sink, judged });
        }
        let mut filters: Vec<_> = metric.submetrics.iter().zip(self.meter.submetrics(id)).collect();
        filters.sort_by(|(a, _), (b, _)| a.suffix.cmp(&b.suffix));
        for (key, sink) in filters {
            let name = key.name();
            let judged = self.judged_of(&name);
            // The one sub-metric that k6 always has is shown when it has seen something.
            if judged.is_some() || !sink.is_empty() {
                family.push(Entry { name, suffix: &key.suffix, metric, sink: sink.clone(), judged });
            }
        }
        family
    }

    /// Whether a sub-metric of this metric has thresholds: k6 then shows the metric, too, with samples or without.
    fn has_judged_submetric(&self, name: &str) -> bool {
        self.judged
            .iter()
            .filter_map(|judged| judged.name.strip_prefix(name))
            .any(|rest| rest.starts_with('{'))
    }

    fn judged_of(&self, name: &str) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.name == name)
    }

    /// Passed and failed checks.
    fn rate_of_checks(&self) -> (u64, u64) {
        match self.meter.sink(BuiltIn::Checks.id()) {
            Some(Sink::Rate(rate)) => (rate.hits(), rate.misses()),
            _ => (0, 0),
        }
    }
}

/// A figure of a trend by its name in `summaryTrendStats`; `None` for a name that is none.
pub fn trend_stat(sink: &Sink, stat: &str) -> Option<f64> {
    let Sink::Trend(trend) = sink else { return None };
    match stat {
        "avg" => Some(trend.avg()),
        "min" => Some(trend.min()),
        "med" => Some(trend.percentile(50.0)),
        "max" => Some(trend.max()),
        "count" => Some(trend.count() as f64),
        _ => {
            let percent = stat.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?;
            Some(trend.percentile(percent))
        }
    }
}

/// Several figures of a trend, for the price of one sort.
pub fn trend_stats(sink: &Sink, stats: &[String]) -> Vec<f64> {
    let Sink::Trend(trend) = sink else { return Vec::new() };
    let percent = |stat: &String| -> Option<f64> {
        if stat == "med" {
            return Some(50.0);
        }
        stat.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()
    };
    let percents: Vec<f64> = stats.iter().filter_map(percent).collect();
    let mut values = trend.percentiles(&percents).into_iter();
    let figure = |stat: &String| match percent(stat) {
        Some(_) => values.next().unwrap_or_default(),
        None => trend_stat(sink, stat).unwrap_or_default(),
    };
    stats.iter().map(figure).collect()
}

/// Whether k6 shows counts of this metric as something else than plain numbers.
fn contains_of(metric: &Metric, stat: &str) -> Contains {
    if stat == "count" && metric.kind == crate::metric::Kind::Trend {
        Contains::Default
    } else {
        metric.contains
    }
}

/// The name of a figure as thresholds write it.
fn figure_name(aggregation: Aggregation) -> String {
    aggregation.to_string()
}
