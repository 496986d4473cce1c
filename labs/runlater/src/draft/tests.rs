//! What is a task, and what is not.

use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2030-01-31T12:00:30.5Z".parse().unwrap()
}

fn read(mut body: Value) -> Result<Draft, Refusal> {
    if let Some(object) = body.as_object_mut() {
        object.entry("url").or_insert(json!("http://127.0.0.1:9/x"));
    }
    Draft::read(body.to_string().as_bytes(), now())
}

#[test]
fn the_first_of_cron_delay_and_run_at_sets_the_time_and_the_default_is_now() {
    let at = |text: &str| When::At(text.parse().unwrap());
    let first = "2030-01-31T12:05:00Z".parse().unwrap();
    let rows = [
        (json!({}), When::Now),
        (json!({"delay": null}), When::Now),
        (json!({"delay": 5}), at("2030-01-31T12:00:35.5Z")),
        (json!({"delay": "5"}), at("2030-01-31T12:00:35.5Z")),
        (json!({"delay": "30s"}), at("2030-01-31T12:01:00.5Z")),
        (json!({"delay": "5m"}), at("2030-01-31T12:05:30.5Z")),
        (json!({"delay": "2h"}), at("2030-01-31T14:00:30.5Z")),
        (json!({"delay": "1d", "run_at": "never"}), at("2030-02-01T12:00:30.5Z")),
        (json!({"run_at": "2030-02-01T00:00:00+02:00"}), at("2030-01-31T22:00:00Z")),
        (json!({"run_at": "2030-01-31T11:56:00Z"}), at("2030-01-31T11:56:00Z")),
        (json!({"cron": "*/5 * * * *", "delay": "x"}), When::Cron("*/5 * * * *".to_owned(), first)),
    ];
    for (body, when) in rows {
        assert_eq!(read(body.clone()).unwrap().when, when, "{body}");
    }
}

#[test]
fn an_invalid_time_is_refused_by_name() {
    for delay in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("s"),
        json!("5 m"),
        json!("5w"),
        json!(""),
        json!([]),
        json!("99999999999d"),
        json!("367d"),
        json!(true),
    ] {
        assert!(matches!(read(json!({"delay": delay})), Err(Refusal::BadDelay)), "{delay}");
    }
    for time in [json!("soon"), json!(1), json!("2030-01-31"), json!("2031-03-01T00:00:00Z"), json!("")] {
        assert!(matches!(read(json!({"run_at": time})), Err(Refusal::BadRunAt)), "{time}");
    }
    for cron in ["* * * *", "61 * * * *", "a b c d e", "* * * * * * *", "0 0 31 2 *", ""] {
        assert!(matches!(read(json!({"cron": cron})), Err(Refusal::Invalid(_))), "{cron}");
    }
    assert!(matches!(read(json!({"run_at": "2030-01-31T11:55:00Z"})), Err(Refusal::Invalid(_))));
}

#[test]
fn invalid_fields_are_reported_by_name() {
    let rows = [
        ("url", json!("ftp://host/")),
        ("url", json!("http://")),
        ("url", json!("/path")),
        ("url", json!("http://host/a b")),
        ("url", json!(format!("http://host/{}", "x".repeat(255)))),
        ("url", json!(7)),
        ("method", json!("TRACE")),
        ("name", json!("  ")),
        ("name", json!("x".repeat(256))),
        ("headers", json!({"a b": "c"})),
        ("headers", json!({"a": "b\nc"})),
        ("headers", json!({"a": 1})),
        ("headers", json!({"Content-Length": "1"})),
        ("headers", json!([])),
        ("body", json!("x".repeat(BODY_MAX + 1))),
        ("body", json!("\0")),
        ("timeout_ms", json!(999)),
        ("timeout_ms", json!(1e30)),
        ("retry_attempts", json!(11)),
        ("expected_status_codes", json!("200,700")),
        ("expected_status_codes", json!("200,,201")),
        ("queue", json!("none")),
        ("callback_url", json!("javascript:alert(1)")),
        ("muted", json!("yes")),
    ];
    for (name, value) in rows {
        match read(json!({name: value})) {
            Err(Refusal::Invalid(wrong)) => assert!(wrong.contains_key(name), "{name} {value}: {wrong:?}"),
            other => panic!("{name} {value}: {other:?}"),
        }
    }
    assert!(matches!(Draft::read(b"{}", now()), Err(Refusal::Invalid(_))), "a task calls something");
}

#[test]
fn a_change_sets_clears_or_keeps_fields() {
    let change = Change::read(br#"{"task": {"queue": null, "enabled": false}}"#, now()).unwrap();
    assert_eq!(change.cleared, ["queue"]);
    assert_eq!((change.parts.enabled, change.parts.url, change.when), (Some(false), None, None));
    assert!(matches!(Change::read(br#"{"url": null}"#, now()), Err(Refusal::Invalid(_))));
}
