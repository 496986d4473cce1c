//! vegeta's binary results are read like the same results as JSON, whatever the order of their fields, and no bytes make
//! the reader panic or take memory that is not in the file.
//!
//! The bytes are built by the rules of Go's package `encoding/gob`. One file is that of a real attack of vegeta 12.13.0:
//! 50 requests, and the same as `vegeta encode -to json` wrote them.

#![allow(clippy::unwrap_used, reason = "a test that builds bytes")]

use knee_audit::read::read;
use knee_audit::{Document, Known, ReadError, audit};
use proptest::prelude::*;

/// Numbers of types that need no definition, and of those that the files here define.
const INT: i64 = 2;
const UINT: i64 = 3;
const BYTES: i64 = 5;
const TEXT: i64 = 6;
const RESULT: i64 = 65;
const TIME: i64 = 66;
const HEADERS: i64 = 67;
const TEXTS: i64 = 68;

fn uint(value: u64) -> Vec<u8> {
    if value < 128 {
        return vec![value as u8];
    }
    let digits: Vec<u8> = value.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
    [vec![(digits.len() as u8).wrapping_neg()], digits].concat()
}

fn int(value: i64) -> Vec<u8> {
    uint(if value < 0 { ((!value as u64) << 1) | 1 } else { (value as u64) << 1 })
}

fn blob(bytes: &[u8]) -> Vec<u8> {
    [uint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn message(parts: &[Vec<u8>]) -> Vec<u8> {
    blob(&parts.concat())
}

/// A name and a number, as a struct.
fn named(name: &str, number: i64) -> Vec<u8> {
    [vec![1], blob(name.as_bytes()), vec![1], int(number), vec![0]].concat()
}

/// A definition of one of the kinds of types: list 2, struct 3, map 4, own encoding 5.
fn definition(kind: u8, name: &str, number: i64, rest: Vec<u8>) -> Vec<u8> {
    message(&[int(-number), vec![kind, 1], named(name, number), rest, vec![0, 0]])
}

/// The fields of vegeta's result, in its order.
const FIELDS: [(&str, i64); 12] = [
    ("Attack", TEXT),
    ("Seq", UINT),
    ("Code", UINT),
    ("Timestamp", TIME),
    ("Latency", INT),
    ("BytesOut", UINT),
    ("BytesIn", UINT),
    ("Error", TEXT),
    ("Body", BYTES),
    ("Method", TEXT),
    ("URL", TEXT),
    ("Headers", HEADERS),
];

/// The definitions at the beginning of a file.
fn head(fields: &[(&str, i64)]) -> Vec<u8> {
    let listed: Vec<u8> = fields.iter().flat_map(|(name, number)| named(name, *number)).collect();
    let of_result = [vec![1], uint(fields.len() as u64), listed].concat();
    [
        definition(3, "Result", RESULT, of_result),
        definition(5, "Time", TIME, Vec::new()),
        definition(4, "Header", HEADERS, [vec![1], int(TEXT), vec![1], int(TEXTS)].concat()),
        definition(2, "[]string", TEXTS, [vec![1], int(TEXT)].concat()),
    ]
    .concat()
}

/// Seconds of a day in November 2026 since year 1.
const DAY: i64 = 63_931_593_600;

/// A time as Go writes it, in UTC.
fn time(nanoseconds: u64) -> Vec<u8> {
    let seconds = DAY + (nanoseconds / 1_000_000_000) as i64;
    let rest = (nanoseconds % 1_000_000_000) as u32;
    [vec![1], seconds.to_be_bytes().to_vec(), rest.to_be_bytes().to_vec(), vec![0xff, 0xff]].concat()
}

/// Start, time and status of a request, times in ns.
type Hit = (u64, i64, u16);

/// A result; fields that are zero are left out, as Go does.
fn result(fields: &[(&str, i64)], seq: usize, (start, time_ns, code): Hit) -> Vec<u8> {
    let headers = [uint(1), blob(b"Server"), uint(2), blob(b"a"), blob(b"b")].concat();
    let (mut bytes, mut distance) = (int(RESULT), 0);
    for (name, _) in fields {
        distance += 1;
        let value = match *name {
            "Seq" if seq > 0 => uint(seq as u64),
            "Code" if code > 0 => uint(u64::from(code)),
            "Timestamp" => blob(&time(start)),
            "Latency" if time_ns != 0 => int(time_ns),
            "BytesIn" => uint(300),
            "Error" if code == 0 => blob(b"connection refused"),
            "Body" => blob(&[0xff; 300]),
            "Method" => blob(b"GET"),
            "Headers" => headers.clone(),
            _ => continue,
        };
        bytes.push(distance);
        bytes.extend(value);
        distance = 0;
    }
    message(&[bytes, vec![0]])
}

fn file(fields: &[(&str, i64)], hits: &[Hit]) -> Vec<u8> {
    let results = hits.iter().enumerate().flat_map(|(seq, hit)| result(fields, seq, *hit));
    head(fields).into_iter().chain(results).collect()
}

/// The same results as `vegeta encode` writes them.
fn json(hits: &[Hit]) -> String {
    let line = |(start, time_ns, code): &Hit| {
        let (seconds, rest) = (start / 1_000_000_000, start % 1_000_000_000);
        let (minute, second) = (seconds / 60, seconds % 60);
        format!(
            "{{\"attack\":\"\",\"code\":{code},\"timestamp\":\"2026-11-30T00:{minute:02}:{second:02}.{rest:09}Z\",\
             \"latency\":{time_ns},\"body\":\"\"}}\n"
        )
    };
    hits.iter().map(line).collect()
}

fn document(bytes: &[u8]) -> Document {
    read(bytes, &Known::default()).unwrap()
}

/// Two hundred requests at a steady rate, of which two were refused.
fn hits() -> Vec<Hit> {
    (0..200u64)
        .map(|at| {
            (at * 10_000_000, 2_000_000 + (at as i64 * 37) % 900_000, if at % 100 == 7 { 0 } else { 200 })
        })
        .collect()
}

#[test]
fn binary_results_are_read_like_the_same_results_as_json() {
    let hits = hits();
    let binary = document(&file(&FIELDS, &hits));
    assert_eq!(binary.format, "vegeta results");
    assert_eq!(binary.measurements[0].requests.as_ref().unwrap().text, "200");
    assert_eq!(binary.measurements[0].statuses, [(0, 2), (200, 198)]);
    assert_eq!(binary, document(json(&hits).as_bytes()));
}

#[test]
fn the_file_of_a_real_attack_is_read_like_what_vegeta_makes_of_it() {
    let binary = document(include_bytes!("vegeta-results.bin"));
    assert_eq!(binary.measurements[0].requests.as_ref().unwrap().text, "50");
    assert!(binary.measurements[0].silence.is_some(), "{binary:?}");
    assert_eq!(binary, document(include_bytes!("vegeta-results.json")));
}

#[test]
fn fields_are_found_by_their_names() {
    let mut fields = FIELDS;
    fields.reverse();
    assert_eq!(document(&file(&fields, &hits())), document(&file(&FIELDS, &hits())));
    let few = [("Timestamp", TIME), ("Latency", INT), ("Code", UINT)];
    assert_eq!(document(&file(&few, &hits())), document(&file(&FIELDS, &hits())));
}

#[test]
fn damaged_binary_results_are_refused_with_the_part_that_is_wrong() {
    let whole = file(&FIELDS, &hits()[..3]);
    let refused = |bytes: &[u8]| {
        let error = audit("results.bin", bytes, &Known::default()).unwrap_err();
        assert!(matches!(error, ReadError::Binary { .. }), "{error}");
        assert!(error.hint().contains("vegeta encode"));
        error.to_string()
    };
    // Four definitions and three results.
    assert!(refused(&whole[..whole.len() - 1]).starts_with("part 7 "));
    assert!(refused(&[whole.clone(), vec![0]].concat()).contains("length"));
    assert!(refused(&[whole.clone(), message(&[int(90), vec![0]])].concat()).starts_with("part 8 "));
    // Lengths and counts that the file does not have: a message of 2^62 bytes, a list of 2^62 fields.
    assert!(refused(&[whole.clone(), uint(1 << 62)].concat()).contains("length"));
    let many = definition(3, "More", 99, [vec![1], uint(1 << 62)].concat());
    assert!(refused(&[whole, many].concat()).contains("definition"));
}

#[test]
fn types_that_contain_themselves_end() {
    // Elements of a list that are such lists, each with one element.
    let fields = [("Latency", INT), ("Code", UINT), ("Loop", 70)];
    let endless = definition(2, "Loop", 70, [vec![1], int(70)].concat());
    let value = [int(RESULT), vec![3], vec![1; 100_000], vec![0, 0]];
    let bytes = [head(&fields), endless, message(&value)].concat();
    assert!(matches!(read(bytes.as_slice(), &Known::default()), Err(ReadError::Binary { .. })));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        cut in 0usize..2000,
        changes in prop::collection::vec((0usize..2000, any::<u8>()), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = file(&FIELDS, &hits()[..4]);
        for (at, byte) in changes {
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        bytes.truncate(cut);
        bytes.extend(tail);
        let _ = audit("results.bin", bytes.as_slice(), &Known::default());
    }
}
