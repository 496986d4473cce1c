//! The JSON document against its schema, and its figures against the run.

use knee_core::amendment::Amendment;
use knee_core::unit::Nanos;
use knee_report::history::Entry;
use knee_report::text::Style;
use knee_report::{View, html, json, text};
use knee_study::record_pair::RecordPair;
use serde_json::{Value, json};

use super::fixture;

const SCHEMA: &str = include_str!("../../../../docs/reference/result.schema.json");

pub fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// The schema, with members refused that it does not name: what it does not name is undocumented.
fn strict(mut schema: Value) -> Value {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                members.values_mut().for_each(close);
                if members.contains_key("properties") {
                    members.insert("additionalProperties".into(), false.into());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

fn document(run: &knee_core::record::Run) -> Value {
    serde_json::from_str(&json::render(&View::of(run))).unwrap()
}

#[test]
fn every_document_is_as_the_schema_says_and_the_schema_names_every_member() {
    let validator = jsonschema::draft202012::new(&strict(schema())).unwrap();
    for (name, run) in fixture::all() {
        let document = document(&run);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn every_report_of_a_steered_run_says_so() {
    let mut run = fixture::healthy_open();
    let change = |at, to| Amendment {
        at: Nanos::from_secs(at),
        from: 12_000.0,
        over: Nanos::from_secs(at / 4),
        to,
        first: 0.0,
    };
    run.amendments = vec![change(3, 0.5), change(8, 900.0)];
    let document = document(&run);
    assert!(jsonschema::draft202012::new(&strict(schema())).unwrap().is_valid(&document));
    let first = json!({ "at_s": 3.0, "from_per_s": 12_000.0, "over_s": 0.0, "to_per_s": 0.5 });
    assert_eq!(
        (&document["changes_of_rate"][0], document["changes_of_rate"].as_array().unwrap().len()),
        (&first, 2)
    );
    let view = View::of(&run);
    let style = Style { width: 200, ..Style::default() };
    let text = text::render(&view, &style);
    let words = "steered by hand to 0.5/s from 3.00 s on, then to 900/s from 8.00 s on within 2.00 s";
    assert!(text.contains(words), "{text}");
    assert!(html::run(&view, None, &style).contains("steered by hand to 0.5/s from 3.00 s on"));

    let as_planned = fixture::healthy_open();
    let entry = |run| Entry::of_run("a", "a", run);
    assert_ne!(entry(&run).likeness, entry(&as_planned).likeness, "trends do not mix them");
    assert!(entry(&run).load.ends_with(", steered"), "{}", entry(&run).load);
    let pair = RecordPair::of((&as_planned, "a.knee"), (&run, "b.knee"), None);
    assert_eq!(pair.obstacles, ["B was steered by hand: its load changed during the run"]);
}

#[test]
fn the_schema_refuses_a_broken_document() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let whole = document(&fixture::healthy_open());
    assert!(validator.is_valid(&whole));
    let breaks: [(&str, Value); 9] = [
        ("/validity", json!("fine")),
        ("/requests/planned", json!(-1)),
        ("/requests/ok", json!(1.5)),
        ("/response_time_ms/p99", json!("3 ms")),
        ("/response_time_ms/at_least", json!(["p98"])),
        ("/status", json!({"OK": 3})),
        ("/series/0/response_time_ms", Value::Null),
        ("/diagnostics/ports", json!({"used": 3})),
        ("/version", json!(2)),
    ];
    for (path, value) in breaks {
        let mut broken = whole.clone();
        *broken.pointer_mut(path).unwrap() = value;
        assert!(!validator.is_valid(&broken), "{path}");
    }
    for member in schema()["required"].as_array().unwrap() {
        let mut broken = whole.clone();
        broken.as_object_mut().unwrap().remove(member.as_str().unwrap());
        assert!(!validator.is_valid(&broken), "{member}");
    }
}

#[test]
fn every_request_in_the_document_has_exactly_one_outcome() {
    for (name, run) in fixture::all() {
        let requests = document(&run)["requests"].clone();
        let count = |key: &str| requests[key].as_u64().unwrap();
        let ended: u64 = ["ok", "http_error", "transport_error", "timeout", "unsent", "censored"]
            .iter()
            .map(|key| count(key))
            .sum();
        assert_eq!(count("planned"), ended, "{name}");
    }
}

#[test]
fn a_percentile_the_sample_cannot_carry_is_null() {
    let small = document(&fixture::small_closed());
    let times = &small["response_time_ms"];
    assert!(times["p50"].is_number());
    for key in ["p90", "p95", "p99", "p99.9"] {
        assert!(times[key].is_null(), "{key}");
    }
    assert_eq!(times["at_least"], json!([]));
    let large = document(&fixture::healthy_open());
    assert!(large["response_time_ms"]["p99.9"].is_number());
}

#[test]
fn figures_that_are_lower_bounds_are_named() {
    let overload = document(&fixture::overload());
    assert_eq!(overload["response_time_ms"]["at_least"], json!(["mean", "p50", "p90", "p95", "p99", "max"]));
    assert_eq!(overload["service_time_ms"]["at_least"], json!(["mean", "p90", "p95", "p99", "max"]));
    assert_eq!(overload["ok_only"]["response_time_ms"]["at_least"], json!([]));
}

#[test]
fn what_is_answered_after_the_window_does_not_raise_the_achieved_rate() {
    let overload = document(&fixture::overload());
    let achieved = overload["goodput_per_s"].as_f64().unwrap();
    let ok = overload["requests"]["ok"].as_u64().unwrap() as f64;
    assert_eq!(overload["duration_s"], json!(10.0));
    assert!(achieved < ok / 10.0 - 100.0, "{achieved}");
    assert_eq!(overload["scheduled_requests_per_s"], json!(2_000.0));
}

#[test]
fn the_warm_up_is_kept_apart() {
    let document = document(&fixture::three_endpoints());
    assert_eq!(document["warm_up"]["requests"]["planned"], json!(6_000));
    assert_eq!(document["requests"]["planned"], json!(30_000));
    assert_eq!(document["warm_up_s"], json!(2.0));
    assert_eq!(document["duration_s"], json!(10.0));
    assert_eq!(document["endpoints"].as_array().unwrap().len(), 3);
}

#[test]
fn who_stood_all_through_is_measured_and_changes_no_rate() {
    let run = fixture::standing();
    let document = document(&run);
    assert_eq!(document["warm_up"]["requests"]["planned"], json!(10));
    assert_eq!(document["requests"]["planned"], json!(102));
    assert_eq!(document["diagnostics"]["from_warm_up"], json!(2));
    assert_eq!(
        (&document["scheduled_requests_per_s"], &document["goodput_per_s"]),
        (&json!(10.0), &json!(10.0))
    );
    assert_eq!(document["response_time_ms"]["max"], json!(10_800.0));
    let text = text::render(&View::of(&run), &Style::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = "Warm-up 1.00 s, 10 requests, not in these figures, 2 more that span the measurement are";
    assert!(words.join(" ").contains(line), "{text}");
}

#[test]
fn no_number_of_a_broken_load_generator_makes_the_document_unreadable() {
    let mut run = fixture::healthy_open();
    run.validity.diagnostics.generator.steal = Some(f64::NAN);
    run.validity.diagnostics.load.little_residual = Some(f64::INFINITY);
    run.series[0].generator.worker_cpu = Some(f64::NAN);
    let document = document(&run);
    assert!(document["diagnostics"]["steal"].is_null());
    assert!(document["diagnostics"]["little_residual"].is_null());
}

#[test]
fn foreign_words_stay_what_they_are_and_cannot_act_on_a_terminal() {
    let run = fixture::hostile();
    let text = json::render(&View::of(&run));
    assert!(!text.chars().any(|c| c != '\n' && knee_report::clean::is_hostile(c)));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["title"], json!(run.head.title));
}

#[test]
fn the_order_of_members_is_that_of_the_reference() {
    let text = json::render(&View::of(&fixture::empty()));
    let reference = include_str!("../../../../docs/reference/result-json.md");
    let members: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  \"")?.split_once('"'))
        .map(|(name, _)| name)
        .collect();
    assert!(members.len() > 20);
    let positions: Vec<_> = members
        .iter()
        .map(|name| {
            reference.find(&format!("\n| `{name}`")).unwrap_or_else(|| panic!("{name} is not explained"))
        })
        .collect();
    assert!(positions.is_sorted(), "{members:?}");
}
