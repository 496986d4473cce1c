//! oha's JSON.
//!
//! Times are in s. Does not check figures.

use serde_json::Value;

use crate::measurement::{Bar, Document, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Range, amount, group, show_time};

/// Reads a result; `None` if it is none of oha's.
pub fn read(value: &Value) -> Option<Document> {
    let summary = value.get("summary").filter(|_| value.get("responseTimeHistogram").is_some())?;
    let mut one = Measurement::new(Tool::Oha, 1);
    let seconds = |key: &str| {
        let value = summary.get(key)?.as_f64().filter(|value| *value >= 0.0)?;
        Some(figure(value, show_time(value)))
    };
    one.duration = seconds("total");
    one.max = seconds("slowest");
    one.min = seconds("fastest");
    one.mean = seconds("average");
    one.rate = summary.get("requestsPerSec").and_then(Value::as_f64).map(|rate| figure(rate, amount(rate)));
    let success = summary.get("successRate").and_then(Value::as_f64);
    one.success_share = success.map(|share| figure(share, format!("{} %", amount(share * 100.0))));
    percentiles(value, &mut one);
    counts(value, &mut one);
    Some(Document { format: "oha JSON".to_owned(), measurements: vec![one], ..Document::default() })
}

fn figure(value: f64, text: String) -> Figure {
    Figure { text, value, range: Range::exact(value).widened(1e-9) }
}

fn percentiles(value: &Value, one: &mut Measurement) {
    for (name, time) in value.get("latencyPercentiles").and_then(Value::as_object).into_iter().flatten() {
        let share = name.strip_prefix('p').and_then(|text| text.parse::<f64>().ok());
        let (Some(share), Some(time)) = (share, time.as_f64()) else { continue };
        let time = figure(time, show_time(time));
        one.percentiles.push(Percentile { name: name.clone(), share: share / 100.0, time });
    }
    one.percentiles.sort_by(|a, b| a.share.total_cmp(&b.share));
    for (time, count) in value.get("responseTimeHistogram").and_then(Value::as_object).into_iter().flatten() {
        let (Ok(time), Some(count)) = (time.parse::<f64>(), count.as_u64()) else { continue };
        one.bars.push(Bar { time: figure(time, show_time(time)), count });
    }
    one.bars.sort_by(|a, b| a.time.value.total_cmp(&b.time.value));
}

fn counts(value: &Value, one: &mut Measurement) {
    for (code, count) in value.get("statusCodeDistribution").and_then(Value::as_object).into_iter().flatten()
    {
        if let (Ok(code), Some(count)) = (code.parse(), count.as_u64()) {
            one.statuses.push((code, count));
        }
    }
    for (words, count) in value.get("errorDistribution").and_then(Value::as_object).into_iter().flatten() {
        let count = count.as_u64().unwrap_or_default();
        one.unanswered = one.unanswered.saturating_add(count);
        if words.contains("aborted due to deadline") {
            one.cut_off = one.cut_off.saturating_add(count);
        } else if words.contains("timed out") || words.contains("timeout") {
            one.timed_out = one.timed_out.saturating_add(count);
        }
    }
    let responses = one.statuses.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    if responses == 0 {
        return;
    }
    one.samples = Some(responses);
    let words = format!("{} (sum of the status codes)", group(responses));
    one.requests = Some(Figure::exact(responses as f64, words));
    if !one.bars.is_empty() {
        let parts = one.bars.iter().map(|bar| Named::new(bar.time.text.clone(), Figure::count(bar.count)));
        let whole = Named::new("responses", Figure::count(responses));
        one.relations.push(Relation::Sum { parts: parts.collect(), whole });
    }
}
