//! Randomly changed responses in pieces of any size: no panic, bounded memory, and the same result
//! for all pieces.
//!
//! The fuzz target `response` tests the same for longer.

use std::hash::{BuildHasher, RandomState};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// How many changed responses are read.
const ROUNDS: u32 = 100_000;
/// Maximum body of a response here, in bytes.
const BODY_MAX: u64 = 4_096;

/// The responses that are changed.
const RESPONSES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nT: x\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n\r\nuntil the end",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\nContent-Length: 7\n\n",
    b"HTTP/1.1 503 \r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
];

/// Strings that parsers tend to handle wrongly.
const TRICKY_BYTES: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\r\n\r\n",
    b":",
    b" ",
    b"0\r\n\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 ",
    b"\xff",
    b"-",
    b"999",
];

#[derive(Default, Debug, PartialEq)]
struct ReadOutcome {
    heads: u32,
    body: u64,
    ended: bool,
    /// Surplus bytes, or the fault.
    end: Option<Result<usize, Fault>>,
}

impl Sink for ReadOutcome {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        assert!((200..=999).contains(&head.status));
        assert!(head.fields.iter().len() <= HEADERS_MAX);
        self.heads += 1;
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        assert!(self.heads == 1 && !self.ended, "a body comes between its head and its end");
        self.body += bytes.len() as u64;
        assert!(self.body <= BODY_MAX);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        assert!(self.heads == 1 && !self.ended, "a response ends once");
        self.ended = true;
        Ok(())
    }
}

/// One change at a random place.
fn change(response: &mut Vec<u8>, random: &mut SmallRng) {
    let at = random.random_range(0..=response.len());
    let to = (at + random.random_range(0..8)).min(response.len());
    match random.random_range(0..6) {
        0 => response.truncate(at),
        1 => drop(response.drain(at..to)),
        2 => {
            let bit = TRICKY_BYTES[random.random_range(0..TRICKY_BYTES.len())];
            response.splice(at..at, bit.iter().copied());
        }
        3 => {
            let copy = response[at..to].repeat(random.random_range(1..40));
            response.splice(at..at, copy);
        }
        4 => {
            let other = RESPONSES[random.random_range(0..RESPONSES.len())];
            let from = random.random_range(0..other.len());
            response.splice(at..to, other[from..].iter().copied());
        }
        _ if at < response.len() => response[at] = random.random(),
        _ => {}
    }
}

/// Reads `response` in pieces of the sizes that `piece` returns, up to its end or a fault.
fn read(response: &[u8], head_request: bool, mut piece: impl FnMut() -> usize) -> ReadOutcome {
    let mut reader = ResponseReader::new(BODY_MAX, Rc::default());
    let mut outcome = ReadOutcome::default();
    reader.expect(head_request);
    let mut rest = response;
    while outcome.end.is_none() {
        let (now, later) = rest.split_at(piece().clamp(1, rest.len().max(1)).min(rest.len()));
        rest = later;
        let end = if now.is_empty() {
            reader.feed_end(&mut outcome).map(|()| Progress::Complete { surplus: 0 })
        } else {
            reader.feed(now, &mut outcome)
        };
        assert!(reader.partial.capacity() <= 2 * (HEAD_MAX + response.len()), "memory is bounded");
        outcome.end = match end {
            Ok(Progress::More) => None,
            Ok(Progress::Complete { surplus }) => Some(Ok(surplus + rest.len())),
            Err(fault) => Some(Err(fault)),
        };
    }
    outcome
}

#[test]
fn changed_responses_never_panic_and_read_the_same_in_any_pieces() {
    let seed = std::env::var("KNEE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("KNEE_TEST_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    for round in 0..ROUNDS {
        let mut response = RESPONSES[random.random_range(0..RESPONSES.len())].to_vec();
        for _ in 0..random.random_range(0..6) {
            change(&mut response, &mut random);
        }
        let head_request = random.random_ratio(1, 8);
        let whole = read(&response, head_request, || usize::MAX);
        let largest = random.random_range(1..=response.len().max(1));
        let pieces = read(&response, head_request, || random.random_range(1..=largest));
        let mut same = whole.end == pieces.end && whole.ended == pieces.ended;
        // How much of a body is read before a fault depends on the pieces.
        same &= whole.end.is_some_and(|end| end.is_err()) || whole.body == pieces.body;
        assert!(same, "round {round}: {whole:?} {pieces:?} {:?}", response.escape_ascii().to_string());
    }
}
