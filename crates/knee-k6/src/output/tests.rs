//! Lines are those of k6 v1.8.1, from whose files every one here was taken, and none is lost silently.

use std::io::Read as _;

use knee_core::unit::Nanos;

use super::batch::{Samples, TagList};
use super::time::{Stamp, rfc3339};
use super::*;
use crate::metric::{BuiltIn, Contains, Key, Kind};

fn tags(pairs: &[(&str, &str)]) -> Arc<TagList> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Arc::new(TagList::new(pairs.collect::<Vec<_>>()))
}

fn metrics() -> Arc<Registry> {
    let metrics = Registry::default();
    metrics.declare("cc", Kind::Counter, Contains::Default).unwrap();
    metrics.keep_apart(&Key::parse("http_req_duration{group:::outer}").unwrap());
    Arc::new(metrics)
}

const AT: Nanos = Nanos(1_795_272_361_945_482_200);

fn samples(metrics: &Registry) -> Batch {
    let own = metrics.catalog().find("cc").unwrap();
    let mut batch = Batch::default();
    let mut add = |metric, values: &[f64], pairs: &[_]| {
        let tags = batch.list(tags(pairs));
        batch.push(AT, tags, None, values.iter().map(|value| (metric, *value)));
    };
    add(BuiltIn::HttpReqs.id(), &[1.0], &[("method", "GET"), ("status", "200")]);
    add(BuiltIn::Checks.id(), &[0.0], &[("check", "a<b & \"c\", ü\n\u{2028}\t>"), ("group", "")]);
    add(own, &[1.5], &[("b b", " lead"), ("ex", "a,b&c=d \"q\""), ("group", ""), ("scenario", "default")]);
    add(own, &[1e-7, 123_456_789_012_345_680_000_000.0, 0.1 + 0.2], &[]);
    batch
}

/// Writes the samples to a file of this name and reads it back.
fn written(name: &str, settings: impl FnOnce(Target) -> Settings, form: Form) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let settings = settings(Target::Lines { form, file: Some(file.clone()) });
    let samples = samples(&settings.metrics);
    let (writer, outlet) = Writer::start(&settings).unwrap();
    outlet.send(samples);
    drop(outlet);
    assert_eq!(writer.finish(), None);
    std::fs::read(file).unwrap()
}

fn settings(target: Target) -> Settings {
    let thresholds = BTreeMap::from([("http_reqs".to_owned(), vec!["count>1".to_owned()])]);
    let system_tags = SystemTags::of(["check", "group", "vu", "iter", "scenario", "url"]);
    Settings { targets: vec![target], metrics: metrics(), thresholds, system_tags, say: Arc::new(|_| ()) }
}

#[test]
fn json_lines_are_those_of_k6() {
    let text = String::from_utf8(written("s.json", settings, Form::Json)).unwrap();
    let expected = [
        r#"{"type":"Metric","data":{"name":"http_reqs","type":"counter","contains":"default","thresholds":["count>1"],"submetrics":null},"metric":"http_reqs"}"#,
        r#"{"metric":"http_reqs","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":1,"tags":{"method":"GET","status":"200"}}}"#,
        r#"{"type":"Metric","data":{"name":"checks","type":"rate","contains":"default","thresholds":[],"submetrics":null},"metric":"checks"}"#,
        r#"{"metric":"checks","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":0,"tags":{"check":"a\u003cb \u0026 \"c\", ü\n\u2028\t\u003e","group":""}}}"#,
        r#"{"type":"Metric","data":{"name":"cc","type":"counter","contains":"default","thresholds":[],"submetrics":null},"metric":"cc"}"#,
        r#"{"metric":"cc","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":1.5,"tags":{"b b":" lead","ex":"a,b\u0026c=d \"q\"","group":"","scenario":"default"}}}"#,
        r#"{"metric":"cc","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":1e-07,"tags":{}}}"#,
        r#"{"metric":"cc","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":1.2345678901234569e+23,"tags":{}}}"#,
        r#"{"metric":"cc","type":"Point","data":{"time":"2026-11-21T14:46:01.9454822Z","value":0.30000000000000004,"tags":{}}}"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_metric_is_introduced_with_its_filters() {
    let mut lines = json::Lines::new(metrics(), BTreeMap::new());
    let mut out = Vec::new();
    let tags = tags(&[]);
    let values = [(BuiltIn::HttpReqDuration.id(), 1.0)];
    lines.add(&mut out, &Samples { at: AT, tags: &tags, metadata: None, values: &values });
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(r#""submetrics":[{"name":"http_req_duration{expected_response:true}","suffix":"expected_response:true","tags":{"expected_response":"true"}},{"name":"http_req_duration{group:::outer}","suffix":"group:::outer","tags":{"group":"::outer"}}]"#), "{text}");
}

#[test]
fn csv_has_a_column_for_each_system_tag_and_one_for_the_others() {
    let text = String::from_utf8(written("s.csv", settings, Form::Csv(TimeForm::Unix))).unwrap();
    let expected = "metric_name,timestamp,metric_value,check,group,scenario,url,extra_tags,metadata\n\
        http_reqs,1795272361,1.000000,,,,,method=GET&status=200,\n\
        checks,1795272361,0.000000,\"a<b & \"\"c\"\", ü\n\u{2028}\t>\",,,,,\n\
        cc,1795272361,1.500000,,,default,,\"b b= lead&ex=a,b&c=d \"\"q\"\"\",\n\
        cc,1795272361,0.000000,,,,,,\n\
        cc,1795272361,123456789012345685803008.000000,,,,,,\n\
        cc,1795272361,0.300000,,,,,,\n";
    assert_eq!(text, expected);
}

#[test]
fn a_packed_file_holds_the_same_lines() {
    let packed = written("s.json.gz", settings, Form::Json);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
    assert_eq!(text.as_bytes(), written("s.json", settings, Form::Json));
}

#[test]
fn samples_that_the_writer_cannot_take_are_counted() {
    let (parcels, inbox) = sync_channel(1);
    let lost = Arc::new(AtomicU64::new(0));
    let outlet = Outlet { parcels, lost: lost.clone(), takes: (true, true) };
    (0..3).for_each(|_| outlet.send(samples(&metrics())));
    drop((outlet, inbox));
    let writer = Writer { thread: std::thread::spawn(|| Ok(Vec::new())), lost };
    let words = writer.finish().unwrap();
    assert!(
        words.starts_with(&format!("{} samples are missing from the output", 2 * samples(&metrics()).len())),
        "{words}"
    );
}

#[test]
fn a_disk_that_is_full_is_reported() {
    let target = Target::Lines { form: Form::Json, file: Some("/dev/full".into()) };
    let (writer, outlet) = Writer::start(&settings(target)).unwrap();
    outlet.send(samples(&metrics()));
    drop(outlet);
    let words = writer.finish().unwrap();
    assert!(words.starts_with("cannot write samples, the file is incomplete"), "{words}");
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (1_795_272_361, "2026-11-21T14:46:01Z"),
    ] {
        assert_eq!(rfc3339(Nanos(seconds * 1_000_000_000), false), text);
    }
    assert_eq!(rfc3339(AT, true), "2026-11-21T14:46:01.9454822Z");
}

#[test]
fn times_one_after_the_other_are_written_as_each_alone() {
    let mut stamp = Stamp::default();
    for nanos in [0, 999_999_999, 1_000_000_000, 1_000_000_001, 1_500_000_000, 900_000_000, AT.as_nanos()] {
        let mut out = Vec::new();
        stamp.write(&mut out, Nanos(nanos));
        assert_eq!(String::from_utf8(out).unwrap(), rfc3339(Nanos(nanos), true));
    }
}

#[test]
fn metadata_follows_the_tags() {
    let mut out = Vec::new();
    let (tags, metadata) = (tags(&[("a", "b")]), tags(&[("vu", "1")]));
    let values = [(BuiltIn::HttpReqs.id(), 1.0), (BuiltIn::HttpReqs.id(), 2.0)];
    let samples = Samples { at: AT, tags: &tags, metadata: Some(&metadata), values: &values };
    json::Lines::new(metrics(), BTreeMap::new()).add(&mut out, &samples);
    let text = String::from_utf8(out).unwrap();
    for value in ["1", "2"] {
        let expected = format!(r#""value":{value},"tags":{{"a":"b"}},"metadata":{{"vu":"1"}}}}}}"#);
        assert!(text.lines().any(|line| line.ends_with(&expected)), "{text}");
    }
}

#[test]
fn a_target_names_its_form_and_file() {
    let env = |name: &str| (name == "K6_CSV_TIME_FORMAT").then(|| "rfc3339".to_owned());
    let parse = |text: &str| Target::parse(text, &env);
    let file = |name: &str| Some(PathBuf::from(name));
    assert_eq!(parse("json=a=b.gz"), Ok(Target::Lines { form: Form::Json, file: file("a=b.gz") }));
    assert_eq!(parse("json"), Ok(Target::Lines { form: Form::Json, file: None }));
    assert_eq!(
        parse("csv"),
        Ok(Target::Lines { form: Form::Csv(TimeForm::Rfc3339), file: file("file.csv") })
    );
    assert!(parse("statsd").is_err());
}
