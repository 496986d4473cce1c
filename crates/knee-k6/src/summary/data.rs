//! The object that `handleSummary` gets: k6's, field by field.
//!
//! Its thresholds have `ok`; those of the exported file are inverted, see [`super::export`].

use md5::{Digest, Md5};
use serde_json::{Map, Value, json};

use super::{Entry, Summary, trend_stats};
use crate::digest::hex;
use crate::metric::check::{Check, SEPARATOR};
use crate::metric::{GroupId, Groups, Sink};

/// Facts about the surroundings of the summary.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Whether stdout is a terminal.
    pub stdout_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_terminal: bool,
    /// Whether colours are not wanted.
    pub no_color: bool,
    /// JSON of what `setup` returned.
    pub setup_data: Option<Value>,
}

/// The whole object.
pub fn object(summary: &Summary, around: &Surroundings) -> Value {
    let metrics: Map<String, Value> =
        summary.entries().iter().map(|entry| (entry.name.clone(), metric(summary, entry))).collect();
    json!({
        "root_group": group(summary.meter.groups(), Groups::ROOT),
        "options": {
            "summaryTrendStats": summary.trend_stats,
            "summaryTimeUnit": summary.time_unit.as_deref().unwrap_or_default(),
            "noColor": around.no_color,
        },
        "state": {
            "isStdOutTTY": around.stdout_terminal,
            "isStdErrTTY": around.stderr_terminal,
            "testRunDurationMs": summary.elapsed.0 as f64 / 1e6,
        },
        "metrics": metrics,
        "setup_data": around.setup_data,
    })
}

fn metric(summary: &Summary, entry: &Entry<'_>) -> Value {
    let mut object = json!({
        "type": entry.metric.kind.to_string(),
        "contains": entry.metric.contains.to_string(),
        "values": values(summary, entry),
    });
    let thresholds = entry.judged.map(|judged| &judged.thresholds).filter(|list| !list.is_empty());
    if let Some(thresholds) = thresholds {
        let ok = thresholds.iter().map(|one| (one.source.clone(), json!({"ok": one.holds})));
        object["thresholds"] = Value::Object(ok.collect());
    }
    object
}

/// The figures of a metric by their names.
pub(super) fn values(summary: &Summary, entry: &Entry<'_>) -> Map<String, Value> {
    let pairs: Vec<(&str, Value)> = match &entry.sink {
        Sink::Counter(counter) => {
            vec![
                ("count", number(counter.sum())),
                ("rate", number(counter.per_second(summary.elapsed.as_secs_f64()))),
            ]
        }
        Sink::Gauge(gauge) => {
            vec![("value", number(gauge.value())), ("min", number(gauge.min())), ("max", number(gauge.max()))]
        }
        Sink::Rate(rate) => {
            vec![
                ("rate", number(rate.share())),
                ("passes", rate.hits().into()),
                ("fails", rate.misses().into()),
            ]
        }
        Sink::Trend(_) => {
            let values = trend_stats(&entry.sink, &summary.trend_stats);
            summary.trend_stats.iter().map(String::as_str).zip(values.into_iter().map(number)).collect()
        }
    };
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A number as JavaScript writes it: whole ones without a point. What JSON cannot say is `null`.
pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn group(groups: &Groups, id: GroupId) -> Value {
    let own = groups.group(id);
    let children: Vec<Value> = groups.children(id).into_iter().map(|child| group(groups, child)).collect();
    let checks: Vec<Value> = groups.checks(id).into_iter().map(|one| check(&own.path, one)).collect();
    json!({ "name": own.name, "path": own.path, "id": identity(&own.path), "groups": children, "checks": checks })
}

/// A check with the path of its group before its name.
pub(super) fn check(group: &str, check: &Check) -> Value {
    let path = format!("{group}{SEPARATOR}{}", check.name);
    json!({
        "name": check.name,
        "path": path,
        "id": identity(&path),
        "passes": check.passes,
        "fails": check.fails,
    })
}

/// k6 names groups and checks by the MD5 of their path.
pub(super) fn identity(path: &str) -> String {
    hex(&Md5::digest(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_object_is_that_of_k6() {
        // Types, figures and identities recorded from k6 v1.8.1, run with the samples of `sample`.
        let object = object(&sample::summary(false), &Surroundings::default());
        let metrics = &object["metrics"];
        assert_eq!(
            metrics["my_counter"],
            json!({
                "type": "counter", "contains": "default",
                "values": {"count": 7, "rate": 1_485.117_111_031_386_2},
                "thresholds": {"count>1": {"ok": true}, "count<3": {"ok": false}},
            })
        );
        assert_eq!(metrics["my_gauge"]["values"], json!({"value": 2, "min": 2, "max": 3.5}));
        assert_eq!(metrics["my_rate"]["values"], json!({"rate": 2.0 / 3.0, "passes": 2, "fails": 1}));
        assert_eq!(metrics["my_trend{a:b}"]["thresholds"]["avg<5"], json!({"ok": false}));
        assert_eq!(metrics["my_trend"]["values"]["p(95)"], json!(14.25));
        assert_eq!(metrics.get("nosamples"), None);
        let root = &object["root_group"];
        assert_eq!(root["id"], "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(root["checks"][0]["id"], "ed1afd5bef275c7bbb09879ea3e3b54f");
        let inner = &root["groups"][0]["groups"][0];
        assert_eq!(
            (&inner["path"], &inner["id"]),
            (&json!("::G::H"), &json!("3308a7d6d9496d9cefd0934be7d3a0ba"))
        );
        assert_eq!(inner["checks"][0]["id"], "6485239398d9e4f557c229e120050632");
        assert_eq!(object["state"]["testRunDurationMs"], json!(4.713_433));
        assert_eq!(object["setup_data"], Value::Null);
    }
}
