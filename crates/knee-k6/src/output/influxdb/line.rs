//! Points in InfluxDB's line protocol: `metric,tag=value field="text",value=1.5 nanoseconds`
//! (<https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/>).
//!
//! As in k6, tags without a value are left out, and tags and fields are sorted. k6 also writes what ends a line too early:
//! a line break in a tag, and a backslash at its end. Here the first becomes `\n`, and the second is left out. Does not
//! send.

use std::io::Write as _;
use std::sync::Arc;

use super::super::batch::{Batch, Samples};
use super::super::columns::{Column, Columns};
use super::config::{Field, FieldKind, Precision};
use super::figures;
use super::wire::Body;
use crate::metric::{Kind, MetricId, Registry};

/// Bytes that name, tags and the name of a field can have together.
const KEY_MAX: usize = 65_535;
/// What InfluxDB puts between a series and the name of a field, counted among those.
const KEY_GAP: usize = 4;
/// The field of the sample's value.
const VALUE: &str = "value";
/// Lists of tags of a batch that are recognized by their place, without being written again.
const LISTS_MET: usize = 16;

/// Writes lines.
pub struct Lines {
    metrics: Arc<Registry>,
    fields: Vec<Field>,
    precision: Precision,
    /// Names of metrics as they are written, by number.
    names: Vec<Option<Vec<u8>>>,
}

/// A list of tags as it is written.
#[derive(Default)]
struct Written {
    /// `,tag=value`, for each.
    tags: Vec<u8>,
    /// `field="text",`, for each whose name is before `value`.
    before: Vec<u8>,
    /// `,field="text"`, for each other.
    after: Vec<u8>,
    /// Bytes of the longest name of a field.
    longest: usize,
}

impl Lines {
    /// Lines of which none is written. `fields`: tags that are fields, sorted by name.
    pub const fn new(metrics: Arc<Registry>, fields: Vec<Field>, precision: Precision) -> Self {
        Self { metrics, fields, precision, names: Vec::new() }
    }

    /// Writes a line for each sample. Returns how many samples InfluxDB cannot hold: those of values that are no numbers,
    /// or with too long tags.
    pub fn add(&mut self, out: &mut Body, batch: &Batch) -> u64 {
        let mut refused = 0;
        let mut met: Vec<(*const (String, String), Written)> = Vec::new();
        for samples in batch.moments() {
            let place = samples.tags.pairs().as_ptr();
            let known = met.iter().rposition(|(other, _)| *other == place);
            let index = known.unwrap_or_else(|| {
                if met.len() == LISTS_MET {
                    met.remove(0);
                }
                met.push((place, written(samples.tags.pairs(), &self.fields)));
                met.len() - 1
            });
            refused += self.add_moment(out, &samples, &met[index].1);
        }
        refused
    }

    fn add_moment(&mut self, out: &mut Body, samples: &Samples<'_>, list: &Written) -> u64 {
        let Body { bytes, ends } = out;
        let mut refused = 0;
        let at = samples.at.as_nanos() / self.precision.nanos;
        for (metric, value) in samples.values {
            let name = self.name(*metric);
            let key = name.len() + list.tags.len() + KEY_GAP + list.longest;
            if !value.is_finite() || key > KEY_MAX {
                refused += 1;
                continue;
            }
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&list.tags);
            bytes.push(b' ');
            bytes.extend_from_slice(&list.before);
            // Writing into memory cannot fail.
            let _ = write!(bytes, "{VALUE}={value}");
            bytes.extend_from_slice(&list.after);
            let _ = writeln!(bytes, " {at}");
            ends.push(bytes.len());
        }
        refused
    }

    /// Writes a line for each column, with figures of its values in place of each value. Returns how many samples InfluxDB
    /// cannot hold.
    pub fn add_columns(&mut self, out: &mut Body, columns: &Columns) -> u64 {
        let mut refused = 0;
        let catalog = self.metrics.catalog();
        for block in columns.blocks() {
            let list = written(block.tags.pairs(), &self.fields);
            for column in &block.columns {
                let kind = catalog.metric(column.metric).kind;
                refused += self.add_column(out, column, kind, &list);
            }
        }
        refused
    }

    fn add_column(&mut self, out: &mut Body, column: &Column, kind: Kind, list: &Written) -> u64 {
        let at = column.latest.as_nanos() / self.precision.nanos;
        let name = self.name(column.metric);
        let key = name.len() + list.tags.len() + KEY_GAP + list.longest.max(figures::NAME_MAX);
        let mut fields = figures::of(kind, column);
        fields.retain(|(_, value)| value.is_finite());
        if fields.is_empty() || key > KEY_MAX {
            return column.samples();
        }
        let Body { bytes, ends } = out;
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&list.tags);
        bytes.push(b' ');
        bytes.extend_from_slice(&list.before);
        for (index, (field, value)) in fields.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing into memory cannot fail.
            let _ = write!(bytes, "{comma}{field}={value}");
        }
        bytes.extend_from_slice(&list.after);
        let _ = writeln!(bytes, " {at}");
        ends.push(bytes.len());
        0
    }

    fn name(&mut self, metric: MetricId) -> &[u8] {
        let MetricId(id) = metric;
        if self.names.len() <= id {
            self.names.resize(id + 1, None);
        }
        let metrics = &self.metrics;
        self.names[id].get_or_insert_with(|| {
            let mut name = Vec::new();
            escape(&mut name, &metrics.name(metric), ", ");
            name
        })
    }
}

fn written(pairs: &[(String, String)], fields: &[Field]) -> Written {
    let mut list = Written { longest: VALUE.len(), ..Written::default() };
    for (name, value) in pairs {
        let Ok(place) = fields.binary_search_by(|field| field.name.as_str().cmp(name)) else {
            push_tag(&mut list.tags, name, value);
            continue;
        };
        let mut field = Vec::new();
        escape(&mut field, name, ",\"= ");
        // The value of the sample has this name already.
        if name == VALUE || field.is_empty() {
            continue;
        }
        list.longest = list.longest.max(field.len());
        field.push(b'=');
        push_value(&mut field, value, fields[place].kind);
        if name.as_str() < VALUE {
            list.before.append(&mut field);
            list.before.push(b',');
        } else {
            list.after.push(b',');
            list.after.append(&mut field);
        }
    }
    list
}

fn push_tag(out: &mut Vec<u8>, name: &str, value: &str) {
    let before = out.len();
    out.push(b',');
    let from = out.len();
    escape(out, name, ",= ");
    let has_name = out.len() > from;
    out.push(b'=');
    let from = out.len();
    escape(out, value, ",= ");
    if !has_name || out.len() == from {
        out.truncate(before);
    }
}

/// Writes a name, or the value of a tag: a backslash before each of `special`.
fn escape(out: &mut Vec<u8>, text: &str, special: &str) {
    // It would escape what follows the text.
    for c in text.trim_end_matches('\\').chars() {
        match c {
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            c => {
                if special.contains(c) {
                    out.push(b'\\');
                }
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// Writes the value of a field: of its kind, otherwise as text.
fn push_value(out: &mut Vec<u8>, text: &str, kind: FieldKind) {
    let is_written = match kind {
        FieldKind::Text => false,
        FieldKind::Int => text.parse::<i64>().is_ok_and(|number| write!(out, "{number}i").is_ok()),
        FieldKind::Float => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.is_some_and(|number| write!(out, "{number}").is_ok())
        }
        FieldKind::Bool => boolean(text).is_some_and(|value| write!(out, "{value}").is_ok()),
    };
    if is_written {
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// What Go reads as true or false.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
