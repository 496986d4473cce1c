//! Records that ask for much memory: malicious ones of a few kilobytes, and those of long runs with many endpoints.
//!
//! Version 1 has outcomes and phases as lists, version 2 by names, which can be as many as a file likes.
//!
//! Every command here runs with a limit of 512 MiB on its data. A process that asks for more dies.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{Finished, Home};
use crate::record::{INTERVAL, NOTE, TAIL, frame, head, packed, record, record_of};

/// `value` with a list of `count` times `item` in the place of the text `LIST`.
fn with_list(value: &Value, count: u32, item: &Value) -> Vec<u8> {
    let (bytes, item) = (packed(value), packed(item));
    let mark = packed(&json!("LIST"));
    let at = bytes.windows(mark.len()).position(|bytes| bytes == mark).unwrap();
    let mut list = vec![0xdd];
    list.extend(count.to_be_bytes());
    list.extend(item.repeat(count as usize));
    [&bytes[..at], &list, &bytes[at + mark.len()..]].concat()
}

/// A histogram of one value in each of these buckets, `gap` buckets apart; the first is below 1,024 ns.
fn histogram(first: u64, buckets: u64, gap: u64) -> Value {
    let last = first + (buckets - 1) * (gap + 1);
    let max = if last < 1_024 { last } else { (1_024 + last % 1_024) << (last / 1_024 - 1) };
    let pairs = (0..buckets).flat_map(|bucket| [if bucket == 0 { first } else { gap }, 1]);
    json!({
        "count": buckets, "overflow": 0, "sum": [0, buckets * first], "min": first, "max": max,
        "gaps_and_counts": pairs.collect::<Vec<u64>>(),
    })
}

/// An endpoint with all twenty histograms.
fn endpoint(histogram: &Value) -> Value {
    let both = json!({ "response": histogram, "service": histogram });
    let count = histogram["count"].as_u64().unwrap();
    json!({
        "planned": 6 * count, "outcomes": vec![&both; 6], "phases": vec![histogram; 6], "lag": histogram,
        "own_lag": histogram, "status": [[200, count], [503, count]],
    })
}

/// The same in the form of version 2, and with further outcomes, phases and faults under these names. Each fault has an
/// `example` of this length.
fn endpoint_of_names(histogram: &Value, names: &[String], example: usize) -> Value {
    let both = json!({ "response": histogram, "service": histogram, "lower_bound": true });
    let known = |names: [&str; 6], value: &Value| names.map(|name| (name.to_owned(), value.clone()));
    let outcomes = ["ok", "http_error", "transport_error", "timeout", "unsent", "censored"];
    let mut outcomes: BTreeMap<_, _> = known(outcomes, &both).into();
    let mut phases: BTreeMap<_, _> =
        known(["dns", "connect", "tls", "send", "wait", "receive"], histogram).into();
    outcomes.extend(names.iter().map(|name| (name.clone(), both.clone())));
    phases.extend(names.iter().map(|name| (name.clone(), histogram.clone())));
    let example = "x".repeat(example);
    let fault =
        |name: &String| json!({ "fault": name, "blame": "server", "count": 1, "examples": [example] });
    let count = histogram["count"].as_u64().unwrap();
    json!({
        "planned": (6 + names.len() as u64) * count, "outcomes": outcomes, "phases": phases, "lag": histogram,
        "own_lag": histogram, "status": [[200, count]], "faults": names.iter().map(fault).collect::<Vec<_>>(),
    })
}

fn names(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|number| format!("name_{number}")).collect()
}

fn interval(second: u64, endpoints: u32, endpoint: &Value) -> Vec<u8> {
    let second_ns = 1_000_000_000;
    let interval = json!({
        "from": (second + 1) * second_ns, "to": (second + 2) * second_ns, "measured": { "endpoints": "LIST" },
    });
    frame(INTERVAL, &with_list(&interval, endpoints, endpoint))
}

/// What `knee report` says of these bytes, with 512 MiB of memory.
fn reported(home: &Home, bytes: &[u8], format: &str) -> Finished {
    let record = home.file("big.knee", bytes);
    let script = "ulimit -d 524288; exec \"$KNEE\" report \"$0\" --format \"$1\" -o \"$2\"";
    home.shell(script).arg(record).arg(format).arg(home.path("result")).run()
}

fn assert_refused(bytes: &[u8], what: &str) {
    let finished = reported(&Home::new(), bytes, "text");
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
    assert!(finished.stderr.contains("this record needs more memory than "), "{}", finished.stderr);
    assert!(finished.stderr.contains(what), "{}", finished.stderr);
}

#[test]
fn a_malicious_record_is_refused_before_it_fills_the_memory() {
    let (plain, one) = (packed(&head()), endpoint(&histogram(5, 1, 0)));
    assert_refused(&record(&plain, &[interval(0, 30_000, &one)]), "30000 endpoints");
    // Below the limit of an interval, above that of the whole run.
    let mut named = head();
    named["plan"]["endpoints"] = json!("LIST");
    let named = with_list(&named, 9_999, &json!({ "name": "x".repeat(1_500) }));
    assert_refused(&record(&named, &[interval(0, 9_999, &one)]), "endpoints in 0 intervals");

    let mut many = head();
    many["plan"]["endpoints"] = json!("LIST");
    let many = with_list(&many, 3_000_000, &json!({ "name": "x" }));
    assert_refused(&record(&many, &[]), "at byte 12");

    let note = frame(NOTE, &packed(&json!({ "at": 5, "text": "x".repeat((64 << 20) - 100) })));
    assert_refused(&record(&plain, &vec![note; 1_000]), "a frame has more than");

    let workers = json!({ "from": 1, "to": 2, "instrument": { "workers": "LIST", "wall_drift_ns": 0 } });
    let workers = with_list(&workers, 3_000_000, &json!([0.5, null]));
    assert_refused(&record(&plain, &vec![frame(INTERVAL, &workers); 10]), "bytes cannot hold 9000005 values");
}

#[test]
fn a_malicious_record_of_version_2_is_refused_before_it_fills_the_memory() {
    let record = |head: &[u8], frames: &[Vec<u8>]| record_of(2, head, frames);
    let plain = packed(&head());
    let one = |example| endpoint_of_names(&histogram(5, 1, 0), &names(0..2), example);
    assert_refused(&record(&plain, &[interval(0, 30_000, &one(10))]), "30000 endpoints");
    assert_refused(&record(&plain, &[interval(0, 9_999, &one(1_000))]), "endpoints in 0 intervals");
    let wide = endpoint_of_names(&histogram(5, 2_000, 15), &names(0..8), 10);
    assert_refused(&record(&plain, &[interval(0, 400, &wide)]), "bytes after decompression");
    let mut planned = head();
    planned["plan"]["endpoints"] = json!("LIST");
    let planned = with_list(&planned, 3_000_000, &json!({ "name": "x" }));
    assert_refused(&record(&planned, &[]), "at byte 12");
    let tail = json!({
        "ending": "completed", "intervals": 0,
        "truth": { "state": "valid", "reasons": [], "notes": [], "figures": { "books": "LIST" } },
    });
    assert_refused(
        &record(&plain, &[frame(TAIL, &with_list(&tail, 3_000_000, &json!(1)))]),
        "bytes cannot hold",
    );
}

#[test]
fn names_without_end_count_together_and_frames_without_end_are_skipped() {
    let home = Home::new();
    // Other names in each interval, more in each than are kept apart.
    let times = histogram(5, 20, 200);
    let mut frames: Vec<_> = (0..40)
        .map(|second| {
            let endpoint = endpoint_of_names(&times, &names(second * 100..(second + 1) * 100), 5_000);
            interval(second, 4, &endpoint)
        })
        .collect();
    // Optional frames that are never unpacked: 64 MiB each, and many small ones.
    frames.extend(vec![frame(9, &vec![0; (64 << 20) + 100]); 4]);
    frames.extend(vec![frame(77, b""); 20_000]);
    let bytes = record_of(2, &packed(&head()), &frames);
    for format in ["text", "json"] {
        let finished = reported(&home, &bytes, format);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{format}");
    }
    let run: Value = serde_json::from_str(&std::fs::read_to_string(home.path("result")).unwrap()).unwrap();
    let unknown = &run["requests"]["unknown"];
    assert_eq!(run["requests"]["planned"], 40 * 4 * 106 * 20);
    assert_eq!(unknown.as_object().unwrap().len(), 8, "{unknown}");
    let counted: u64 = unknown.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, 40 * 4 * 100 * 20);
    let notes = run["notes"].to_string();
    assert!(notes.contains("4 frames with observations, 20000 frames of kind 77"), "{notes}");
    assert!(notes.contains("outcome `others` ("), "{notes}");
}

#[test]
fn long_notes_are_cut() {
    let home = Home::new();
    let note = frame(NOTE, &packed(&json!({ "at": 5, "text": "x".repeat(15 << 20) })));
    let finished = reported(&home, &record(&packed(&head()), &vec![note; 40]), "text");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 40);
    assert!(lines.iter().all(|line| line.chars().count() < 1_100 && line.ends_with('…')));
}

#[test]
fn a_run_with_a_thousand_endpoints_and_full_histograms_is_readable_in_every_format() {
    let home = Home::new();
    // A value in each page of a histogram, so that each takes 20 KB in memory: 400 MB together.
    let seconds: Vec<_> =
        (0..3).map(|second| interval(second, 1_000, &endpoint(&histogram(16 * second, 160, 47)))).collect();
    let bytes = record(&packed(&head()), &seconds);
    for format in ["text", "csv", "oha-json", "locust-csv", "html", "json"] {
        let finished = reported(&home, &bytes, format);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{format}");
    }
    let run: Value = serde_json::from_str(&std::fs::read_to_string(home.path("result")).unwrap()).unwrap();
    assert_eq!(run["requests"]["ok"], 3 * 1_000 * 160);
    assert_eq!(run["endpoints"].as_array().unwrap().len(), 1_000);
    assert_eq!(run["endpoints"][999]["requests"]["ok"], 3 * 160);
    let notes = run["notes"].to_string();
    assert!(notes.contains("the record is large: times of single endpoints are rounded up"), "{notes}");
}

#[test]
fn a_day_of_seconds_is_readable() {
    let home = Home::new();
    let times = histogram(5, 3, 40);
    let endpoint = json!({
        "planned": 3, "own_lag": times, "status": [[200, 3]],
        "outcomes": [{ "response": times, "service": times }, {}, {}, {}, {}, {}],
    });
    let second = interval(0, 1, &endpoint);
    let mut bytes = record(&packed(&head()), &[]);
    bytes.extend(second.repeat(86_400));
    let finished = reported(&home, &bytes, "json");
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let result = std::fs::read_to_string(home.path("result")).unwrap();
    assert_eq!(result.lines().filter(|line| line.contains("\"from_s\"")).count(), 86_400);
    let finished = reported(&home, &bytes, "html");
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let page = std::fs::read_to_string(home.path("result")).unwrap();
    assert!(page.len() < 300_000, "{} bytes without the intervals", page.len());
    assert!(page.contains("without its 86,400 intervals"), "the page says what it leaves out");
}
