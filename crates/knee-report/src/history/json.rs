//! The list as JSON: the layout of `docs/reference/history-json.md`.

use knee_core::validity::Validity;
use knee_study::change_point::ChangePoint;
use serde::Serialize;

use super::{Entry, Figures, History, Trend, TrendMetric, VERSION};
use crate::json::pretty;

#[derive(Serialize)]
struct Document<'h> {
    format: &'static str,
    version: u32,
    entries: Vec<Listed<'h>>,
    older: usize,
    trends: Option<Vec<Line<'h>>>,
    skipped: Vec<Skipped<'h>>,
}

#[derive(Serialize)]
struct Listed<'h> {
    record: &'h str,
    name: &'h str,
    kind: &'h str,
    at_unix_s: f64,
    title: &'h str,
    load: &'h str,
    machine: &'h str,
    like: String,
    validity: Option<&'static str>,
    answer: &'h str,
    figures: Figures,
}

#[derive(Serialize)]
struct Line<'h> {
    name: &'h str,
    like: String,
    title: &'h str,
    load: &'h str,
    machine: &'h str,
    metric: &'static str,
    unit: &'static str,
    points: Vec<Point<'h>>,
    left_out: usize,
    changes: Option<Vec<Change<'h>>>,
}

#[derive(Serialize)]
struct Point<'h> {
    record: &'h str,
    value: f64,
}

#[derive(Serialize)]
struct Change<'h> {
    /// The first run after it.
    record: &'h str,
    before: f64,
    after: f64,
    #[serde(rename = "change")]
    ratio: f64,
    low: f64,
    high: f64,
    p: f64,
}

#[derive(Serialize)]
struct Skipped<'h> {
    file: &'h str,
    reason: &'h str,
}

/// The document, indented, with a line feed at the end.
pub fn render(history: &History) -> String {
    let skipped = history.skipped.iter().map(|(file, reason)| Skipped { file, reason });
    pretty(&Document {
        format: "knee-history",
        version: VERSION,
        entries: history.entries.iter().map(listed).collect(),
        older: history.older,
        trends: history.trends.as_ref().map(|trends| trends.iter().map(line).collect()),
        skipped: skipped.collect(),
    })
}

fn listed(entry: &Entry) -> Listed<'_> {
    Listed {
        record: &entry.record,
        name: &entry.name,
        kind: &entry.kind,
        at_unix_s: entry.at.as_secs_f64(),
        title: &entry.title,
        load: &entry.load,
        machine: &entry.machine,
        like: entry.like(),
        validity: entry.validity.map(Validity::name),
        answer: &entry.answer,
        figures: entry.figures,
    }
}

fn line(trend: &Trend) -> Line<'_> {
    let newest = &trend.newest;
    let record = |at: usize| trend.points.get(at).map_or("", |(record, _)| record.as_str());
    let changes = trend.changes.as_ref().map(|changes| {
        let change = |one: &ChangePoint| Change {
            record: record(one.at),
            before: one.before,
            after: one.after,
            ratio: one.change,
            low: one.low,
            high: one.high,
            p: one.p,
        };
        changes.iter().map(change).collect()
    });
    Line {
        name: &newest.name,
        like: newest.like(),
        title: &newest.title,
        load: &newest.load,
        machine: &newest.machine,
        metric: trend.metric.name(),
        unit: if trend.metric == TrendMetric::Goodput { "1/s" } else { "s" },
        points: trend.points.iter().map(|(record, value)| Point { record, value: *value }).collect(),
        left_out: trend.left_out,
        changes,
    }
}
