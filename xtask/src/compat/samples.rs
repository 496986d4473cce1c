//! Samples that a program wrote one by one, as lines that do not change from run to run.
//!
//! Knows the two forms of k6: JSON, one object a line, and CSV with a head. When a sample was taken, and how long
//! what it measures took, is masked; the order is an order of chance and is given up.

use serde_json::Value;

use super::outcome::{base, is_sampled, is_timed};

/// The lines of a file of samples, whichever form it has.
pub fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = if text.starts_with('{') {
        text.lines().filter_map(of_json).collect()
    } else {
        let mut lines = text.lines();
        let head = lines.next().map(str::to_owned);
        head.into_iter().chain(lines.filter_map(of_csv)).collect()
    };
    lines.sort();
    lines
}

/// A metric that is announced, or a sample.
fn of_json(line: &str) -> Option<String> {
    let Ok(entry) = serde_json::from_str::<Value>(line) else { return Some(format!("no JSON: {line}")) };
    let name = entry["metric"].as_str().unwrap_or_default();
    let data = &entry["data"];
    match entry["type"].as_str() {
        _ if is_sampled(name) => None,
        Some("Point") => {
            let value = if is_timed(name) { "#".to_owned() } else { data["value"].to_string() };
            let keys: Vec<&str> = data.as_object()?.keys().map(String::as_str).collect();
            let metadata = data.get("metadata").map(|metadata| format!(" {metadata}")).unwrap_or_default();
            Some(format!("point {name} {value} {} {}{metadata}", data["tags"], keys.join(",")))
        }
        _ => Some(format!("{} {name} {data}", entry["type"].as_str().unwrap_or("none"))),
    }
}

/// Name, time and value are the first three columns.
fn of_csv(line: &str) -> Option<String> {
    let mut columns: Vec<&str> = line.split(',').collect();
    let name = base(columns.first()?);
    if is_sampled(name) {
        return None;
    }
    let timed = is_timed(name);
    if let Some(time) = columns.get_mut(1) {
        *time = "#";
    }
    if let Some(value) = columns.get_mut(2).filter(|_| timed) {
        *value = "#";
    }
    Some(columns.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_compared_without_their_times() {
        let json = "{\"metric\":\"n\",\"type\":\"Point\",\"data\":{\"time\":\"x\",\"value\":2,\"tags\":{\"b\":\"1\",\"a\":\"2\"}}}\n\
                    {\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"x\",\"value\":1.5,\"tags\":null}}\n\
                    {\"metric\":\"vus\",\"type\":\"Point\",\"data\":{}}\n";
        assert_eq!(
            lines(json),
            [
                "point http_req_duration # null tags,time,value",
                "point n 2 {\"a\":\"2\",\"b\":\"1\"} tags,time,value"
            ]
        );
        assert_eq!(
            lines("metric_name,timestamp\nn,5,1.0,x\niteration_duration,6,2.5,\n"),
            ["iteration_duration,#,#,", "metric_name,timestamp", "n,#,1.0,x"]
        );
    }
}
