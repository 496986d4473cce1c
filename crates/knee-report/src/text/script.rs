//! The section "Script": checks, and what a script counted besides the requests that the other sections show.
//!
//! Not below k6's summary, which has all of it. Does not calculate.

use knee_core::metric::{Contains, Series, Sink};

use super::ink::Tone;
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use crate::number::{bytes, count, level, percent, time};
use crate::{View, clean};

/// Most checks and most metrics that are listed; the JSON has all.
const ROWS_MAX: usize = 30;
/// Metrics of requests, which the other sections show by knee's own measurement.
const OF_REQUESTS: [&str; 4] = ["http_req", "data_", "checks", "vus"];

/// The section; empty for the load of a URL.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    let (checks, metrics) = (checks(view), metrics(view));
    if checks.is_empty() && metrics.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Script", "what it checked and counted", style)];
    let more = checks.len().saturating_sub(ROWS_MAX) + metrics.len().saturating_sub(ROWS_MAX);
    let columns =
        [("check", Side::Flexible), ("passed", Side::Right), ("failed", Side::Right), ("", Side::Right)];
    lines.extend(listed(columns, checks, style));
    let columns = [
        ("metric", Side::Flexible),
        ("value or mean", Side::Right),
        ("p50", Side::Right),
        ("p95", Side::Right),
    ];
    lines.extend(listed(columns, metrics, style));
    if more > 0 {
        lines.push(format!("  {} more in the JSON: checks, metrics", count(more as u64)));
    }
    lines
}

fn listed(columns: [(&'static str, Side); 4], rows: Vec<Vec<Cell>>, style: &Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(columns);
    rows.into_iter().take(ROWS_MAX).for_each(|row| table.row(row));
    table.lines(style.width, style.palette)
}

/// The checks of the whole load, in the order in which they were made.
fn checks(view: &View) -> Vec<Vec<Cell>> {
    let whole = view.metrics.groups.iter().filter(|(place, _)| place.scenario.is_none());
    let mut found: Vec<_> = whole
        .flat_map(|(place, group)| group.checks.iter().map(move |(name, check)| (place, name, check)))
        .collect();
    found.sort_by_key(|(_, _, check)| check.first);
    let row = |(place, name, check): (&knee_core::metric::Place, &String, &knee_core::metric::Check)| {
        let path = place.group.trim_start_matches("::");
        let name = if path.is_empty() { name.clone() } else { format!("{path}::{name}") };
        let all = check.passes.saturating_add(check.fails);
        let share = if all == 0 { String::new() } else { percent(check.passes as f64 / all as f64) };
        let tone = if check.fails > 0 { Tone::Bad } else { Tone::Plain };
        vec![
            clean::line(&name).into_owned().into(),
            count(check.passes).into(),
            Cell::toned(count(check.fails), tone),
            share.into(),
        ]
    };
    found.into_iter().map(row).collect()
}

/// The metrics of the whole load that no other section shows.
fn metrics(view: &View) -> Vec<Vec<Cell>> {
    let is_shown = |metric: &str| !OF_REQUESTS.iter().any(|prefix| metric.starts_with(prefix));
    let whole = view.metrics.series.iter().filter(|(key, _)| {
        key.scenario.is_none() && key.group.is_none() && key.filter.is_empty() && is_shown(&key.metric)
    });
    let row = |name: &str, series: &Series| {
        let [first, second, third] = figures(series);
        vec![clean::line(name).into_owned().into(), first.into(), second.into(), third.into()]
    };
    whole.map(|(key, series)| row(&key.metric, series)).collect()
}

fn figures(series: &Series) -> [String; 3] {
    let figure = |value: f64| match series.contains {
        Contains::Time => time(value * 1e6, None),
        Contains::Data => bytes(value),
        Contains::Default => level(value),
    };
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
