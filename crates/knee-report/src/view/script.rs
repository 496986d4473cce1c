//! What a script limited, checked and counted, as rows.
//!
//! Does not lay out tables.

use knee_core::metric::{Check, Contains, Metrics, Place, Series, Sink, Threshold};

use crate::number::{bytes, count, level, percent, time};

/// Metrics of requests, which other parts of a report show by knee's own measurement.
const OF_REQUESTS: [&str; 4] = ["http_req", "data_", "checks", "vus"];

/// The rows; all empty for the load of a URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The thresholds, those that were crossed first.
    pub thresholds: Vec<Limit>,
    /// The checks of the whole load, in the order in which they were made.
    pub checks: Vec<Checked>,
    /// The metrics of the whole load that no other part of a report shows.
    pub metrics: Vec<Counted>,
    /// Samples and checks that are in none of them, because there were too many metrics or names.
    pub left_out: u64,
}

/// A threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its metric.
    pub metric: String,
    /// The limit, as the script has it.
    pub expression: String,
    /// The figure that it limits, with its unit.
    pub value: String,
    /// Whether it held.
    pub holds: bool,
}

/// A check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its name, after its groups.
    pub name: String,
    /// How often it passed.
    pub passes: u64,
    /// How often it failed.
    pub fails: u64,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its name.
    pub name: String,
    /// Its value or mean, p50 and p95; empty where it has none.
    pub figures: [String; 3],
}

impl Script {
    /// What `metrics` have.
    pub fn of(metrics: &Metrics) -> Self {
        Self {
            thresholds: limits(metrics),
            checks: checks(metrics),
            metrics: counted(metrics),
            left_out: metrics.left_out,
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.left_out_in_words().is_none()
            && self.thresholds.is_empty()
            && self.checks.is_empty()
            && self.metrics.is_empty()
    }
}

impl Script {
    /// What is in no row, in a sentence; `None` if nothing is missing.
    pub fn left_out_in_words(&self) -> Option<String> {
        let missing = count(self.left_out);
        let words = format!("samples and checks not counted, because there were too many names: {missing}");
        (self.left_out > 0).then_some(words)
    }
}

impl Checked {
    /// The share that passed, written; empty if it was never made.
    pub fn share(&self) -> String {
        let all = self.passes.saturating_add(self.fails);
        if all == 0 { String::new() } else { percent(self.passes as f64 / all as f64) }
    }
}

/// How the thresholds ended, in a few words: `all 3 thresholds held`; `None` without any.
pub fn thresholds_in_words(metrics: &Metrics) -> Option<String> {
    let all = metrics.thresholds.len() as u64;
    let crossed = metrics.thresholds.iter().filter(|threshold| !threshold.holds).count() as u64;
    match (all, crossed) {
        (0, _) => None,
        (1, 0) => Some("the one threshold held".to_owned()),
        (1, _) => Some("the one threshold crossed".to_owned()),
        (_, 0) => Some(format!("all {} thresholds held", count(all))),
        _ => Some(format!("{} of {} thresholds crossed", count(crossed), count(all))),
    }
}

fn limits(metrics: &Metrics) -> Vec<Limit> {
    let one = |threshold: &Threshold| Limit {
        metric: threshold.metric.clone(),
        expression: threshold.expression.clone(),
        value: limited(metrics, threshold),
        holds: threshold.holds,
    };
    let mut limits: Vec<_> = metrics.thresholds.iter().map(one).collect();
    limits.sort_by_key(|limit| limit.holds);
    limits
}

/// The figure of a threshold. Only the metric tells its unit, and a share is one whatever the metric.
fn limited(metrics: &Metrics, threshold: &Threshold) -> String {
    let name = threshold.metric.split('{').next().unwrap_or_default();
    let series = metrics.series.iter().find(|(key, _)| key.metric == name).map(|(_, series)| series);
    let counts = threshold.expression.trim_start().starts_with("count");
    match series {
        Some(Series { sink: Sink::Rate(_), .. }) => percent(threshold.value),
        Some(series) if !counts => figure(series.contains, threshold.value),
        _ => level(threshold.value),
    }
}

fn checks(metrics: &Metrics) -> Vec<Checked> {
    let whole = metrics.groups.iter().filter(|(place, _)| place.scenario.is_none());
    let mut found: Vec<_> = whole
        .flat_map(|(place, group)| group.checks.iter().map(move |(name, check)| (place, name, check)))
        .collect();
    found.sort_by_key(|(_, _, check)| check.first);
    let row = |(place, name, check): (&Place, &String, &Check)| {
        let path = place.group.trim_start_matches("::");
        let name = if path.is_empty() { name.clone() } else { format!("{path}::{name}") };
        Checked { name, passes: check.passes, fails: check.fails }
    };
    found.into_iter().map(row).collect()
}

fn counted(metrics: &Metrics) -> Vec<Counted> {
    let is_shown = |metric: &str| !OF_REQUESTS.iter().any(|prefix| metric.starts_with(prefix));
    let whole = metrics.series.iter().filter(|(key, _)| {
        key.scenario.is_none() && key.group.is_none() && key.filter.is_empty() && is_shown(&key.metric)
    });
    whole.map(|(key, series)| Counted { name: key.metric.clone(), figures: figures(series) }).collect()
}

fn figures(series: &Series) -> [String; 3] {
    let figure = |value: f64| figure(series.contains, value);
    let none = String::new;
    match &series.sink {
        Sink::Counter(counter) => [figure(counter.sum()), none(), none()],
        Sink::Gauge(gauge) => [figure(gauge.value()), none(), none()],
        Sink::Rate(rate) => [percent(rate.share()), none(), none()],
        Sink::Trend(trend) => {
            let shares = trend.percentiles(&[50.0, 95.0]);
            [figure(trend.avg()), figure(shares[0]), figure(shares[1])]
        }
    }
}

fn figure(contains: Contains, value: f64) -> String {
    match contains {
        // Scripts count times in milliseconds.
        Contains::Time => time(value * 1e6, None),
        Contains::Data => bytes(value),
        Contains::Default => level(value),
    }
}

#[cfg(test)]
mod tests {
    use knee_core::metric::{Key, Kind};

    use super::*;

    fn threshold(metric: &str, expression: &str, value: f64, holds: bool) -> Threshold {
        Threshold { metric: metric.to_owned(), expression: expression.to_owned(), value, holds }
    }

    #[test]
    fn a_threshold_that_was_crossed_comes_first_and_has_the_unit_of_its_metric() {
        let mut metrics = Metrics::default();
        for (name, kind, contains) in
            [("http_req_duration", Kind::Trend, Contains::Time), ("checks", Kind::Rate, Contains::Default)]
        {
            let key = Key { metric: name.to_owned(), ..Key::default() };
            metrics.series.insert(key, Series { contains, adds: None, sink: Sink::new(kind) });
        }
        metrics.thresholds = vec![
            threshold("checks", "rate>0.9", 0.991, true),
            threshold("http_req_duration{status:200}", "p(95)<200", 251.4, false),
            threshold("http_req_duration", "count>5", 12.0, true),
        ];
        let rows: Vec<_> =
            Script::of(&metrics).thresholds.into_iter().map(|limit| (limit.value, limit.holds)).collect();
        let row = |value: &str, holds| (value.to_owned(), holds);
        assert_eq!(rows, [row("251 ms", false), row("99.10 %", true), row("12", true)]);
        assert_eq!(thresholds_in_words(&metrics).as_deref(), Some("1 of 3 thresholds crossed"));
        assert_eq!(thresholds_in_words(&Metrics::default()), None);
    }

    #[test]
    fn what_was_not_counted_is_said_even_if_there_is_nothing_else() {
        let script = Script::of(&Metrics { left_out: 1_200, ..Metrics::default() });
        assert!(!script.is_empty());
        let words = "samples and checks not counted, because there were too many names: 1,200";
        assert_eq!(script.left_out_in_words().as_deref(), Some(words));
        assert_eq!(Script::default().left_out_in_words(), None);
    }
}
