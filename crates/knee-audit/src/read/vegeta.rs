//! vegeta: the report as JSON or text, and results as JSON lines.
//!
//! Its binary results have a reader of their own.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use crate::measurement::{Document, Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Range, Rounding, amount, percent, plain, show_time, time};
use crate::problem::ReadError;

use super::line::Line;
use super::samples::{Samples, for_each_line, seconds_of_day};

/// Percentiles of the JSON report: its names, and their shares.
const PERCENTILES: [(&str, f64); 4] = [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)];

/// Error of vegeta's percentiles, which come from a t-digest.
const DIGEST_ERROR: f64 = 0.02;

/// Reads a JSON report; `None` if it is none.
pub fn read_report(value: &Value) -> Option<Document> {
    let times = value.get("latencies")?.as_object()?;
    let requests = value.get("requests")?.as_u64()?;
    let seconds = |value: &Value| value.as_f64().map(|ns| ns / 1e9).filter(|seconds| *seconds >= 0.0);
    let figure = |value: f64, text: String| Figure { text, value, range: Range::exact(value).widened(1e-9) };
    // Times are whole nanoseconds.
    let of = |value: &Value| {
        let value = seconds(value)?;
        Some(Figure {
            text: show_time(value),
            value,
            range: Range::new((value - 1e-9).max(0.0), value + 1e-9),
        })
    };
    let mut one = Measurement::new(Tool::Vegeta, 1);
    one.load = Load::Open;
    one.requests = Some(Figure::count(requests));
    one.samples = Some(requests);
    one.mean = times.get("mean").and_then(of);
    one.max = times.get("max").and_then(of);
    one.min = times.get("min").and_then(of);
    for (name, share) in PERCENTILES {
        let Some(mut time) = times.get(name).and_then(of) else { continue };
        time.range = time.range.widened(DIGEST_ERROR);
        one.percentiles.push(Percentile { name: format!("p{}", share * 100.0), share, time });
    }
    one.duration = value.get("duration").and_then(of);
    one.wait = value.get("wait").and_then(of);
    one.rate = value.get("rate").and_then(Value::as_f64).map(|rate| figure(rate, amount(rate)));
    if let (Some(total), Some(mean)) = (times.get("total").and_then(of), &one.mean) {
        one.relations.push(Relation::Product {
            first: Named::new("requests", Figure::count(requests)),
            second: Named::new("mean", mean.clone()),
            product: Named::new("total of the times", total),
        });
    }
    for (code, count) in value.get("status_codes").and_then(Value::as_object).into_iter().flatten() {
        if let (Ok(code), Some(count)) = (code.parse(), count.as_u64()) {
            one.statuses.push((code, count));
        }
    }
    if let (Some(share), false) = (value.get("success").and_then(Value::as_f64), one.statuses.is_empty()) {
        let good = one.statuses.iter().filter(|(code, _)| (200..400).contains(code)).map(|(_, count)| count);
        one.relations.push(Relation::Share {
            part: Named::new("status 200 to 399", Figure::count(good.sum())),
            whole: Named::new("requests", Figure::count(requests)),
            share: Named::new("success", figure(share, format!("{} %", amount(share * 100.0)))),
        });
    }
    Some(Document { format: "vegeta report".to_owned(), measurements: vec![one], ..Document::default() })
}

/// Reads every report in vegeta's text.
pub fn read_text(lines: &[Line<'_>]) -> Vec<Measurement> {
    let mut found: Vec<Measurement> = Vec::new();
    for (number, line) in lines {
        let Some((head, values)) = line.split_once(']') else { continue };
        let Some((key, names)) = head.split_once('[') else { continue };
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        match (key.trim(), names) {
            ("Requests", "total, rate, throughput") => {
                let mut one = Measurement::new(Tool::Vegeta, *number);
                one.load = Load::Open;
                one.requests = values.first().and_then(|text| plain(text, Rounding::Nearest)).map(|(n, _)| n);
                one.samples = one.requests.as_ref().map(|count| count.value as u64);
                one.rate = values.get(1).and_then(|text| plain(text, Rounding::Any)).map(|(rate, _)| rate);
                found.push(one);
            }
            ("Duration", _) => {
                let part = |at: usize| {
                    values.get(at).and_then(|text| time(text, Rounding::Any)).map(|(figure, _)| figure)
                };
                if let (Some(one), Some(attack)) = (found.last_mut(), part(1)) {
                    one.duration = Some(attack);
                    one.wait = part(2);
                }
            }
            ("Latencies", names) => {
                if let Some(one) = found.last_mut() {
                    times(names, &values, one);
                }
            }
            ("Success", _) => {
                let share = values.first().and_then(|text| percent(text, Rounding::Any));
                if let (Some(one), Some((share, _))) = (found.last_mut(), share) {
                    one.success_share = Some(share);
                }
            }
            _ => {}
        }
    }
    found
}

/// `[min, mean, 50, 90, 95, 99, max]`
fn times(names: &str, values: &[&str], one: &mut Measurement) {
    for (name, value) in names.split(',').zip(values) {
        let Some((mut figure, _)) = time(value, Rounding::Any) else { continue };
        match name.trim() {
            "min" => one.min = Some(figure),
            "mean" => one.mean = Some(figure),
            "max" => one.max = Some(figure),
            share => {
                let Ok(share) = share.parse::<f64>() else { continue };
                figure.range = figure.range.widened(DIGEST_ERROR);
                let name = format!("p{share}");
                one.percentiles.push(Percentile { name, share: share / 100.0, time: figure });
            }
        }
    }
}

/// One result, without its body.
#[derive(Deserialize)]
struct Attack<'a> {
    #[serde(borrow)]
    timestamp: std::borrow::Cow<'a, str>,
    #[serde(rename = "latency")]
    time_ns: u64,
    code: u16,
}

/// Whether the first line of an output is a result as JSON.
pub fn is_result(line: &[u8]) -> bool {
    serde_json::from_slice::<Attack<'_>>(line).is_ok()
}

/// Reads results as JSON lines.
///
/// # Errors
///
/// If a line is no result, or the input cannot be read.
pub fn read_results(input: impl BufRead) -> Result<Document, ReadError> {
    let mut samples = Samples::default();
    for_each_line(input, |number, line| {
        let one: Attack<'_> = serde_json::from_slice(line)
            .map_err(|error| ReadError::Damaged { line: number, what: error.to_string() })?;
        let seconds = one.time_ns as f64 / 1e9;
        samples.add(seconds, seconds_of_day(&one.timestamp).map(|start| start + seconds));
        samples.status(one.code);
        Ok(())
    })?;
    Ok(of_results(&samples))
}

/// What single results are together.
pub fn of_results(samples: &Samples) -> Document {
    let mut one = samples.measurement(Tool::Vegeta, "");
    one.load = Load::Open;
    Document { format: "vegeta results".to_owned(), measurements: vec![one], ..Document::default() }
}
