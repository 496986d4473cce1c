//! What came of a case under one program, as lists of lines that can be compared and kept.
//!
//! Nothing that changes from run to run is in it: no times, no rates per second, no bytes of the wire.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::Case;

/// Metrics whose values are times or bytes: that they are there is all that is compared.
const TIMED: [&str; 15] = [
    "data_received",
    "data_sent",
    "group_duration",
    "grpc_req_duration",
    "http_req_blocked",
    "http_req_connecting",
    "http_req_duration",
    "http_req_receiving",
    "http_req_sending",
    "http_req_tls_handshaking",
    "http_req_waiting",
    "iteration_duration",
    "ws_connecting",
    "ws_ping",
    "ws_session_duration",
];

/// Metrics that are sampled once a second: a short run has them or not.
const SAMPLED: [&str; 2] = ["vus", "vus_max"];

/// What came of a case: lines by what they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outcome(pub BTreeMap<String, Vec<String>>);

impl Outcome {
    /// Adds lines about `part`; none leave no trace.
    pub fn add(&mut self, part: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.0.insert(part.to_owned(), lines);
        }
    }

    /// Adds what a file of `--summary-export` says.
    pub fn add_summary(&mut self, case: &Case, summary: &Value) {
        self.add("metrics", metrics(case, summary));
        self.add("thresholds", thresholds(summary));
        let mut checks = Vec::new();
        group(&summary["root_group"], &mut checks);
        self.add("checks", checks);
        if let Some(data) = summary.get("setup_data").filter(|data| !data.is_null()) {
            self.add("setup", vec![data.to_string()]);
        }
    }
}

/// One line a metric, by name.
fn metrics(case: &Case, summary: &Value) -> Vec<String> {
    let metrics = summary["metrics"].as_object().into_iter().flatten();
    let left_out: BTreeSet<&str> = SAMPLED.into_iter().filter(|name| !case.keep.contains(*name)).collect();
    let kept = metrics.filter(|(name, _)| !left_out.contains(base(name)));
    let mut lines: Vec<String> = kept.map(|(name, values)| metric(case, name, values)).collect();
    lines.sort();
    lines
}

fn metric(case: &Case, name: &str, values: &Value) -> String {
    let only_name = is_timed(base(name)) || case.loose.contains(base(name));
    let mut shown: Vec<String> = values
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !only_name && !is_per_second(values, key))
        .filter_map(|(key, value)| Some(format!("{key}={}", number(value.as_f64()?))))
        .collect();
    shown.sort();
    [vec![name.to_owned()], shown].concat().join(" ")
}

/// A counter's `rate` is per second; no other metric has both.
fn is_per_second(values: &Value, key: &str) -> bool {
    key == "rate" && values.get("count").is_some()
}

/// Six decimals: two programs can add in different orders.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Whether the values of a metric are times or bytes.
pub fn is_timed(name: &str) -> bool {
    TIMED.contains(&name)
}

/// Whether a metric comes with time and not with what is done.
pub fn is_sampled(name: &str) -> bool {
    SAMPLED.contains(&name)
}

/// A metric's name without its filter.
pub fn base(name: &str) -> &str {
    name.split_once('{').map_or(name, |(base, _)| base)
}

/// `metric: expression ok` or `crossed`. The export says `true` of what was crossed.
fn thresholds(summary: &Value) -> Vec<String> {
    let metrics = summary["metrics"].as_object().into_iter().flatten();
    let mut lines: Vec<String> = metrics
        .flat_map(|(name, values)| {
            let of_metric = values["thresholds"].as_object().into_iter().flatten();
            of_metric.map(move |(expression, crossed)| {
                let ending = if crossed == &Value::Bool(true) { "crossed" } else { "ok" };
                format!("{name}: {expression} {ending}")
            })
        })
        .collect();
    lines.sort();
    lines
}

/// Groups and their checks, in the order of their paths.
fn group(group: &Value, lines: &mut Vec<String>) {
    let named = |key: &str| group[key].as_object().into_iter().flatten();
    let mut checks: Vec<String> = named("checks")
        .map(|(_, check)| {
            let path = check["path"].as_str().unwrap_or_default();
            format!("{path} passes={} fails={}", check["passes"], check["fails"])
        })
        .collect();
    checks.sort();
    lines.append(&mut checks);
    let mut groups: Vec<(&String, &Value)> = named("groups").collect();
    groups.sort_by_key(|(name, _)| *name);
    for (_, inner) in groups {
        lines.push(format!("{} (group)", inner["path"].as_str().unwrap_or_default()));
        self::group(inner, lines);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(case: &Case, summary: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.add_summary(case, summary);
        outcome
    }

    #[test]
    fn counts_are_compared_and_times_are_not() {
        let summary = json!({ "metrics": {
            "http_reqs": { "count": 2, "rate": 17.3 },
            "http_req_duration": { "avg": 1.5 },
            "mine{a:b}": { "avg": 0.1, "p(95)": 3 },
            "checks": { "passes": 1, "fails": 0, "value": 1 },
            "vus": { "value": 1, "min": 1, "max": 1 },
        }});
        let lines = &outcome(&Case::default(), &summary).0["metrics"];
        let expected = [
            "checks fails=0 passes=1 value=1",
            "http_req_duration",
            "http_reqs count=2",
            "mine{a:b} avg=0.1 p(95)=3",
        ];
        assert_eq!(lines, &expected);
    }

    #[test]
    fn a_case_says_which_values_are_loose_and_which_metrics_are_kept() {
        let summary = json!({ "metrics": { "n": { "count": 2 }, "vus": { "value": 1 } } });
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let case = Case { loose: set("n"), keep: set("vus"), ..Case::default() };
        assert_eq!(outcome(&case, &summary).0["metrics"], ["n", "vus value=1"]);
    }

    #[test]
    fn a_threshold_that_the_export_calls_true_was_crossed() {
        let summary = json!({ "metrics": { "n": { "count": 2, "thresholds": { "count>1": false, "count>2": true } } } });
        assert_eq!(
            outcome(&Case::default(), &summary).0["thresholds"],
            ["n: count>1 ok", "n: count>2 crossed"]
        );
    }

    #[test]
    fn checks_carry_the_path_of_their_groups() {
        let inner = json!({ "path": "::g", "groups": {}, "checks": { "c": { "path": "::g::c", "passes": 1, "fails": 2 } } });
        let summary = json!({ "root_group": { "checks": {}, "groups": { "g": inner } } });
        assert_eq!(
            outcome(&Case::default(), &summary).0["checks"],
            ["::g (group)", "::g::c passes=1 fails=2"]
        );
    }
}
