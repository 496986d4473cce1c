//! Any bytes at all as an HTTP/1.1 answer, in pieces whose sizes the input decides.
//!
//! Looks for panics, for answers that read differently in one piece and in several, and for bodies
//! beyond the limit. Does not look at sockets or at content coding.

#![no_main]

use std::rc::Rc;

use knee_core::outcome::Fault;
use knee_engine::http::http1::reader::{Progress, ResponseReader};
use knee_engine::http::response::{ResponseHead, Sink};
use libfuzzer_sys::fuzz_target;

/// Most body bytes of an answer here.
const BODY_MAX: u64 = 4_096;

#[derive(Default)]
struct Reading {
    heads: u32,
    body: u64,
    ended: bool,
}

impl Sink for Reading {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        assert!((200..=999).contains(&head.status));
        self.heads += 1;
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        assert!(self.heads == 1 && !self.ended);
        self.body += bytes.len() as u64;
        assert!(self.body <= BODY_MAX);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        assert!(self.heads == 1 && !self.ended);
        self.ended = true;
        Ok(())
    }
}

/// Reads an answer in pieces of these sizes, in turn: what is left behind it, or the fault.
fn read(answer: &[u8], head_request: bool, sizes: &[usize]) -> Result<usize, Fault> {
    let mut reader = ResponseReader::new(BODY_MAX, Rc::default());
    let mut reading = Reading::default();
    reader.expect(head_request);
    let mut rest = answer;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at((*size).clamp(1, rest.len()));
        rest = later;
        if let Progress::Complete { surplus } = reader.feed(now, &mut reading)? {
            assert!(reading.ended);
            return Ok(surplus + rest.len());
        }
    }
    reader.feed_end(&mut reading)?;
    Ok(0)
}

// The first byte says whether a HEAD request is answered, the next three how long pieces are.
fuzz_target!(|data: &[u8]| {
    let [flags, first, second, third, answer @ ..] = data else { return };
    let head_request = flags & 1 == 1;
    let whole = read(answer, head_request, &[usize::MAX]);
    let sizes = [first, second, third].map(|size| usize::from(*size));
    assert_eq!(whole, read(answer, head_request, &sizes));
});
