//! The result of a request, in the terms of k6's response object.
//!
//! Plain data; becomes JavaScript in `module/response.rs`.

use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::decode::output::BodyBuffer;
use knee_engine::http::peer::Peer;
use knee_engine::http::response::Version;
use knee_engine::recorder::Marks;

use super::error_code;
use super::request::{Keep, Request, Target, canonical};
use crate::account::Charge;

/// k6's timings of one request; all but `duration` are parts of it or come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// From the call until the first byte was sent.
    pub blocked: Nanos,
    /// Time spent on the host name.
    pub looking_up: Nanos,
    /// Time spent on the TCP connection.
    pub connecting: Nanos,
    /// Time spent on TLS.
    pub tls_handshaking: Nanos,
    /// First to last byte of the request.
    pub sending: Nanos,
    /// Last byte of the request to first byte of the response.
    pub waiting: Nanos,
    /// First to last byte of the response.
    pub receiving: Nanos,
}

impl Timings {
    /// The timings of an exchange that was begun at `begun` and `done` at that time.
    pub fn of(marks: &Marks, begun: Nanos, done: Nanos) -> Self {
        let mut timings = Self {
            looking_up: marks.dns,
            connecting: marks.connect,
            tls_handshaking: marks.tls,
            ..Self::default()
        };
        if marks.sent_last == Nanos::ZERO {
            timings.blocked = done.since(begun);
            return timings;
        }
        timings.blocked = marks.sent_last.since(begun);
        if marks.sent_all > Nanos::ZERO {
            timings.sending = marks.sent_all.since(marks.sent_last);
            let answered = if marks.first_byte > Nanos::ZERO { marks.first_byte } else { done };
            timings.waiting = answered.since(marks.sent_all);
            timings.receiving = done.since(answered);
        }
        timings
    }

    /// k6's `http_req_duration`: without name, connection and TLS.
    pub fn duration(&self) -> Nanos {
        self.sending + self.waiting + self.receiving
    }
}

/// Header lines of a response: one buffer, and where in it each name and value are.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    text: Vec<u8>,
    lines: Vec<(u32, u32)>,
}

impl Headers {
    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Makes room for so many lines with so many bytes of names and values.
    pub fn reserve(&mut self, lines: usize, bytes: usize) {
        self.lines.reserve_exact(lines);
        self.text.reserve_exact(bytes);
    }

    /// Adds a line.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let middle = self.text.len() as u32;
        self.text.extend_from_slice(value);
        self.lines.push((middle, self.text.len() as u32));
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.lines.capacity() * size_of::<(u32, u32)>()
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut from = 0;
        self.lines.iter().map(move |(middle, end)| {
            let (name, value) =
                (&self.text[from..*middle as usize], &self.text[*middle as usize..*end as usize]);
            from = *end as usize;
            (name, value)
        })
    }

    /// The first value of a name, ignoring case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut lines = self.iter();
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }
}

/// The outcome of a request.
#[derive(Debug)]
pub struct Answer {
    /// The request, or the last one of a chain of redirects.
    pub request: Rc<Request>,
    /// URL of that last one.
    pub target: Rc<Target>,
    /// Status; 0 without a complete response.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Its header lines.
    pub headers: Headers,
    /// Its body, decoded; counts towards the memory budget of the run.
    pub body: BodyBuffer,
    /// Version of HTTP of the response.
    pub version: Version,
    /// Whether the response ended within its body, which k6 shows as far as it came.
    pub is_cut: bool,
    /// Handling of the body.
    pub keep: Keep,
    /// The error, with k6's error code.
    pub error: Option<(String, u16)>,
    /// Timings.
    pub timings: Timings,
    /// The server that answered, if any.
    pub peer: Option<Peer>,
    /// The error in more detail than scripts see.
    pub detail: Option<String>,
    /// The memory that it takes in its VU.
    pub memory: Charge,
    /// Whether the VU had no memory left for the body. The script gets no response then, but an error.
    pub is_out_of_memory: bool,
}

/// Bytes of an answer and of the object that shows it to a script. Its texts are counted on their own.
const ANSWER_BYTES: usize = 1 << 10;

impl Answer {
    /// No response yet to a request of `target`; its body is kept in `body`.
    pub(super) fn new(
        request: &Rc<Request>,
        target: &Rc<Target>,
        timings: Timings,
        body: BodyBuffer,
    ) -> Box<Self> {
        Box::new(Self {
            request: request.clone(),
            target: target.clone(),
            status: 0,
            reason: String::new(),
            headers: Headers::default(),
            body,
            version: Version::default(),
            is_cut: false,
            keep: request.keep,
            error: None,
            timings,
            peer: None,
            detail: None,
            memory: request.account().empty(),
            is_out_of_memory: false,
        })
    }

    /// Makes it a failure although a response came.
    pub(super) fn fail(&mut self, words: String) {
        self.status = 0;
        self.headers.clear();
        self.body.clear();
        self.peer = None;
        self.error = Some((words, 1000));
    }

    /// The protocol as scripts see it; empty without a response.
    pub fn protocol(&self) -> &'static str {
        if self.status > 0 { self.version.name() } else { "" }
    }

    /// Counts the memory that it holds.
    pub fn count_memory(&mut self) {
        let texts = self.body.capacity() + self.headers.bytes() + self.reason.len();
        self.memory.note(ANSWER_BYTES + texts);
    }

    /// The URL that the response shows: that of the last request, as Go writes it, or as the script wrote it if the
    /// request failed.
    pub fn url(&self) -> &str {
        if self.error.is_some() { &self.target.written } else { &self.target.text }
    }

    /// Whether there is a body, be it an empty one: not without a response, and not with a status that has none.
    pub fn has_body(&self) -> bool {
        let by_status = !matches!(self.status, 0 | 100..200 | 204 | 304);
        self.keep != Keep::Nothing && (self.is_cut || by_status)
    }

    /// k6's error code; 0 if there was no error.
    pub fn error_code(&self) -> u16 {
        self.error.as_ref().map_or_else(|| error_code::of_status(self.status), |(_, code)| *code)
    }
}

/// A header name of a response as scripts see it.
pub fn shown_name(name: &[u8]) -> String {
    canonical(&String::from_utf8_lossy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_come_back_as_they_went_in() {
        let mut headers = Headers::default();
        headers.push(b"A", b"1");
        headers.push(b"Bb", b"");
        let lines: Vec<_> = headers.iter().collect();
        assert_eq!(lines, [(&b"A"[..], &b"1"[..]), (&b"Bb"[..], &b""[..])]);
        assert_eq!(headers.get("a"), Some(&b"1"[..]));
    }

    #[test]
    fn duration_leaves_out_what_came_before_the_first_byte() {
        let ms = Nanos::from_millis;
        let marks = Marks {
            connect: ms(5),
            sent: ms(6),
            sent_last: ms(6),
            sent_all: ms(7),
            first_byte: ms(17),
            ..Marks::default()
        };
        let timings = Timings::of(&marks, ms(1), ms(20));
        assert_eq!(timings.duration(), ms(14));
        assert_eq!((timings.blocked, timings.waiting, timings.receiving), (ms(5), ms(10), ms(3)));
    }
}
