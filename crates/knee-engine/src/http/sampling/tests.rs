//! Tests of looks: what is seen of a response, and how many responses are looked at.

use std::rc::Rc;

use knee_core::unit::Nanos;

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
    assert_eq!(seen.sent, 5);
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
