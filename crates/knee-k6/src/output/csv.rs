//! Samples as k6's CSV: a column for each tag that samples get by themselves, one for all others.

use std::io::Write as _;
use std::sync::Arc;

use super::batch::{Samples, TagList};
use super::time::{TimeForm, rfc3339};
use crate::metric::{MetricId, Registry};
use crate::observe::system_tags::SystemTags;

/// Writes lines.
pub struct Lines {
    metrics: Arc<Registry>,
    /// Tags with a column of their own, sorted.
    columns: Vec<&'static str>,
    time: TimeForm,
    /// Names of metrics, by number.
    names: Vec<Option<String>>,
}

/// k6 keeps these apart from tags; they have no column.
const METADATA: [&str; 2] = ["iter", "vu"];

impl Lines {
    /// Lines of which none is written.
    pub fn new(metrics: Arc<Registry>, system: SystemTags, time: TimeForm) -> Self {
        let columns = system.names().into_iter().filter(|name| !METADATA.contains(name)).collect();
        Self { metrics, columns, time, names: Vec::new() }
    }

    /// Writes the first line.
    pub fn header(&self, out: &mut Vec<u8>) {
        let names = ["metric_name", "timestamp", "metric_value"].iter().chain(&self.columns);
        let names: Vec<&str> = names.copied().chain(["extra_tags", "metadata"]).collect();
        out.extend_from_slice(names.join(",").as_bytes());
        out.push(b'\n');
    }

    /// Writes the lines of the samples of one moment, which differ in metric and value alone.
    pub fn add(&mut self, out: &mut Vec<u8>, samples: &Samples<'_>) {
        let (time, rest) = (self.time_of(samples), self.rest_of(samples));
        for (metric, value) in samples.values {
            let MetricId(id) = *metric;
            if self.names.len() <= id {
                self.names.resize(id + 1, None);
            }
            let metrics = &self.metrics;
            let name = self.names[id].get_or_insert_with(|| metrics.name(*metric));
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&time);
            // Writing into memory cannot fail.
            let _ = write!(out, "{value:.6}");
            out.extend_from_slice(&rest);
        }
    }

    /// The time, between its commas.
    fn time_of(&self, samples: &Samples<'_>) -> Vec<u8> {
        let nanos = samples.at.as_nanos();
        let text = match self.time {
            TimeForm::Unix => format!(",{},", nanos / 1_000_000_000),
            TimeForm::UnixMilli => format!(",{},", nanos / 1_000_000),
            TimeForm::UnixMicro => format!(",{},", nanos / 1_000),
            TimeForm::UnixNano => format!(",{nanos},"),
            TimeForm::Rfc3339 => format!(",{},", rfc3339(samples.at, false)),
            TimeForm::Rfc3339Nano => format!(",{},", rfc3339(samples.at, true)),
        };
        text.into_bytes()
    }

    /// Everything after the value.
    fn rest_of(&self, samples: &Samples<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let tags = samples.tags.pairs();
        for column in &self.columns {
            out.push(b',');
            let tag = tags.iter().find(|(name, _)| name == column);
            cell(&mut out, tag.map_or("", |(_, value)| value));
        }
        out.push(b',');
        cell(&mut out, &pairs(tags.iter().filter(|(name, _)| !self.columns.contains(&name.as_str()))));
        out.push(b',');
        cell(&mut out, &pairs(samples.metadata.map_or(&[][..], TagList::pairs).iter()));
        out.push(b'\n');
        out
    }
}

/// `a=b&c=d`.
fn pairs<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> String {
    pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// A cell, in quotes if it needs them.
fn cell(out: &mut Vec<u8>, text: &str) {
    let special = text.starts_with([' ', '\t']) || text.contains([',', '"', '\n', '\r']);
    if !special {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}
