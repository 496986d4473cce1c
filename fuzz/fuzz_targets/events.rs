//! Any bytes as a stream of events, in pieces whose sizes the input decides: by the rules of the HTML standard, as lines
//! of JSON, and by those of xk6-sse.
//!
//! Looks for panics, and for events that depend on the pieces.

#![no_main]

use knee_engine::http::events::{EventForm, EventReader, Found};
use knee_k6::sse::reader;
use libfuzzer_sys::fuzz_target;

// The first byte chooses the rules, the second the size of the pieces, the third how long the last event's data is.
fuzz_target!(|input: &[u8]| {
    let [rules, size, last, body @ ..] = input else { return };
    let size = usize::from(*size).max(1);
    let until = &body[..usize::from(*last).min(body.len()).min(8)];
    let form = if rules & 1 == 1 { EventForm::ServerSent } else { EventForm::Lines };
    let until = (rules & 2 == 2).then_some(until);
    assert_eq!(found(form, until, body, body.len().max(1)), found(form, until, body, size));
    assert_eq!(script(body, body.len().max(1)), script(body, size));
});

/// What is found up to the last event.
fn found(form: EventForm, until: Option<&[u8]>, body: &[u8], size: usize) -> Vec<Found> {
    let mut reader = EventReader::new(form, until);
    let mut all = Vec::new();
    for piece in body.chunks(size) {
        reader.feed(piece, |event| all.push(event));
        if let Some(place) = all.iter().position(|event| *event == Found::Last) {
            all.truncate(place + 1);
            return all;
        }
    }
    all.extend(reader.finish());
    all
}

fn script(body: &[u8], size: usize) -> Vec<reader::Found> {
    let mut reader = reader::EventReader::default();
    let mut all = Vec::new();
    for piece in body.chunks(size) {
        if reader.feed(piece, |one| all.push(one)).is_err() {
            break;
        }
    }
    all
}
