//! What an endpoint gets, by the names and figures of k6, and what happens if it does not take it.

use std::sync::{Arc, Mutex};

use knee_core::unit::Nanos;
use prost::Message as _;

use super::super::batch::{Batch, TagList};
use super::super::test_server::{Request, TestServer};
use super::super::{Settings, Target, Writer};
use super::config::{Config, Stat};
use super::message::{TimeSeries, WriteRequest};
use super::series::SeriesSet;
use crate::metric::{BuiltIn, Contains, Kind, MetricId, Registry};
use crate::observe::system_tags::SystemTags;

fn config(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let find = |name: &str| {
        let name = name.strip_prefix("K6_PROMETHEUS_RW_")?;
        pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Config::from_env(&find)
}

fn tags(pairs: &[(&str, &str)]) -> Arc<TagList> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Arc::new(TagList::new(pairs.collect::<Vec<_>>()))
}

fn add(batch: &mut Batch, at: u64, pairs: &[(&str, &str)], samples: &[(MetricId, f64)]) {
    let tags = batch.list(tags(pairs));
    batch.push(Nanos::from_millis(at), tags, None, samples.iter().copied());
}

/// A series as a line: `name{label=value} value @ time`.
fn line(series: &TimeSeries) -> String {
    let labels: Vec<_> =
        series.labels.iter().map(|label| format!("{}={}", label.name, label.value)).collect();
    let values = series.samples.iter().map(|sample| format!("{} @ {}", sample.value, sample.timestamp));
    let histograms = series.histograms.iter().map(|one| format!("{:?} of {}", one.count, one.sum));
    format!("{} {}", labels.join(","), values.chain(histograms).collect::<Vec<_>>().join(" "))
}

fn lines(message: &WriteRequest) -> Vec<String> {
    let mut lines: Vec<_> = message.series.iter().map(line).collect();
    lines.sort();
    lines
}

fn built_in(metric: BuiltIn) -> MetricId {
    metric.id()
}

#[test]
fn a_series_has_the_names_the_units_and_the_sums_that_k6_sends() {
    let metrics = Arc::new(Registry::default());
    let own = metrics.declare("own", Kind::Gauge, Contains::Default).unwrap();
    let stats = config(&[("TREND_STATS", "p(99.9),avg,min,max,med,count,sum")]).unwrap().stats;
    let mut series = SeriesSet::new(metrics, stats, false);
    let mut batch = Batch::default();
    let ok = [("status", "200"), ("empty", "")];
    let [reqs, duration, failed] =
        [BuiltIn::HttpReqs, BuiltIn::HttpReqDuration, BuiltIn::HttpReqFailed].map(built_in);
    add(&mut batch, 1_000, &ok, &[(reqs, 1.0), (duration, 100.0), (failed, 0.0), (own, 7.0)]);
    add(&mut batch, 2_000, &ok, &[(reqs, 1.0), (duration, 300.0), (failed, 1.0), (own, 5.0)]);
    add(&mut batch, 2_000, &[("status", "500")], &[(reqs, 1.0)]);
    series.add(&batch);
    let message = series.message().unwrap();
    assert_eq!(
        lines(&message),
        [
            "__name__=k6_http_req_duration_avg,status=200 0.2 @ 2000",
            "__name__=k6_http_req_duration_count,status=200 2 @ 2000",
            "__name__=k6_http_req_duration_max,status=200 0.3 @ 2000",
            "__name__=k6_http_req_duration_med,status=200 0.2 @ 2000",
            "__name__=k6_http_req_duration_min,status=200 0.1 @ 2000",
            "__name__=k6_http_req_duration_p999,status=200 0.2998 @ 2000",
            "__name__=k6_http_req_duration_sum,status=200 0.4 @ 2000",
            "__name__=k6_http_req_failed_rate,status=200 0.5 @ 2000",
            "__name__=k6_http_reqs_total,status=200 2 @ 2000",
            "__name__=k6_http_reqs_total,status=500 1 @ 2000",
            "__name__=k6_own,status=200 5 @ 2000",
        ]
    );
    assert!(series.message().is_none(), "nothing has changed");
    let mut batch = Batch::default();
    add(&mut batch, 3_000, &ok, &[(reqs, 1.0)]);
    series.add(&batch);
    assert_eq!(lines(&series.message().unwrap()), ["__name__=k6_http_reqs_total,status=200 3 @ 3000"]);
    series.repeat(5_000);
    let all = series.message().unwrap();
    assert_eq!(all.series.len(), 11, "also those that have not changed");
    assert!(
        all.series.iter().all(|one| one.samples[0].timestamp == 5_000),
        "they hold at the time of the message"
    );
    series.add(&batch);
    let late = lines(&series.message().unwrap());
    assert_eq!(late, ["__name__=k6_http_reqs_total,status=200 4 @ 5001"], "no two values of one moment");
    let stale = series.stale(9_000).unwrap();
    assert_eq!(stale.series.len(), 11);
    assert!(stale.series.iter().all(|one| one.samples[0].value.is_nan()));
    assert!(stale.series.iter().all(|one| one.samples[0].timestamp == 9_001));
}

#[test]
fn trends_can_be_native_histograms_in_seconds() {
    let mut series = SeriesSet::new(Arc::new(Registry::default()), Vec::new(), true);
    let mut batch = Batch::default();
    add(&mut batch, 5, &[], &[(built_in(BuiltIn::HttpReqDuration), 500.0)]);
    series.add(&batch);
    let message = series.message().unwrap();
    assert_eq!(lines(&message), ["__name__=k6_http_req_duration_seconds Some(1) of 0.5"]);
}

#[test]
fn settings_come_from_the_variables_of_k6_and_errors_name_them() {
    let plain = config(&[]).unwrap();
    assert_eq!((plain.url.as_str(), plain.interval.as_secs()), ("http://localhost:9090/api/v1/write", 5));
    assert_eq!(plain.stats, [Stat::Percentile("99".to_owned())]);
    let pairs = [("USERNAME", "ann"), ("PASSWORD", "x"), ("HTTP_HEADERS", "X-Scope:one,b: two")];
    let headers = config(&pairs).unwrap().headers;
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [header("authorization", "Basic YW5uOng="), header("x-scope", "one"), header("b", "two")];
    assert_eq!(headers, expected);
    let token = config(&[pairs[0], ("BEARER_TOKEN", "t")]).unwrap().headers;
    assert_eq!(token, [header("authorization", "Bearer t")]);
    for (name, value, words) in [
        (
            "SERVER_URL",
            "localhost",
            "K6_PROMETHEUS_RW_SERVER_URL is `localhost`, which is no URL of http or https",
        ),
        ("PUSH_INTERVAL", "0s", "K6_PROMETHEUS_RW_PUSH_INTERVAL is `0s`, not a duration from 1ms to 1h"),
        ("STALE_MARKERS", "yes", "K6_PROMETHEUS_RW_STALE_MARKERS is `yes`, not true or false"),
        ("HTTP_HEADERS", "a", "`a` in K6_PROMETHEUS_RW_HTTP_HEADERS has no colon"),
        ("SIGV4_REGION", "eu", "K6_PROMETHEUS_RW_SIGV4_REGION is not supported"),
        (
            "TREND_STATS",
            "p(101)",
            "`p(101)` in K6_PROMETHEUS_RW_TREND_STATS is none of avg, min, med, max, count, sum and p(N)",
        ),
    ] {
        assert_eq!(config(&[(name, value)]), Err(words.to_owned()));
    }
}

/// The pushes that a server got.
fn pushes(server: &TestServer) -> Vec<(Request, WriteRequest)> {
    let read = |request: Request| {
        let plain = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
        (request, WriteRequest::decode(&plain[..]).unwrap())
    };
    server.requests("", 0).into_iter().map(read).collect()
}

fn url(server: &TestServer) -> String {
    format!("http://{}/api/v1/write", server.address)
}

/// Sends batches to an endpoint; what was said meanwhile, and the warning at the end.
fn sent_to(url: &str, more: &[(&str, &str)], batches: u64) -> (Vec<String>, Option<String>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let settings = Settings {
        targets: vec![Target::RemoteWrite(config(&[&[("SERVER_URL", url)], more].concat()).unwrap())],
        metrics: Arc::new(Registry::default()),
        thresholds: std::collections::BTreeMap::default(),
        system_tags: SystemTags::default(),
        say: Arc::new(move |words: &str| heard.lock().unwrap().push(words.to_owned())),
    };
    let (writer, outlet) = Writer::start(&settings).unwrap();
    for at in 1..=batches {
        let mut batch = Batch::default();
        add(&mut batch, at, &[("status", "200")], &[(built_in(BuiltIn::HttpReqs), 1.0)]);
        outlet.send(batch);
    }
    drop(outlet);
    let warning = writer.finish();
    let said = said.lock().unwrap().clone();
    (said, warning)
}

#[test]
fn an_endpoint_gets_the_sums_of_the_whole_run_at_its_end_and_then_the_markers() {
    let server = TestServer::start(204, "");
    let (said, warning) =
        sent_to(&url(&server), &[("STALE_MARKERS", "true"), ("BEARER_TOKEN", "secret")], 20);
    assert_eq!((said, warning), (Vec::new(), None));
    let pushes = pushes(&server);
    let (request, first) = &pushes[0];
    assert_eq!(lines(first), ["__name__=k6_http_reqs_total,status=200 20 @ 20"]);
    assert_eq!(request.line, "POST /api/v1/write HTTP/1.1\r\n");
    for line in [
        "content-encoding: snappy",
        "content-type: application/x-protobuf",
        "x-prometheus-remote-write-version: 0.1.0",
        "authorization: bearer secret",
    ] {
        assert!(request.headers.contains(line), "{}", request.headers);
    }
    assert!(pushes[1].1.series[0].samples[0].value.is_nan());
}

#[test]
fn an_endpoint_that_refuses_is_named_once_while_the_load_runs_and_counted_at_the_end() {
    let server = TestServer::start(500, "");
    let url = url(&server);
    let (said, warning) = sent_to(&url, &[("STALE_MARKERS", "true")], 3);
    assert_eq!(pushes(&server).len(), 2);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with(&format!("cannot send series to {url}: ")), "{said:?}");
    let words =
        "2 of 2 pushes to Prometheus failed, the first one with: the endpoint answered with status 500";
    assert_eq!(warning.as_deref(), Some(words));
}

#[test]
fn an_endpoint_that_is_not_there_does_not_end_the_run() {
    let (said, warning) = sent_to("http://127.0.0.1:1/write", &[], 3);
    assert_eq!(said.len(), 1);
    assert!(warning.unwrap().starts_with("1 of 1 pushes to Prometheus failed"));
}
