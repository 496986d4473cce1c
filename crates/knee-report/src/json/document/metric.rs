//! What scripts counted, as members of the JSON document.
//!
//! Times of a trend are in the unit that its script counts in: milliseconds, if `contains` says `time`.

use knee_core::metric::{Check, Contains, Key, Kind, Metrics, Place, Series, Sink, Threshold};
use serde::Serialize;

use super::super::figure::finite;

/// One threshold.
#[derive(Debug, Serialize)]
pub(super) struct Limit<'v> {
    metric: &'v str,
    #[serde(rename = "limit")]
    expression: &'v str,
    value: Option<f64>,
    holds: bool,
}

impl<'v> Limit<'v> {
    /// All thresholds, in the order of the script.
    pub(super) fn all(metrics: &'v Metrics) -> Vec<Self> {
        let one = |threshold: &'v Threshold| Self {
            metric: &threshold.metric,
            expression: &threshold.expression,
            value: finite(threshold.value),
            holds: threshold.holds,
        };
        metrics.thresholds.iter().map(one).collect()
    }
}

/// One series of samples.
#[derive(Debug, Serialize)]
pub(super) struct Metric<'v> {
    #[serde(rename = "metric")]
    name: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    filter: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'v str>,
    kind: Kind,
    contains: Contains,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Figures {
    Counter {
        sum: Option<f64>,
    },
    Gauge {
        value: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
    },
    Rate {
        hits: u64,
        count: u64,
    },
    Trend {
        count: u64,
        mean: Option<f64>,
        min: Option<f64>,
        p50: Option<f64>,
        p90: Option<f64>,
        p95: Option<f64>,
        p99: Option<f64>,
        max: Option<f64>,
    },
}

impl<'v> Metric<'v> {
    /// All series.
    pub(super) fn all(metrics: &'v Metrics) -> Vec<Self> {
        metrics.series.iter().map(|(key, series)| Self::of(key, series)).collect()
    }

    fn of(key: &'v Key, series: &'v Series) -> Self {
        Self {
            name: &key.metric,
            filter: &key.filter,
            scenario: key.scenario.as_deref(),
            group: key.group.as_deref(),
            kind: series.sink.kind(),
            contains: series.contains,
            figures: Figures::of(&series.sink),
        }
    }
}

impl Figures {
    fn of(sink: &Sink) -> Self {
        match sink {
            Sink::Counter(counter) => Self::Counter { sum: finite(counter.sum()) },
            Sink::Gauge(gauge) => {
                let [value, min, max] = [gauge.value(), gauge.min(), gauge.max()].map(finite);
                Self::Gauge { value, min, max }
            }
            Sink::Rate(rate) => Self::Rate { hits: rate.hits(), count: rate.total() },
            Sink::Trend(trend) => {
                let shares = trend.percentiles(&[50.0, 90.0, 95.0, 99.0]);
                let share = |place: usize| shares.get(place).copied().and_then(finite);
                Self::Trend {
                    count: trend.count(),
                    mean: finite(trend.avg()),
                    min: finite(trend.min()),
                    p50: share(0),
                    p90: share(1),
                    p95: share(2),
                    p99: share(3),
                    max: finite(trend.max()),
                }
            }
        }
    }
}

/// One check of a script.
#[derive(Debug, Serialize)]
pub(super) struct Checked<'v> {
    check: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'v str>,
    group: &'v str,
    passes: u64,
    fails: u64,
}

impl<'v> Checked<'v> {
    /// All checks.
    pub(super) fn all(metrics: &'v Metrics) -> Vec<Self> {
        let of = |place: &'v Place, (name, check): (&'v String, &'v Check)| Self {
            check: name,
            scenario: place.scenario.as_deref(),
            group: &place.group,
            passes: check.passes,
            fails: check.fails,
        };
        let groups = metrics.groups.iter();
        groups.flat_map(|(place, group)| group.checks.iter().map(move |named| of(place, named))).collect()
    }
}
