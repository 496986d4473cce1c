//! Understands the text format of Prometheus, version 0.0.4, and `OpenMetrics` as far as it is the same.
//!
//! Pure. A line that cannot be understood is passed over. Source of the format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::collections::BTreeMap;

use knee_core::observation::{FigureUnit, SeriesKind};

/// One sample of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) name: String,
    /// `name="value"` of every label, sorted, with commas between them.
    pub(super) labels: String,
    pub(super) unit: FigureUnit,
    pub(super) kind: SeriesKind,
    /// Finite.
    pub(super) value: f64,
}

/// The samples of a page, in their order.
pub(super) fn samples(text: &str) -> Vec<Sample> {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut samples = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if words.next() == Some("TYPE")
                && let Some((name, kind)) = words.next().zip(words.next())
            {
                types.insert(name, kind);
            }
            continue;
        }
        samples.extend(sample(line, &types));
    }
    samples
}

fn sample(line: &str, types: &BTreeMap<&str, &str>) -> Option<Sample> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (String::new(), rest),
    };
    let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    value.is_finite().then(|| Sample {
        name: name.to_owned(),
        labels,
        unit: unit(name),
        kind: kind(name, types),
        value,
    })
}

/// The labels up to the closing brace, and what follows it.
fn labels(text: &str) -> Option<(String, &str)> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            pairs.sort_unstable();
            return Some((pairs.join(","), behind));
        }
        let (name, behind) = rest.split_once('=')?;
        let value = behind.trim_start().strip_prefix('"')?;
        let end = value_end(value)?;
        pairs.push(format!("{}=\"{}\"", name.trim(), &value[..end]));
        rest = value[end + 1..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

/// Where a value of a label ends: at a quote that no backslash escapes.
fn value_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(place),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

fn kind(name: &str, types: &BTreeMap<&str, &str>) -> SeriesKind {
    let of = |name: &str| types.get(name).copied();
    let family = ["_bucket", "_sum", "_count", "_total"].iter().find_map(|end| name.strip_suffix(end));
    let is_counter = match (of(name), family.and_then(of)) {
        (Some("counter"), _) | (_, Some("counter")) => true,
        (None, Some("histogram" | "summary")) => !matches!(name.rsplit_once('_'), Some((_, "total"))),
        // A page without types: the name says it.
        (None, None) => name.ends_with("_total"),
        _ => false,
    };
    if is_counter { SeriesKind::Counter } else { SeriesKind::Gauge }
}

fn unit(name: &str) -> FigureUnit {
    if name.ends_with("_bucket") || name.ends_with("_count") {
        return FigureUnit::Count;
    }
    let base = ["_total", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    match base.rsplit('_').next() {
        Some("seconds") => FigureUnit::Seconds,
        Some("bytes") => FigureUnit::Bytes,
        _ => FigureUnit::Count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"
# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{ code = "400" , method="a,\"}b" , } 3
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 2.5e+07
# TYPE rpc_duration_seconds summary
rpc_duration_seconds{quantile="0.5"} 0.25
rpc_duration_seconds_sum 17.5
rpc_duration_seconds_count 2693
# TYPE wait_seconds histogram
wait_seconds_bucket{le="+Inf"} 7
odd NaN
broken{a="1 5
0bad 1
plain_total 4
jobs 5
# EOF
"#;

    fn found(name: &str, labels: &str) -> Option<(FigureUnit, SeriesKind, f64)> {
        let all = samples(PAGE);
        let one = all.into_iter().find(|sample| sample.name == name && sample.labels == labels)?;
        Some((one.unit, one.kind, one.value))
    }

    #[test]
    fn samples_have_their_kind_unit_and_sorted_labels() {
        use FigureUnit::{Bytes, Count, Seconds};
        use SeriesKind::{Counter, Gauge};
        let requests = "http_requests_total";
        assert_eq!(found(requests, "code=\"200\",method=\"post\""), Some((Count, Counter, 1027.0)));
        assert_eq!(found(requests, "code=\"400\",method=\"a,\\\"}b\""), Some((Count, Counter, 3.0)));
        assert_eq!(found("process_resident_memory_bytes", ""), Some((Bytes, Gauge, 2.5e7)));
        assert_eq!(found("rpc_duration_seconds", "quantile=\"0.5\""), Some((Seconds, Gauge, 0.25)));
        assert_eq!(found("rpc_duration_seconds_sum", ""), Some((Seconds, Counter, 17.5)));
        assert_eq!(found("rpc_duration_seconds_count", ""), Some((Count, Counter, 2693.0)));
        assert_eq!(found("wait_seconds_bucket", "le=\"+Inf\""), Some((Count, Counter, 7.0)));
        assert_eq!(found("plain_total", ""), Some((Count, Counter, 4.0)));
        assert_eq!(found("jobs", ""), Some((Count, Gauge, 5.0)));
        assert_eq!(samples(PAGE).len(), 9, "without the broken ones and the one that is no number");
    }

    #[test]
    fn the_page_of_a_service_with_knee_sqlite_has_its_statements_as_labels() {
        let watch = knee_sqlite::Watch::new();
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        watch.connection(&mut connection, std::time::Duration::from_secs(1)).unwrap();
        connection.execute_batch("CREATE TABLE \"a\" (id INTEGER)").unwrap();
        connection.execute("INSERT INTO \"a\" VALUES (7)", []).unwrap();
        let samples = samples(&watch.page());
        let found = |name: &str, labels: &str| {
            let one = samples.iter().find(|sample| sample.name == name && sample.labels == labels)?;
            Some((one.unit, one.kind, one.value))
        };
        let calls = found("knee_sqlite_statement_calls_total", r#"statement="INSERT INTO \"a\" VALUES (?)""#);
        assert_eq!(calls, Some((FigureUnit::Count, SeriesKind::Counter, 1.0)));
        let wait = found("knee_sqlite_busy_wait_seconds_total", "");
        assert_eq!(wait, Some((FigureUnit::Seconds, SeriesKind::Counter, 0.0)));
        let connections = found("knee_sqlite_connections", "");
        assert_eq!(connections, Some((FigureUnit::Count, SeriesKind::Gauge, 1.0)));
        let longest = format!("SELECT {}", "\"id\", ".repeat(200));
        let _ = connection.prepare(&format!("{longest} 1 FROM a")).unwrap().exists([]).unwrap();
        assert!(samples_fit(&watch.page()), "an observer cuts longer labels, and takes two for one");
    }

    /// Whether an observer keeps every label as it is.
    fn samples_fit(page: &str) -> bool {
        samples(page).iter().all(|sample| crate::text::label(&sample.labels) == sample.labels)
    }

    proptest::proptest! {
        #[test]
        fn no_page_makes_it_fail(text in "[ -~\n{}\"=,\\\\é]{0,300}") {
            proptest::prop_assert!(samples(&text).iter().all(|sample| sample.value.is_finite()));
        }
    }
}
