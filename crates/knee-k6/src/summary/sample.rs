//! A summary for tests: the samples of one script that k6 v1.8.1 was run with to record expectations.
//!
//! The script adds 7 to a counter, 3.5 and 2 to a gauge, 1, 0 and 1 to a rate, eleven steps of 1.5 and of
//! 123.456 ms to two trends, one request of 12.3456 ms, and makes four checks in three groups.

use std::sync::Arc;

use super::Summary;
use crate::duration::SignedDuration;
use crate::metric::meter::Place;
use crate::metric::{BuiltIn, Catalog, Contains, Key, Kind, Meter, MetricId, TagSet};
use crate::options::defaults::TREND_STATS;
use crate::read::Read;
use crate::threshold::{ThresholdTexts, compile, judge};

/// How long the recorded run took, and its only iteration in milliseconds.
const ELAPSED: SignedDuration = SignedDuration(4_713_433);
const ITERATION_MS: f64 = 4.025_614;

/// The summary; `by_part` as for the full text.
pub fn summary(by_part: bool) -> Summary {
    let thresholds = serde_json::json!({
        "my_counter": ["count>1", "count<3"], "my_trend{a:b}": ["avg<5", "p(95)<10"], "my_rate": ["rate>0.5"],
        "my_gauge": ["value<1"], "http_req_duration{a:x}": ["max<100"],
    });
    let texts = ThresholdTexts::read(&thresholds).unwrap().unwrap();
    let mut catalog = Catalog::new();
    for (name, kind, contains) in [
        ("my_counter", Kind::Counter, Contains::Default),
        ("my_gauge", Kind::Gauge, Contains::Default),
        ("my_rate", Kind::Rate, Contains::Default),
        ("my_trend", Kind::Trend, Contains::Default),
        ("my_time", Kind::Trend, Contains::Time),
        ("nosamples", Kind::Counter, Contains::Default),
    ] {
        catalog.declare(name, kind, contains).unwrap();
    }
    for name in texts.keys() {
        catalog.keep_apart(&Key::parse(name).unwrap());
    }
    let mut meter = Meter::new(Arc::new(catalog), by_part);
    fill(&mut meter);
    let of = |name: &str| {
        let catalog = meter.catalog();
        catalog.find(name).map(|id| (catalog.metric(id).kind, catalog.metric(id).contains))
    };
    let guards = compile(&texts, of).unwrap();
    let (judged, _) = judge(&guards, |name| meter.find(name).cloned(), ELAPSED, true);
    let trend_stats = TREND_STATS.map(str::to_owned).to_vec();
    Summary { meter, judged, elapsed: ELAPSED, trend_stats, time_unit: None }
}

fn fill(meter: &mut Meter) {
    let id = |meter: &Meter, name: &str| -> MetricId { meter.catalog().find(name).unwrap() };
    let place = |group, at| Place { scenario: "default", group, at };
    for (at, (name, value)) in [
        ("my_counter", 7.0),
        ("my_gauge", 3.5),
        ("my_gauge", 2.0),
        ("my_rate", 1.0),
        ("my_rate", 0.0),
        ("my_rate", 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        meter.add(id(meter, name), value, &place("", at as u64), &());
    }
    for step in 0..11u32 {
        let tag = if step % 2 == 0 { "c" } else { "b" };
        let tags = TagSet::from_iter([("a", tag)]);
        meter.add(id(meter, "my_trend"), f64::from(step) * 1.5, &place("", 10), &tags);
        meter.add(id(meter, "my_time"), f64::from(step) * 123.456, &place("", 10), &());
    }
    let tags = TagSet::from_iter([("a", "x"), ("expected_response", "true")]);
    meter.add(BuiltIn::HttpReqDuration.id(), 12.3456, &place("", 20), &tags);
    meter.add(BuiltIn::HttpReqs.id(), 1.0, &place("", 20), &());
    for (at, (group, name, passed)) in
        [("", "one", true), ("", "two", false), ("::G", "in g", true), ("::G::H", "in h", false)]
            .into_iter()
            .enumerate()
    {
        meter.check(name, passed, &place(group, 30 + at as u64));
        meter.add(BuiltIn::Checks.id(), f64::from(u8::from(passed)), &place(group, 30), &());
    }
    for group in ["::G::H", "::G"] {
        meter.add(BuiltIn::GroupDuration.id(), 0.01, &place(group, 40), &());
    }
    for (metric, value) in [
        (BuiltIn::DataSent, 0.0),
        (BuiltIn::DataReceived, 0.0),
        (BuiltIn::Iterations, 1.0),
        (BuiltIn::IterationDuration, ITERATION_MS),
    ] {
        meter.add(metric.id(), value, &place("", 50), &());
    }
}
