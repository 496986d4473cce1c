//! k6's summary as JSON: what `handleSummary` gets, what `--summary-export` writes, and the machine-readable form.
//!
//! Times are in ms. Does not check figures.

use serde_json::{Map, Value};

use crate::measurement::{Document, Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Range, amount};

/// Reads a summary; `None` if it is none.
pub fn read(value: &Value) -> Option<Document> {
    let mut metrics: Vec<(String, Map<String, Value>, bool)> = Vec::new();
    if let Some(list) = value.pointer("/results/metrics").and_then(Value::as_array) {
        for one in list {
            let name = one.get("name").and_then(Value::as_str);
            let values = one.get("values").and_then(Value::as_object);
            let (Some(name), Some(values)) = (name, values) else { continue };
            metrics.push((name.to_owned(), values.clone(), is_time(one)));
        }
    } else {
        for (name, one) in value.get("metrics")?.as_object()? {
            let Some(values) = one.get("values").unwrap_or(one).as_object() else { continue };
            let known = name.starts_with("http_req_") || name.starts_with("iteration_duration");
            metrics.push((name.clone(), values.clone(), is_time(one) || known));
        }
    }
    let is_k6 =
        |name: &str| matches!(name, "iterations" | "http_reqs" | "vus" | "data_sent" | "iteration_duration");
    if !metrics.iter().any(|(name, _, _)| is_k6(name)) {
        return None;
    }
    let duration = value.pointer("/state/testRunDurationMs").and_then(Value::as_f64).map(|ms| ms / 1e3);
    let duration = duration.or_else(|| value.pointer("/config/duration").and_then(Value::as_f64));
    let duration = duration.map(|seconds| json_figure(seconds, &format!("{} s", amount(seconds))));
    let measurements = measurements(&metrics, duration.as_ref());
    Some(Document { format: "k6 summary".to_owned(), measurements, ..Document::default() })
}

fn is_time(metric: &Value) -> bool {
    metric.get("contains").and_then(Value::as_str) == Some("time")
}

/// A number of a JSON document, which has about 15 digits.
fn json_figure(value: f64, text: &str) -> Figure {
    Figure { text: text.to_owned(), value, range: Range::exact(value).widened(1e-9) }
}

fn get(metrics: &[(String, Map<String, Value>, bool)], name: &str, key: &str) -> Option<Figure> {
    let (_, values, _) = metrics.iter().find(|(known, _, _)| known == name)?;
    let value = values.get(key)?.as_f64().filter(|value| *value >= 0.0)?;
    Some(json_figure(value, &amount(value)))
}

fn measurements(
    metrics: &[(String, Map<String, Value>, bool)],
    duration: Option<&Figure>,
) -> Vec<Measurement> {
    let mut found: Vec<Measurement> = Vec::new();
    for (name, values, is_time) in metrics {
        let is_counted = matches!(name.as_str(), "http_req_duration" | "iteration_duration");
        let times = if *is_time { trend(name, values) } else { None };
        // Requests without any time are still requests.
        if let Some(mut one) = times.or_else(|| is_counted.then(|| empty(name))) {
            if is_counted {
                count(metrics, duration, &mut one);
            }
            found.push(one);
        } else if let Some(relation) = share(name, values) {
            let mut one = Measurement::new(Tool::K6, 1);
            one.label.clone_from(name);
            one.relations.push(relation);
            found.push(one);
        }
    }
    found
}

/// Adds the counters that belong to a trend.
fn count(metrics: &[(String, Map<String, Value>, bool)], duration: Option<&Figure>, one: &mut Measurement) {
    let counter = if one.label == "iteration_duration" { "iterations" } else { "http_reqs" };
    one.requests = get(metrics, counter, "count");
    one.rate = get(metrics, counter, "rate");
    one.samples = one.requests.as_ref().map(|count| count.value as u64);
    one.duration = duration.cloned();
    if counter == "iterations" {
        one.connections = get(metrics, "vus_max", "max").or_else(|| get(metrics, "vus_max", "value"));
        one.dropped = get(metrics, "dropped_iterations", "count");
    }
}

fn empty(name: &str) -> Measurement {
    let mut one = Measurement::new(Tool::K6, 1);
    name.clone_into(&mut one.label);
    one.load = Load::Users;
    one
}

fn trend(name: &str, values: &Map<String, Value>) -> Option<Measurement> {
    let mut one = empty(name);
    for (key, value) in values {
        // A clock that was set back can make a time negative.
        let Some(ms) = value.as_f64().filter(|ms| *ms >= 0.0) else { continue };
        let figure = json_figure(ms / 1e3, &format!("{} ms", amount(ms)));
        match key.as_str() {
            "avg" => one.mean = Some(figure),
            "min" => one.min = Some(figure),
            "max" => one.max = Some(figure),
            "med" => one.percentiles.push(Percentile { name: "median".to_owned(), share: 0.5, time: figure }),
            _ => {
                let share = key.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
                let Some(share) = share.and_then(|text| text.parse::<f64>().ok()) else { continue };
                one.percentiles.push(Percentile {
                    name: format!("p{share}"),
                    share: share / 100.0,
                    time: figure,
                });
            }
        }
    }
    one.percentiles.sort_by(|a, b| a.share.total_cmp(&b.share));
    let has_times = one.mean.is_some() || one.min.is_some() || one.max.is_some();
    (has_times || !one.percentiles.is_empty()).then_some(one)
}

/// A rate metric: its share, and the counts behind it.
fn share(name: &str, values: &Map<String, Value>) -> Option<Relation> {
    let number = |key: &str| values.get(key).and_then(Value::as_f64).filter(|value| *value >= 0.0);
    let share = number("rate").or_else(|| number("value")).filter(|share| *share <= 1.0)?;
    let (part, whole) = match (number("passes"), number("fails"), number("matches"), number("total")) {
        (Some(passes), Some(fails), _, _) => (passes, passes + fails),
        (_, _, Some(matches), Some(total)) => (matches, total),
        _ => return None,
    };
    let named =
        |what: &str, value: f64| Named::new(format!("{name}: {what}"), json_figure(value, &amount(value)));
    Some(Relation::Share {
        part: named("part", part),
        whole: named("all", whole),
        share: named("share", share),
    })
}
