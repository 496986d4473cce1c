//! Reads HTTP/1.1 responses from bytes that arrive in any pieces.
//!
//! Pure: no I/O, no clock; the fuzz target tests it. Strict where lenient reading could assign
//! bytes to the wrong request (framing), lenient elsewhere. Allocates only if a head does not
//! arrive in one piece; such heads count towards the memory budget.

use std::mem::MaybeUninit;
use std::rc::Rc;

use httparse::{ParserConfig, Status};
use knee_core::outcome::Fault;

use super::super::memory::{HEAD_FREE, MemoryBudget, MemoryShare};
use super::super::response::{Fields, ResponseHead, Sink, Version};
use super::framing::Framing;

/// Maximum number of header lines in one head.
const HEADERS_MAX: usize = 256;
/// Maximum length of a head in bytes. Go's client, and so k6, allows 1 MiB, browsers 256 KiB.
const HEAD_MAX: usize = 256 * 1024;
/// Maximum number of interim (1xx) responses before the final one.
const INTERIM_MAX: u8 = 64;

/// Whether a response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The response is complete.
    Complete {
        /// Bytes of the input after the end of the response, which no request asked for.
        surplus: usize,
    },
}

/// Reads the responses of a connection in sequence.
#[derive(Debug)]
pub struct ResponseReader {
    state: ReadState,
    head_request: bool,
    body_max: u64,
    /// Status of the final head; 0 before it.
    status: u16,
    keep_alive: bool,
    interim: u8,
    body_received: u64,
    /// The start of a head that is not complete yet.
    partial: Vec<u8>,
    /// The memory of `partial`.
    share: MemoryShare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadState {
    Head,
    Body(Framing),
    Done,
}

/// What the reader keeps of a head; borrows nothing.
#[derive(Clone, Copy, Debug)]
struct Facts {
    status: u16,
    keep_alive: bool,
    framing: Framing,
}

impl ResponseReader {
    /// A reader that refuses bodies over `body_max` bytes and takes its memory from `budget`.
    pub fn new(body_max: u64, budget: Rc<MemoryBudget>) -> Self {
        Self {
            state: ReadState::Done,
            head_request: false,
            body_max,
            status: 0,
            keep_alive: false,
            interim: 0,
            body_received: 0,
            partial: Vec::new(),
            share: MemoryShare::new(budget, HEAD_FREE),
        }
    }

    /// Starts the response to one request. A response to a `HEAD` request has no body.
    pub fn expect(&mut self, head_request: bool) {
        self.state = ReadState::Head;
        self.head_request = head_request;
        (self.status, self.keep_alive, self.interim, self.body_received) = (0, false, 0, 0);
        self.partial.clear();
    }

    /// Status of the response; 0 before its final head.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of body received so far.
    pub const fn body_received(&self) -> u64 {
        self.body_received
    }

    /// Whether the connection can be used again after this response.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive && self.state == ReadState::Done
    }

    /// Whether any byte of the response has arrived.
    pub fn begun(&self) -> bool {
        self.state != ReadState::Head || self.interim > 0 || !self.partial.is_empty()
    }

    /// Whether the end of the connection is the end of the response.
    pub fn is_until_close(&self) -> bool {
        self.state == ReadState::Body(Framing::UntilClose)
    }

    /// Reads the next bytes of the connection.
    pub fn feed<S: Sink>(&mut self, mut input: &[u8], sink: &mut S) -> Result<Progress, Fault> {
        while self.state == ReadState::Head {
            match self.feed_head(input, sink)? {
                Some(used) => input = &input[used..],
                None => return Ok(Progress::More),
            }
        }
        self.feed_body(input, sink)
    }

    /// Handles the end of the connection.
    pub fn feed_end<S: Sink>(&mut self, sink: &mut S) -> Result<(), Fault> {
        match self.state {
            ReadState::Body(Framing::UntilClose) => {
                self.state = ReadState::Done;
                sink.end()
            }
            ReadState::Head if !self.begun() => Err(Fault::ClosedEarly),
            ReadState::Head => {
                let parsed = parse_head(&self.partial, self.head_request, sink);
                Err(parsed.err().unwrap_or(Fault::ShortHead))
            }
            ReadState::Body(_) => Err(Fault::ShortBody),
            ReadState::Done => Ok(()),
        }
    }

    /// Reads a head; returns how many bytes of `input` belong to it, or `None` if it is not complete
    /// yet.
    fn feed_head<S: Sink>(&mut self, input: &[u8], sink: &mut S) -> Result<Option<usize>, Fault> {
        if self.partial.is_empty() {
            // The parser would skip any number of empty lines.
            if matches!(input.first(), Some(b'\r' | b'\n')) {
                return Err(Fault::MalformedHead);
            }
            let parsed = parse_head(input, self.head_request, sink)?;
            match parsed {
                Some((_, facts)) => self.take_head(facts),
                None => self.keep_partial(input)?,
            }
            return Ok(parsed.map(|(used, _)| used));
        }
        let before = self.partial.len();
        self.keep_partial(input)?;
        // Parse again only if the new bytes can end the head: otherwise a head that arrives byte by
        // byte would be parsed once per byte.
        let news = &self.partial[before.saturating_sub(3)..];
        let may_end = news.windows(2).any(|pair| pair == b"\n\n" || pair == b"\n\r");
        if !may_end && self.partial.len() <= HEAD_MAX {
            return Ok(None);
        }
        let partial = std::mem::take(&mut self.partial);
        let parsed = parse_head(&partial, self.head_request, sink);
        self.partial = partial;
        match parsed? {
            Some((used, facts)) => {
                self.partial = Vec::new();
                self.share.release();
                self.take_head(facts);
                Ok(Some(used.saturating_sub(before)))
            }
            None if self.partial.len() > HEAD_MAX => Err(Fault::HeadTooLarge),
            None => Ok(None),
        }
    }

    /// Keeps more of a head that is not complete yet.
    fn keep_partial(&mut self, input: &[u8]) -> Result<(), Fault> {
        let length = self.partial.len() + input.len();
        if length > self.partial.capacity() {
            // Doubles, as vectors do, but not beyond the largest head.
            let capacity = length.next_power_of_two().min(HEAD_MAX).max(length);
            if !self.share.hold(capacity as u64) {
                return Err(Fault::MemoryLimit);
            }
            self.partial.reserve_exact(capacity - self.partial.len());
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    fn take_head(&mut self, facts: Facts) {
        if facts.status < 200 {
            // `feed_body` makes too many of them a fault; the count must not wrap before that.
            self.interim = self.interim.saturating_add(1);
            if self.interim > INTERIM_MAX {
                self.state = ReadState::Body(Framing::Length(0));
            }
            return;
        }
        self.status = facts.status;
        self.keep_alive = facts.keep_alive;
        self.state = ReadState::Body(facts.framing);
    }

    fn feed_body<S: Sink>(&mut self, mut input: &[u8], sink: &mut S) -> Result<Progress, Fault> {
        let ReadState::Body(framing) = &mut self.state else {
            return Ok(Progress::Complete { surplus: input.len() });
        };
        if self.status == 0 {
            return Err(Fault::TooManyInterim);
        }
        let mut complete = framing.is_complete();
        while !complete && !input.is_empty() {
            let piece = framing.advance(input)?;
            let body = &input[piece.body.0..piece.body.1];
            if !body.is_empty() {
                self.body_received += body.len() as u64;
                if self.body_received > self.body_max {
                    return Err(Fault::BodyLimit);
                }
                sink.body(body)?;
            }
            input = &input[piece.used..];
            complete = piece.complete;
        }
        if !complete {
            return Ok(Progress::More);
        }
        self.state = ReadState::Done;
        sink.end()?;
        Ok(Progress::Complete { surplus: input.len() })
    }
}

/// Parses a head and passes it to `sink` if it is final; `None` if it is not complete.
///
/// A line that ends in a line feed alone is accepted, as RFC 9112 (section 2.2) allows and other clients do: the end of
/// the head stays unambiguous. A carriage return alone is refused, because parsers differ in what they take it for.
fn parse_head<S: Sink>(
    input: &[u8],
    head_request: bool,
    sink: &mut S,
) -> Result<Option<(usize, Facts)>, Fault> {
    let mut lines = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, input, &mut lines)
        .map_err(|error| match error {
            httparse::Error::TooManyHeaders => Fault::HeadTooLarge,
            httparse::Error::HeaderName | httparse::Error::HeaderValue => Fault::MalformedHeader,
            _ => Fault::MalformedHead,
        })?;
    let Status::Complete(used) = parsed else {
        return Ok(None);
    };
    if used > HEAD_MAX {
        return Err(Fault::HeadTooLarge);
    }
    let status = response.code.unwrap_or(0);
    let facts = match status {
        101 => return Err(Fault::UnexpectedUpgrade),
        100..=199 => Facts { status, keep_alive: true, framing: Framing::Length(0) },
        200..=999 => facts_of(&response, status, head_request)?,
        _ => return Err(Fault::MalformedHead),
    };
    if status >= 200 {
        sink.head(&ResponseHead {
            status,
            version: if response.version == Some(0) { Version::Http10 } else { Version::Http11 },
            reason: response.reason.unwrap_or(""),
            fields: Fields::new(response.headers),
        })?;
    }
    Ok(Some((used, facts)))
}

/// Framing and keep-alive by the headers (RFC 9112, sections 6.3 and 9.3).
fn facts_of(response: &httparse::Response<'_, '_>, status: u16, head_request: bool) -> Result<Facts, Fault> {
    let mut length: Option<u64> = None;
    let mut chunked = None;
    let mut keep_alive = response.version == Some(1);
    let mut close = false;
    for header in response.headers.iter() {
        // The length of a name excludes most headers without a comparison.
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let value = parse_length(header.value)?;
                if length.is_some_and(|known| known != value) {
                    return Err(Fault::BadLength);
                }
                length = Some(value);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                // To a client that sent no TE header, a server can send only plain chunked, and only once
                // (RFC 9112, section 6.1).
                let plain = header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                if !plain || chunked.is_some() {
                    return Err(Fault::BadTransferCoding);
                }
                chunked = Some(());
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                for token in header.value.split(|byte| *byte == b',') {
                    match token.trim_ascii() {
                        token if token.eq_ignore_ascii_case(b"close") => close = true,
                        token if token.eq_ignore_ascii_case(b"keep-alive") => keep_alive = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let framing = match (length, chunked) {
        (Some(_), Some(())) => return Err(Fault::ConflictingFraming),
        _ if head_request || status == 204 || status == 304 => Framing::Length(0),
        (Some(length), None) => Framing::Length(length),
        (None, Some(())) => Framing::CHUNKED,
        (None, None) => {
            keep_alive = false;
            Framing::UntilClose
        }
    };
    // HTTP/1.0 has no chunks: their meaning is not defined there (RFC 9112, section 6.1).
    close |= chunked.is_some() && response.version != Some(1);
    Ok(Facts { status, keep_alive: keep_alive && !close, framing })
}

/// A length, or a list that repeats it: proxies join header lines of the same name (RFC 9110, section 8.6).
fn parse_length(value: &[u8]) -> Result<u64, Fault> {
    let mut length = None;
    for part in value.split(|byte| *byte == b',') {
        let digits = part.trim_ascii();
        if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Fault::BadLength);
        }
        let value = digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        if length.is_some_and(|known| known != value) {
            return Err(Fault::BadLength);
        }
        length = Some(value);
    }
    length.ok_or(Fault::BadLength)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod mutated;
