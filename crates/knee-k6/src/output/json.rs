//! Samples as k6's JSON lines: a line for each metric when it appears, a line for each sample.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use super::batch::{Samples, TagList};
use super::number::number;
use super::time::Stamp;
use crate::metric::{Metric, MetricId, Registry};

/// Writes lines.
pub struct Lines {
    metrics: Arc<Registry>,
    thresholds: BTreeMap<String, Vec<String>>,
    /// How the lines of each metric that has appeared begin, by its number.
    beginnings: Vec<Option<Vec<u8>>>,
    /// Writes times.
    stamp: Stamp,
    /// The time and the tags of the moment that is written; kept for reuse.
    time: Vec<u8>,
    rest: Vec<u8>,
}

impl Lines {
    /// Lines of which none is written.
    pub fn new(metrics: Arc<Registry>, thresholds: BTreeMap<String, Vec<String>>) -> Self {
        let (time, rest) = (Vec::new(), Vec::new());
        Self { metrics, thresholds, beginnings: Vec::new(), stamp: Stamp::default(), time, rest }
    }

    /// Writes the lines of the samples of one moment, and before each that of its metric if it is the first of one.
    pub fn add(&mut self, out: &mut Vec<u8>, samples: &Samples<'_>) {
        self.time.clear();
        self.stamp.write(&mut self.time, samples.at);
        self.time.extend_from_slice(b"\",\"value\":");
        self.rest.clear();
        self.rest.extend_from_slice(b",\"tags\":");
        self.rest.extend_from_slice(written(samples.tags));
        if let Some(metadata) = samples.metadata.filter(|metadata| !metadata.pairs().is_empty()) {
            self.rest.extend_from_slice(b",\"metadata\":");
            self.rest.extend_from_slice(written(metadata));
        }
        self.rest.extend_from_slice(b"}}\n");
        for (metric, value) in samples.values {
            self.begin(out, *metric);
            out.extend_from_slice(&self.time);
            number(out, *value);
            out.extend_from_slice(&self.rest);
        }
    }

    /// Writes the line of a metric if it is new, and how its samples begin.
    fn begin(&mut self, out: &mut Vec<u8>, id: MetricId) {
        if self.beginnings.len() <= id.0 {
            self.beginnings.resize(id.0 + 1, None);
        }
        if let Some(beginning) = &self.beginnings[id.0] {
            out.extend_from_slice(beginning);
            return;
        }
        let catalog = self.metrics.catalog();
        let metric = catalog.metric(id);
        let thresholds = self.thresholds.get(&metric.name).map_or(&[][..], Vec::as_slice);
        introduce(out, metric, thresholds);
        let mut beginning = b"{\"metric\":".to_vec();
        text(&mut beginning, &metric.name);
        beginning.extend_from_slice(b",\"type\":\"Point\",\"data\":{\"time\":\"");
        out.extend_from_slice(&beginning);
        self.beginnings[id.0] = Some(beginning);
    }
}

/// A list as a JSON object.
fn written(list: &TagList) -> &[u8] {
    list.written(|pairs| {
        let mut out = Vec::new();
        object(&mut out, pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        out
    })
}
/// The line of a metric.
fn introduce(out: &mut Vec<u8>, metric: &Metric, thresholds: &[String]) {
    out.extend_from_slice(b"{\"type\":\"Metric\",\"data\":{\"name\":");
    text(out, &metric.name);
    let _ =
        write!(out, ",\"type\":\"{}\",\"contains\":\"{}\",\"thresholds\":[", metric.kind, metric.contains);
    for (place, threshold) in thresholds.iter().enumerate() {
        separate(out, place);
        // k6 leaves markup alone here, and only here.
        quote(out, threshold, |_| false);
    }
    out.extend_from_slice(b"],\"submetrics\":");
    if metric.submetrics.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        out.push(b'[');
        for (place, key) in metric.submetrics.iter().enumerate() {
            separate(out, place);
            out.extend_from_slice(b"{\"name\":");
            text(out, &key.name());
            out.extend_from_slice(b",\"suffix\":");
            text(out, &key.suffix);
            out.extend_from_slice(b",\"tags\":");
            object(out, key.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            out.push(b'}');
        }
        out.push(b']');
    }
    out.extend_from_slice(b"},\"metric\":");
    text(out, &metric.name);
    out.extend_from_slice(b"}\n");
}

fn separate(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

fn object<'a>(out: &mut Vec<u8>, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    out.push(b'{');
    for (place, (name, value)) in pairs.enumerate() {
        separate(out, place);
        text(out, name);
        out.push(b':');
        text(out, value);
    }
    out.push(b'}');
}

/// A text in quotes. What a browser could take for markup is escaped, as Go does.
fn text(out: &mut Vec<u8>, text: &str) {
    quote(out, text, |c| matches!(c, '<' | '>' | '&'));
}

fn quote(out: &mut Vec<u8>, text: &str, is_markup: fn(char) -> bool) {
    out.push(b'"');
    // What stays as it is goes out in one piece.
    let mut from = 0;
    for (place, c) in text.char_indices() {
        let escaped: &[u8] = match c {
            '"' => b"\\\"",
            '\\' => b"\\\\",
            '\n' => b"\\n",
            '\r' => b"\\r",
            '\t' => b"\\t",
            '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => b"",
            c if is_markup(c) => b"",
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[from..place]);
        from = place + c.len_utf8();
        if escaped.is_empty() {
            // Writing into memory cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.extend_from_slice(escaped);
        }
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}
