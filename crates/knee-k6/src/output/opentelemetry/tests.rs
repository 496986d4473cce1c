//! What an endpoint gets, by the names and settings of k6, and what happens if it does not take it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use knee_core::unit::Nanos;
use prost::Message as _;

use super::super::batch::{Batch, TagList};
use super::super::test_server::TestServer;
use super::super::{Settings, Target, Writer};
use super::config::{Config, Endpoint};
use super::message::{AnyValue, Data, ExportRequest, ExportResponse, KeyValue, Number, PartialSuccess};
use super::series::SeriesSet;
use crate::metric::{BuiltIn, Contains, Kind, MetricId, Registry};
use crate::observe::system_tags::SystemTags;

mod grpc_server;

fn config(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let find =
        |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Config::from_env(&find)
}

fn add(batch: &mut Batch, pairs: &[(&str, &str)], samples: &[(MetricId, f64)]) {
    let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let tags = batch.list(Arc::new(TagList::new(owned.collect::<Vec<_>>())));
    batch.push(Nanos::from_millis(1), tags, None, samples.iter().copied());
}

fn words(attributes: &[KeyValue]) -> String {
    let text =
        |value: &Option<AnyValue>| value.as_ref().and_then(|value| value.text.clone()).unwrap_or_default();
    let words: Vec<_> = attributes.iter().map(|one| format!("{}={}", one.key, text(&one.value))).collect();
    words.join(",")
}

/// A line for each point: `name unit {attributes} value`.
fn lines(message: &ExportRequest) -> Vec<String> {
    let mut lines = Vec::new();
    for metric in &message.resource_metrics[0].scope_metrics[0].metrics {
        let head = format!("{} {}", metric.name, metric.unit);
        match metric.data.as_ref().unwrap() {
            Data::Histogram(histogram) => {
                assert_eq!(histogram.temporality, 2);
                for point in &histogram.points {
                    let (min, max) = (point.min.unwrap(), point.max.unwrap());
                    let counts = format!("{:?} of {} from {min} to {max}", point.counts, point.sum.unwrap());
                    lines.push(format!("{head} {{{}}} {counts}", words(&point.attributes)));
                }
            }
            Data::Sum(sum) => {
                assert_eq!((sum.temporality, sum.is_monotonic), (2, true));
                lines.extend(sum.points.iter().map(|point| number(&head, point)));
            }
            Data::Gauge(gauge) => lines.extend(gauge.points.iter().map(|point| number(&head, point))),
        }
    }
    lines
}

fn number(head: &str, point: &super::message::NumberPoint) -> String {
    assert_eq!((point.start, point.at), (7, 9));
    let value = match point.value.unwrap() {
        Number::Double(value) => format!("{value:?}"),
        Number::Int(value) => value.to_string(),
    };
    format!("{head} {{{}}} {value}", words(&point.attributes))
}

/// The message after some samples of each kind, and how many of them have no name that is permitted.
fn message(pairs: &[(&str, &str)]) -> (Vec<String>, u64) {
    let metrics = Arc::new(Registry::default());
    let own = metrics.declare("own", Kind::Gauge, Contains::Default).unwrap();
    let hidden = metrics.declare("_hidden", Kind::Counter, Contains::Default).unwrap();
    let mut series = SeriesSet::new(metrics, &config(pairs).unwrap(), 7);
    assert!(series.message(9).is_none());
    let [reqs, duration, failed, sent] =
        [BuiltIn::HttpReqs, BuiltIn::HttpReqDuration, BuiltIn::HttpReqFailed, BuiltIn::DataSent]
            .map(BuiltIn::id);
    let ok = [("condition", "mine"), ("empty", ""), ("status", "200")];
    let mut batch = Batch::default();
    add(&mut batch, &ok, &[(reqs, 1.0), (duration, 5.0), (failed, 0.0), (own, 7.0), (hidden, 1.0)]);
    add(&mut batch, &ok, &[(reqs, 1.0), (duration, 5.1), (failed, 1.0), (own, 5.0)]);
    add(&mut batch, &ok, &[(duration, -1.0), (duration, 0.0), (duration, 10_000.0), (duration, 20_000.0)]);
    add(&mut batch, &[], &[(failed, 0.5), (sent, 99.0)]);
    series.add(&batch);
    assert_eq!(series.lost(), 0);
    (lines(&series.message(9).unwrap()), series.unnamed())
}

#[test]
fn a_series_has_the_names_the_units_and_the_sums_that_k6_sends() {
    let expected = [
        "t._hidden  {condition=mine,status=200} 1.0",
        "t.data_sent By {} 99.0",
        "t.http_req_duration ms {condition=mine,status=200} [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1] of 30009.1 from -1 to 20000",
        "t.http_req_failed.total  {condition=nonzero,status=200} 1",
        "t.http_req_failed.total  {condition=nonzero} 1",
        "t.http_req_failed.total  {condition=zero,status=200} 1",
        "t.http_reqs  {condition=mine,status=200} 2.0",
        "t.own  {condition=mine,status=200} 5.0",
    ];
    let (mut found, unnamed) = message(&[("K6_OTEL_METRIC_PREFIX", "t.")]);
    found.sort();
    assert_eq!((found, unnamed), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn a_rate_can_be_two_counters_as_in_older_versions_of_k6() {
    let (found, unnamed) = message(&[("K6_OTEL_SINGLE_COUNTER_FOR_RATE", "false")]);
    assert_eq!(unnamed, 1, "a name that begins with an underscore");
    let rates: Vec<_> = found.iter().filter(|line| line.starts_with("http_req_failed")).collect();
    assert_eq!(
        rates,
        [
            "http_req_failed.occurred  {condition=mine,status=200} 1",
            "http_req_failed.occurred  {} 1",
            "http_req_failed.total  {condition=mine,status=200} 2",
            "http_req_failed.total  {} 1",
        ]
    );
}

#[test]
fn settings_come_from_the_variables_of_k6() {
    let plain = config(&[]).unwrap();
    assert_eq!(plain.endpoint, Endpoint::Grpc { address: "localhost:4317".to_owned(), plain: false });
    assert_eq!((plain.interval, plain.single_counter), (Duration::from_secs(10), true));
    let resource = |config: &Config, name: &str| -> String {
        config.resource.iter().find(|(known, _)| known == name).unwrap().1.clone()
    };
    assert_eq!(resource(&plain, "service.name"), "k6");
    let other = config(&[
        ("K6_OTEL_EXPORTER_TYPE", "http"),
        ("K6_OTEL_HTTP_EXPORTER_URL_PATH", "x/y"),
        ("K6_OTEL_HEADERS", "X-A=b%20c,y=2"),
        ("K6_OTEL_EXPORT_INTERVAL", "2s"),
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb,service.name=other,none"),
    ])
    .unwrap();
    assert_eq!(other.endpoint, Endpoint::Http("https://localhost:4318/x/y".to_owned()));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(other.headers, [header("x-a", "b c"), header("y", "2")]);
    assert_eq!(other.interval, Duration::from_secs(2));
    assert_eq!(
        (resource(&other, "service.name"), resource(&other, "team")),
        ("shop".to_owned(), "a,b".to_owned())
    );
    let both = [("K6_OTEL_EXPORTER_TYPE", "http"), ("K6_OTEL_EXPORTER_PROTOCOL", "grpc")];
    assert!(matches!(config(&both).unwrap().endpoint, Endpoint::Grpc { .. }));
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    for (pairs, words) in [
        (
            &[("K6_OTEL_EXPORTER_PROTOCOL", "http/json")][..],
            "K6_OTEL_EXPORTER_PROTOCOL is `http/json`, not `grpc` or `http/protobuf`",
        ),
        (
            &[("K6_OTEL_GRPC_EXPORTER_ENDPOINT", "http://a:1")],
            "K6_OTEL_GRPC_EXPORTER_ENDPOINT is `http://a:1`, not a host with a port, such as `localhost:4318`",
        ),
        (
            &[("K6_OTEL_GRPC_EXPORTER_ENDPOINT", "[::1]")],
            "K6_OTEL_GRPC_EXPORTER_ENDPOINT is `[::1]`, not a host with a port, such as `localhost:4318`",
        ),
        (
            &[("K6_OTEL_HEADERS", "a")],
            "K6_OTEL_HEADERS is not a list of headers, such as `name=value,name=value`",
        ),
        (&[("K6_OTEL_FLUSH_INTERVAL", "x")], "K6_OTEL_FLUSH_INTERVAL is `x`, not a duration from 1ms to 1h"),
        (
            &[("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")],
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is `delta`; only `cumulative` is supported",
        ),
        (
            &[
                ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf"),
                ("K6_OTEL_HTTP_EXPORTER_INSECURE", "true"),
                ("K6_OTEL_TLS_INSECURE_SKIP_VERIFY", "true"),
            ],
            "K6_OTEL_HTTP_EXPORTER_INSECURE is true, so the variables K6_OTEL_TLS_* have no effect",
        ),
    ] {
        assert_eq!(config(pairs), Err(words.to_owned()));
    }
    let missing = config(&[("K6_OTEL_TLS_CERTIFICATE", "/no/such/file")]).unwrap_err();
    assert!(missing.starts_with("`/no/such/file` of K6_OTEL_TLS_CERTIFICATE cannot be read: "), "{missing}");
}

/// Sends 20 batches; what was said meanwhile, and the warning at the end.
fn sent_with(pairs: &[(&str, &str)]) -> (Vec<String>, Option<String>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let settings = Settings {
        targets: vec![Target::OpenTelemetry(config(pairs).unwrap())],
        metrics: Arc::new(Registry::default()),
        thresholds: std::collections::BTreeMap::default(),
        system_tags: SystemTags::default(),
        say: Arc::new(move |words: &str| heard.lock().unwrap().push(words.to_owned())),
    };
    let (writer, outlet) = Writer::start(&settings).unwrap();
    for _ in 0..20 {
        let mut batch = Batch::default();
        add(&mut batch, &[("status", "200")], &[(BuiltIn::HttpReqs.id(), 1.0)]);
        outlet.send(batch);
    }
    drop(outlet);
    let warning = writer.finish();
    let said = said.lock().unwrap().clone();
    (said, warning)
}

/// The only value of a message.
fn only(message: &ExportRequest) -> Number {
    let metric = &message.resource_metrics[0].scope_metrics[0].metrics[0];
    let Some(Data::Sum(sum)) = &metric.data else { panic!("no sum") };
    sum.points[0].value.unwrap()
}

fn over_http(address: &str) -> Vec<(&str, &str)> {
    vec![
        ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf"),
        ("K6_OTEL_HTTP_EXPORTER_INSECURE", "true"),
        ("K6_OTEL_HTTP_EXPORTER_ENDPOINT", address),
        ("K6_OTEL_HEADERS", "x-scope=one"),
    ]
}

fn over_grpc(address: &str) -> Vec<(&str, &str)> {
    vec![
        ("K6_OTEL_GRPC_EXPORTER_INSECURE", "true"),
        ("K6_OTEL_GRPC_EXPORTER_ENDPOINT", address),
        ("K6_OTEL_HEADERS", "x-scope=one"),
    ]
}

#[test]
fn an_endpoint_gets_the_sums_of_the_whole_run_at_its_end() {
    let server = TestServer::start(200, "");
    assert_eq!(sent_with(&over_http(&server.address)), (Vec::new(), None));
    let requests = server.requests("", 1);
    assert_eq!(requests[0].line, "POST /v1/metrics HTTP/1.1\r\n");
    for line in ["content-type: application/x-protobuf\r\n", "x-scope: one\r\n"] {
        assert!(requests[0].headers.contains(line), "{}", requests[0].headers);
    }
    let message = ExportRequest::decode(&requests[0].body[..]).unwrap();
    assert_eq!(only(&message), Number::Double(20.0));
}

#[test]
fn an_endpoint_that_refuses_is_named_once_while_the_load_runs_and_counted_at_the_end() {
    let server = TestServer::start(500, r#"{"message":"no room"}"#);
    let (said, warning) = sent_with(&over_http(&server.address));
    let error = "the endpoint answered with status 500: no room";
    let start =
        format!("cannot send series to http://{}/v1/metrics: {error}; the load goes on", server.address);
    assert!(said.len() == 1 && said[0].starts_with(&start), "{said:?}");
    let words = format!("1 of 1 pushes to OpenTelemetry failed, the first one with: {error}");
    assert_eq!(warning, Some(words));
}

#[test]
fn an_endpoint_that_is_not_there_does_not_end_the_run() {
    for pairs in [over_http("127.0.0.1:1"), over_grpc("127.0.0.1:1")] {
        let (said, warning) = sent_with(&pairs);
        assert_eq!(said.len(), 1);
        assert!(warning.unwrap().starts_with("1 of 1 pushes to OpenTelemetry failed"));
    }
}

#[test]
fn an_endpoint_of_grpc_gets_the_same_message_as_a_call() {
    let server = grpc_server::start("0", "", Vec::new());
    assert_eq!(sent_with(&over_grpc(&server.address)), (Vec::new(), None));
    let call = server.call();
    assert_eq!(call.path, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export");
    assert_eq!(call.headers["content-type"], "application/grpc");
    assert_eq!(call.headers["te"], "trailers");
    assert_eq!(call.headers["x-scope"], "one");
    let (prefix, body) = call.body.split_at(5);
    assert_eq!(prefix, [&[0], &(body.len() as u32).to_be_bytes()[..]].concat());
    assert_eq!(only(&ExportRequest::decode(body).unwrap()), Number::Double(20.0));
}

#[test]
fn an_endpoint_of_grpc_says_why_it_refuses() {
    let server = grpc_server::start("16", "no%20token", Vec::new());
    let (_, warning) = sent_with(&over_grpc(&server.address));
    let error = "the endpoint answered with UNAUTHENTICATED: no token";
    assert_eq!(warning, Some(format!("1 of 1 pushes to OpenTelemetry failed, the first one with: {error}")));
}

#[test]
fn points_that_an_endpoint_did_not_take_are_reported() {
    let partial = PartialSuccess { rejected: 3, message: "too old".to_owned() };
    let response = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
    let server = grpc_server::start("0", "", response);
    let (_, warning) = sent_with(&over_grpc(&server.address));
    let error = "the endpoint did not take 3 points: too old";
    assert_eq!(warning, Some(format!("1 of 1 pushes to OpenTelemetry failed, the first one with: {error}")));
}

#[test]
fn a_server_that_does_not_speak_grpc_is_an_error_of_the_push() {
    let server = TestServer::start(200, "");
    let (said, warning) = sent_with(&over_grpc(&server.address));
    assert_eq!(said.len(), 1);
    assert!(warning.unwrap().starts_with("1 of 1 pushes to OpenTelemetry failed"));
}
