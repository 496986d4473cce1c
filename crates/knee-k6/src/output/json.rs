//! Samples as k6's JSON lines: a line for each metric when it appears, a line for each sample.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use super::sample::Sample;
use super::time::rfc3339;
use crate::metric::{Metric, MetricId, Registry};

/// Writes lines.
pub struct Lines {
    metrics: Arc<Registry>,
    thresholds: BTreeMap<String, Vec<String>>,
    /// Names of the metrics that have appeared, by number.
    names: Vec<Option<String>>,
}

impl Lines {
    /// Lines of which none is written.
    pub fn new(metrics: Arc<Registry>, thresholds: BTreeMap<String, Vec<String>>) -> Self {
        Self { metrics, thresholds, names: Vec::new() }
    }

    /// Writes the line of a sample, and before it that of its metric if this is its first.
    pub fn add(&mut self, out: &mut Vec<u8>, sample: &Sample) {
        let Sample { metric: MetricId(id), value, at, tags, metadata } = sample;
        if self.names.len() <= *id {
            self.names.resize(id + 1, None);
        }
        let name = match &mut self.names[*id] {
            Some(name) => name,
            missing => {
                let catalog = self.metrics.catalog();
                let metric = catalog.metric(sample.metric);
                let thresholds = self.thresholds.get(&metric.name).map_or(&[][..], Vec::as_slice);
                introduce(out, metric, thresholds);
                missing.insert(metric.name.clone())
            }
        };
        out.extend_from_slice(b"{\"metric\":");
        text(out, name);
        // Writing into memory cannot fail.
        let _ = write!(out, ",\"type\":\"Point\",\"data\":{{\"time\":\"{}\",\"value\":", rfc3339(*at, true));
        number(out, *value);
        out.extend_from_slice(b",\"tags\":");
        object(out, tags.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if !metadata.is_empty() {
            out.extend_from_slice(b",\"metadata\":");
            object(out, metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        out.extend_from_slice(b"}}\n");
    }
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
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c if is_markup(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

/// A number as Go writes it. What JSON cannot say is zero, which k6 cannot write at all.
fn number(out: &mut Vec<u8>, value: f64) {
    let size = value.abs();
    let written = if !value.is_finite() {
        write!(out, "0")
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Go writes two digits of the exponent at the least, and always its sign.
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.abs())
    } else {
        write!(out, "{value}")
    };
    // Writing into memory cannot fail.
    let _ = written;
}
