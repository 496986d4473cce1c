//! Events in bodies of both forms, in any pieces.

use std::hash::{BuildHasher, RandomState};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// What is found in a body that arrives in these pieces.
fn found(form: EventForm, until: Option<&str>, pieces: &[&[u8]]) -> Vec<Found> {
    let mut reader = EventReader::new(form, until.map(str::as_bytes));
    let mut all = Vec::new();
    for piece in pieces {
        reader.feed(piece, |event| all.push(event));
    }
    all.extend(reader.finish());
    all
}

fn events(body: &str) -> usize {
    found(EventForm::ServerSent, None, &[body.as_bytes()]).len()
}

#[test]
fn an_event_is_data_up_to_an_empty_line_whatever_ends_its_lines() {
    for (body, count) in [
        ("data: a\n\ndata: b\n\n", 2),
        ("data: a\r\n\r\ndata: b\r\n\r\n", 2),
        ("data: a\r\rdata: b\r\r", 2),
        ("data: a\ndata: b\n\n", 1),
        ("data\n\n", 1),
        ("data:\n\n", 1),
        ("\u{feff}data: a\n\n", 1),
        ("event: x\nid: 7\ndata: a\n\n", 1),
        ("", 0),
    ] {
        assert_eq!(events(body), count, "{body:?}");
    }
}

#[test]
fn comments_that_keep_a_connection_alive_and_events_without_data_do_not_count() {
    for body in
        [": ping\n\n", ":\n\n", "event: x\n\n", "retry: 10\n\n", "\n\n\n", "database: x\n\n", "data: cut off"]
    {
        assert_eq!(events(body), 0, "{body:?}");
    }
}

#[test]
fn a_stream_ends_at_the_event_with_the_given_data() {
    let last = |body: &str| found(EventForm::ServerSent, Some("[DONE]"), &[body.as_bytes()]);
    assert_eq!(last("data: a\n\ndata: [DONE]\n\ndata: b\n\n"), [Found::Event, Found::Last]);
    assert_eq!(last("data:[DONE]\n\n"), [Found::Last]);
    assert_eq!(last("data: [DONE] \n\ndata: [DONE\n\ndata: x[DONE]\n\n"), [Found::Event; 3]);
    assert_eq!(last("data: [DONE]\ndata: \n\n"), [Found::Event]);
    let two = found(EventForm::ServerSent, Some("a\nb"), &[b"data: a\ndata: b\n\n"]);
    assert_eq!(two, [Found::Last]);
}

#[test]
fn each_line_of_json_is_an_event_the_last_one_without_an_end_too() {
    let lines = |body: &str| found(EventForm::Lines, Some("{\"done\":true}"), &[body.as_bytes()]);
    assert_eq!(lines("{}\n\n{}\r\n{\"done\":true}"), [Found::Event, Found::Event, Found::Last]);
    assert_eq!(lines("\r\n\n"), []);
}

#[test]
fn the_content_type_says_what_an_event_is() {
    let form = |text: &str| EventForm::of(text.as_bytes());
    assert_eq!(form("text/event-stream"), Some(EventForm::ServerSent));
    assert_eq!(form(" Text/Event-Stream ; charset=utf-8"), Some(EventForm::ServerSent));
    assert_eq!(form("application/x-ndjson"), Some(EventForm::Lines));
    assert_eq!(form("application/json"), None);
    assert_eq!(form(""), None);
}

#[test]
fn any_pieces_of_a_body_have_the_same_events() {
    let seed = std::env::var("KNEE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("KNEE_TEST_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let parts =
        ["data", ":", " ", "\n", "\r", "\r\n", "[DONE]", "x", "\u{feff}", "event", "\n\n", "data: [DONE]"];
    for round in 0..20_000 {
        let length = random.random_range(0..24);
        let body: String = (0..length).map(|_| parts[random.random_range(0..parts.len())]).collect();
        let form = [EventForm::ServerSent, EventForm::Lines][random.random_range(0..2)];
        let whole = found(form, Some("[DONE]"), &[body.as_bytes()]);
        let mut cuts: Vec<usize> =
            (0..random.random_range(0..4)).map(|_| random.random_range(0..=body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &body.as_bytes()[pair[0]..pair[1]]).collect();
        // After the last event there is nothing more to read.
        let mut reader = EventReader::new(form, Some(b"[DONE]"));
        let mut all = Vec::new();
        for piece in pieces {
            if all.last() != Some(&Found::Last) {
                reader.feed(piece, |event| all.push(event));
            }
        }
        let is_over = all.last() == Some(&Found::Last);
        all.extend((!is_over).then(|| reader.finish()).flatten());
        let whole: Vec<Found> = match whole.iter().position(|event| *event == Found::Last) {
            Some(place) => whole[..=place].to_vec(),
            None => whole,
        };
        assert_eq!(all, whole, "round {round}: {body:?} in {form:?}");
    }
}
