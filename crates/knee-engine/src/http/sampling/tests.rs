//! Tests of looks: what is seen of a response, and how many responses are looked at.

use std::rc::Rc;

use knee_core::unit::Nanos;

use super::copies::{BodyCopy, COPIED_MAX, KEPT_MAX};
use super::{CHECKED_MAX, KNOWN_MAX, Look, SAVED_MAX, Sampling, Seen, ServerId, Traits};
use crate::http::prepared::{PreparedRequest, RequestWriter};
use crate::http::response::{Fields, ResponseHead, Version};

fn request(method: &str, fields: &[(&str, &str)], body: &[u8]) -> PreparedRequest {
    let mut writer = RequestWriter::new(method, b"/", 0);
    for (name, value) in fields {
        writer.field(name, value.as_bytes());
    }
    writer.finish(body, true)
}

fn answer(look: &mut Look, status: u16, fields: &[(&'static str, &str)]) {
    let lines: Vec<_> =
        fields.iter().map(|(name, value)| httparse::Header { name, value: value.as_bytes() }).collect();
    look.head(&ResponseHead { version: Version::Http11, status, reason: "", fields: Fields::new(&lines) });
}

fn seen(request: &PreparedRequest, status: u16, fields: &[(&'static str, &str)]) -> Seen {
    let sampling = Rc::new(Sampling::new());
    let mut look = sampling.begin(request).unwrap();
    answer(&mut look, status, fields);
    look.body(b"abc");
    look.end(Some("10.0.0.1:80".parse().unwrap()), 7)
}

#[test]
fn a_page_without_compression_and_validators_is_seen_as_that() {
    let get = request("GET", &[("Accept-Encoding", "gzip, br")], b"");
    let seen = seen(&get, 200, &[("content-type", "Text/HTML; charset=utf-8")]);
    let traits = Traits { is_get: true, offered: true, is_text: true, is_kept: true, ..Traits::default() };
    assert_eq!(seen.traits, traits);
    assert_eq!((seen.server, seen.connection), (Some(ServerId(0)), 7));
}

#[test]
fn encodings_validators_methods_and_types_are_seen() {
    let get = request("GET", &[], b"");
    let json = ("content-type", "application/problem+json");
    let of = |fields: &[(&'static str, &str)]| seen(&get, 200, fields).traits;
    assert!(of(&[json]).is_text && !of(&[json]).is_kept && !of(&[json]).offered);
    assert!(of(&[json, ("Content-Encoding", "br")]).compressed);
    assert!(!of(&[json, ("content-encoding", "identity")]).compressed);
    let settled = [
        ("cache-control", "private, no-store"),
        ("cache-control", "public, max-age=60"),
        ("expires", "later"),
    ];
    for field in settled.into_iter().chain([("etag", "\"1\""), ("last-modified", "now")]) {
        assert!(of(&[field]).is_validated, "{field:?}");
    }
    assert!(!of(&[("cache-control", "max-age=0")]).is_validated);
    for kind in ["image/png", "font/woff2", "text/css", "image/svg+xml", "application/octet-stream"] {
        assert!(of(&[("content-type", kind)]).is_kept, "{kind}");
    }
    for kind in ["", "text/xml", "text/csv", "application/grpc", "text/event-stream", "application/ld+json"] {
        assert!(!of(&[("content-type", kind)]).is_kept, "{kind}");
    }
    let asking = request("GET", &[("connection", "close")], b"");
    assert!(!seen(&asking, 200, &[("connection", "close")]).traits.is_closing, "the load wants it");
    assert!(of(&[("Connection", "Close")]).is_closing && !of(&[("connection", "keep-alive")]).is_closing);
    for kind in ["", "image/png", "text/event-stream", "application/grpc"] {
        assert!(!of(&[("content-type", kind)]).is_text, "{kind}");
    }
    let put = request("PUT", &[], b"12345");
    let seen = seen(&put, 304, &[("content-type", "text/html")]);
    assert!(seen.traits.is_write && seen.traits.not_modified && !seen.traits.is_kept);
    assert_eq!((seen.sent, seen.cookie), (5, 0));
}

#[test]
fn a_few_long_bodies_are_copied_after_the_warm_up_spread_over_the_run_and_one_per_second_at_most() {
    let (sampling, get) = (Rc::new(Sampling::new()), request("GET", &[], b""));
    sampling.copy_from(Nanos::from_secs(5));
    let mut seconds = Vec::new();
    for tenth in 0..1_000 {
        let second = tenth / 10;
        sampling.passed(Nanos::from_millis(100 * tenth));
        let Some(mut look) = sampling.begin(&get) else { continue };
        answer(&mut look, 200, &[("Content-Length", "409600")]);
        for _ in 0..100 {
            look.body(&[second as u8; 4_096]);
        }
        if look.end(None, 0).copy.is_some() {
            seconds.push(second);
        }
    }
    assert!(seconds[0] >= 5 && seconds.windows(2).all(|pair| pair[1] > pair[0]), "{seconds:?}");
    let copies = sampling.take_copies();
    assert!((KEPT_MAX / 2..=KEPT_MAX).contains(&copies.len()), "{}", copies.len());
    assert!(copies.iter().all(|copy| copy.bytes.len() == COPIED_MAX));
    assert!(copies[0].bytes[0] < 10 && copies.iter().any(|copy| copy.bytes[0] > 75));
    assert!(sampling.take_copies().is_empty());
}

#[test]
fn short_bodies_and_errors_are_not_copied_and_neither_are_two_bodies_at_once() {
    let (sampling, get) = (Rc::new(Sampling::new()), request("GET", &[], b""));
    let look = |fields: &[(&'static str, &str)], status: u16| {
        let mut look = Look::at(sampling.clone(), &get);
        answer(&mut look, status, fields);
        look
    };
    let long = [("content-length", "90000")];
    assert_eq!(look(&[("content-length", "9000")], 200).end(None, 0).copy, None, "its length says so");
    let (mut first, mut second) = (look(&[], 200), look(&long, 200));
    first.body(&[1; 9_000]);
    second.body(&vec![1; 90_000]);
    assert_eq!(second.end(None, 0).copy, None, "another one is being copied");
    assert_eq!(first.end(None, 0).copy, None, "it turned out to be short");
    sampling.passed(Nanos::from_secs(2));
    assert_eq!(look(&long, 500).end(None, 0).copy, None);
    drop(look(&long, 200));
    sampling.passed(Nanos::from_secs(4));
    let mut third = look(&long, 200);
    third.body(&vec![3; 90_000]);
    assert_eq!(third.end(None, 0).copy, Some(0), "a request that failed before keeps none from it");
    assert_eq!(sampling.take_copies(), [BodyCopy { number: 0, bytes: vec![3; 90_000] }]);
}

#[test]
fn cookies_of_the_request_are_measured_in_whichever_fields_they_are() {
    let get = request("GET", &[("cookie", "a=1"), ("Accept", "*/*"), ("Cookie", "b=22; c=3")], b"");
    assert_eq!(seen(&get, 200, &[]).cookie, 12);
}

#[test]
fn a_server_has_the_name_that_a_header_gives_it_and_of_too_many_names_the_rest_have_none() {
    let get = request("GET", &[], b"");
    let sampling = Rc::new(Sampling::new());
    let of = |fields: &[(&'static str, &str)]| {
        let mut look = Look::at(sampling.clone(), &get);
        answer(&mut look, 200, fields);
        look.end(Some("10.0.0.1:80".parse().unwrap()), 0).server.unwrap()
    };
    let named = |name: &str| of(&[("X-Served-By", name)]);
    assert_eq!(of(&[]), ServerId(0), "by its address");
    assert_eq!((named("web-1"), named("web-2"), named("web-1")), (ServerId(1), ServerId(2), ServerId(1)));
    let met = ["10.0.0.1:80", "x-served-by: web-1", "x-served-by: web-2"];
    assert_eq!(sampling.take_new_servers(), met);
    assert_eq!(sampling.take_new_servers(), [""; 0]);
    for number in 3..KNOWN_MAX {
        assert_eq!(named(&format!("id-{number}")), ServerId(number as u8));
    }
    assert_eq!(named("one more"), ServerId(KNOWN_MAX as u8));
    assert_eq!(sampling.take_new_servers().len(), KNOWN_MAX - 3, "and no name for it");
}

#[test]
fn bodies_differ_by_their_beginning_and_their_length() {
    let get = request("GET", &[], b"");
    let of = |pieces: &[&[u8]]| {
        let mut look = Look::at(Rc::new(Sampling::new()), &get);
        answer(&mut look, 200, &[]);
        for piece in pieces {
            look.body(piece);
        }
        look.end(None, 0).body
    };
    let long = vec![7; 3 * CHECKED_MAX];
    assert_eq!(of(&[b"ab", b"c"]), of(&[b"abc"]));
    assert_ne!(of(&[b"abc"]), of(&[b"abd"]));
    assert_ne!(of(&[&long]), of(&[&long[1..]]));
    assert_eq!(of(&[&long[..100], &long[100..]]), of(&[&long]));
}

#[test]
fn at_most_one_look_begins_per_five_milliseconds_and_a_few_at_once() {
    let (sampling, get) = (Rc::new(Sampling::new()), request("GET", &[], b""));
    let mut looks = 0;
    for micros in (0..1_000_000).step_by(10) {
        looks += u64::from(sampling.begin(&get).is_some());
        sampling.passed(Nanos::from_micros(micros));
    }
    assert!((190..=200 + SAVED_MAX).contains(&looks), "{looks}");
    let rare = (2..302).filter(|second| {
        sampling.passed(Nanos::from_secs(*second));
        sampling.begin(&get).is_some()
    });
    assert!((100..300).contains(&rare.count()), "with few requests, every second one is looked at");
}

#[test]
fn a_rhythm_of_the_load_does_not_hide_a_server_from_the_looks() {
    // One user whose requests go to a fast and a slow server alternately.
    let (sampling, get) = (Rc::new(Sampling::new()), request("GET", &[], b""));
    let (mut at, mut looks) = (Nanos::ZERO, [0_u32; 2]);
    for number in 0..2_000 {
        let is_slow = number % 2;
        looks[is_slow] += u32::from(sampling.begin(&get).is_some());
        at += Nanos::from_millis(if is_slow == 1 { 20 } else { 1 });
        sampling.passed(at);
    }
    assert!(looks.iter().all(|looks| *looks > 300), "{looks:?}");
}
