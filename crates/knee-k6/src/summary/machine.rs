//! The file of `--summary-export` with `--new-machine-readable-summary`: k6's newer form.
//!
//! Has no thresholds, as in k6. Its trends have six figures whatever the options say.

use serde_json::{Map, Value, json};

use super::data::number;
use super::{Entry, Summary, trend_stats};
use crate::metric::Sink;

/// Facts about the surroundings of the summary.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// The source of the script.
    pub script: &'a str,
    /// Date and time, as RFC 3339 writes them.
    pub generated_at: &'a str,
    /// Name and version of this program.
    pub version: &'a str,
}

/// The whole file.
pub fn object(summary: &Summary, around: &Surroundings<'_>) -> Value {
    let metrics: Vec<Value> = summary
        .entries()
        .iter()
        .filter(|entry| !matches!(entry.metric.name.as_str(), "checks" | "group_duration"))
        .map(metric)
        .collect();
    json!({
        "version": "1.0.0",
        "metadata": { "generated_at": around.generated_at, "k6_version": around.version },
        "config": {
            "script": around.script,
            "duration": summary.elapsed.0 as f64 / 1e9,
            "execution": "local",
        },
        "results": { "checks": checks(summary), "metrics": metrics },
    })
}

fn metric(entry: &Entry<'_>) -> Value {
    json!({
        "name": entry.name,
        "type": entry.metric.kind.to_string(),
        "contains": entry.metric.contains.to_string(),
        "values": values(&entry.sink),
    })
}

fn values(sink: &Sink) -> Map<String, Value> {
    let named = |pairs: &[(&str, f64)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect()
    };
    match sink {
        Sink::Counter(counter) => named(&[("count", counter.sum())]),
        Sink::Gauge(gauge) => named(&[("value", gauge.value()), ("min", gauge.min()), ("max", gauge.max())]),
        Sink::Rate(rate) => share(rate.hits(), rate.total()),
        Sink::Trend(_) => {
            let stats = ["avg", "min", "med", "max", "p(90)", "p(95)"].map(str::to_owned);
            let values = trend_stats(sink, &stats);
            let keys = ["avg", "min", "med", "max", "p90", "p95"];
            keys.iter().zip(values).map(|(name, value)| ((*name).to_owned(), number(value))).collect()
        }
    }
}

fn share(matches: u64, total: u64) -> Map<String, Value> {
    let rate = if total == 0 { 0.0 } else { matches as f64 / total as f64 };
    Map::from_iter([
        ("rate".to_owned(), number(rate)),
        ("matches".to_owned(), matches.into()),
        ("total".to_owned(), total.into()),
    ])
}

fn checks(summary: &Summary) -> Value {
    let (passes, fails) = summary.rate_of_checks();
    let total = passes + fails;
    if total == 0 {
        return Value::Null;
    }
    let metric = |name: &str, kind: &str, values: Value| json!({ "name": name, "type": kind, "contains": "default", "values": values });
    let results: Vec<Value> = summary
        .meter
        .groups()
        .all_checks()
        .iter()
        .map(|check| json!({ "name": check.name, "passes": check.passes, "fails": check.fails }))
        .collect();
    json!({
        "metrics": [
            metric("checks_total", "counter", json!({ "count": total })),
            metric("checks_failed", "rate", Value::Object(share(fails, total))),
            metric("checks_succeeded", "rate", Value::Object(share(passes, total))),
        ],
        "results": results,
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn metrics_and_checks_are_lists() {
        // Recorded from k6 v1.8.1, run with the samples of `sample`.
        let around = Surroundings { script: "// source", generated_at: "2026-11-21T13:51:53Z", version: "x" };
        let object = object(&sample::summary(false), &around);
        assert_eq!(
            object["config"],
            json!({"script": "// source", "duration": 0.004_713_433, "execution": "local"})
        );
        let checks = &object["results"]["checks"];
        assert_eq!(checks["metrics"][1]["values"], json!({"matches": 2, "rate": 0.5, "total": 4}));
        assert_eq!(checks["results"][1], json!({"name": "two", "passes": 0, "fails": 1}));
        let metrics = object["results"]["metrics"].as_array().unwrap();
        let find = |name: &str| metrics.iter().find(|metric| metric["name"] == name);
        assert_eq!(find("my_rate").unwrap()["values"], json!({"matches": 2, "rate": 2.0 / 3.0, "total": 3}));
        assert_eq!(find("my_trend{a:b}").unwrap()["values"]["p90"], json!(12.3));
        assert!(find("checks").is_none() && find("group_duration").is_none());
    }
}
