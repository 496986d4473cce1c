//! The list as text, and a block per trend.
//!
//! Names and answers of saved files can come from anyone, so they are cleaned.

use std::fmt::Write as _;

use jiff::Timestamp;
use knee_core::unit::Nanos;
use knee_study::change_point::{ChangePoint, SIDE_LEAST};
use knee_study::metric::Metric;

use super::{Entry, History, Trend, TrendMetric};
use crate::clean::line as clean;
use crate::number::{count, counted, rate, time};
use crate::study::change as change_of;

/// Most points of a trend in text.
const POINTS_MAX: usize = 30;

/// The list; every line ends in a line feed.
pub fn render(history: &History) -> String {
    if let Some(trends) = &history.trends {
        return self::trends(trends);
    }
    if history.entries.is_empty() {
        return "nothing is saved\n".to_owned();
    }
    let head = ["RECORD", "TIME (UTC)", "KIND", "LIKE", "VALIDITY", "LOAD", "TARGET", "RESULT"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(history.entries.iter().map(row));
    let mut text = aligned(&rows);
    if history.older > 0 {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "… and {} older (--limit N)", count(history.older as u64));
    }
    text
}

fn row(entry: &Entry) -> [String; 8] {
    let known = |text: &str| if text.is_empty() { "–".to_owned() } else { clean(text).into_owned() };
    [
        clean(&entry.record).into_owned(),
        moment(entry.at),
        known(&entry.kind),
        known(&entry.like()),
        known(entry.validity.map_or("", |validity| validity.name())),
        known(&entry.load),
        known(&entry.title),
        known(&entry.answer),
    ]
}

/// A wall-clock time, in UTC: `2026-11-21 10:15:30`.
pub fn moment(at: Nanos) -> String {
    let time = Timestamp::from_nanosecond(i128::from(at.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Columns as wide as their widest cell, two blanks apart.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn trends(trends: &[Trend]) -> String {
    if trends.is_empty() {
        return "no trend: a trend needs two runs of the same name with the same plan, target and machine\n"
            .to_owned();
    }
    let mut text = String::new();
    let mut before: Option<&Entry> = None;
    for trend in trends {
        if before != Some(&trend.newest) {
            if before.is_some() {
                text.push('\n');
            }
            text += &heading(&trend.newest);
            before = Some(&trend.newest);
        }
        text += &of_metric(trend);
    }
    text
}

fn heading(newest: &Entry) -> String {
    let parts = [&newest.name, &newest.title, &newest.load, &newest.machine].map(|part| clean(part));
    format!("{} [{}]\n  {}\n  {}\n  {}\n", parts[0], newest.like(), parts[1], parts[2], parts[3])
}

/// The points of a figure, and its changes.
fn of_metric(trend: &Trend) -> String {
    let value = |figure: f64| value(trend.metric, figure);
    let (runs, name) = (trend.points.len(), trend.metric.name());
    let left_out = match trend.left_out {
        0 => String::new(),
        left_out => format!(", {left_out} not counted (invalid, or without the figure)"),
    };
    let skipped = runs.saturating_sub(POINTS_MAX);
    let points: Vec<String> = trend.points.iter().skip(skipped).map(|(_, point)| value(*point)).collect();
    let dots = if skipped > 0 { "… " } else { "" };
    let shown = counted(runs as u64, "run");
    let mut text = format!("  {name}: {shown}{left_out}\n    {dots}{}\n", points.join(" "));
    match &trend.changes {
        None if trend.missing() > 0 => {
            let _ = writeln!(text, "    no answer: a change needs {SIDE_LEAST} runs on each side");
        }
        None => text += "    no answer: a figure is not above 0\n",
        Some(changes) if changes.is_empty() => text += "    no persistent change\n",
        Some(changes) => changes.iter().for_each(|change| text += &of_change(trend, change)),
    }
    text
}

fn of_change(trend: &Trend, change: &ChangePoint) -> String {
    let record = trend.points.get(change.at).map_or("", |(record, _)| record);
    format!(
        "    persistent change from {} on: {} to {}, {} (95 % CI {} to {})\n",
        clean(record),
        value(trend.metric, change.before),
        value(trend.metric, change.after),
        change_of(Metric::Goodput, change.change),
        change_of(Metric::Goodput, change.low),
        change_of(Metric::Goodput, change.high),
    )
}

/// A figure of a trend with its unit.
pub fn value(metric: TrendMetric, value: f64) -> String {
    match metric {
        TrendMetric::Goodput => format!("{}/s", rate(value)),
        TrendMetric::P50 | TrendMetric::P99 => time(value * 1e9, None),
    }
}
