//! What a response is, in any version of HTTP, and how an exchange ends.
//!
//! Plain data. [`super::http1`] and [`super::http2`] read it from bytes.

use std::task::{Context, Poll};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::failure::Failure;
use super::peer::Peer;

/// Receives a response in order: one head, then the body in pieces.
pub trait Sink {
    /// The final head. A fault ends the request.
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault>;

    /// The next bytes of the body, not decoded. A fault ends the request.
    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault>;

    /// The body is complete. A fault ends the request.
    fn end(&mut self) -> Result<(), Fault>;

    /// What follows was read at this time.
    fn read_at(&mut self, _at: Nanos) {}

    /// The request goes to this server; `None` for a Unix socket.
    fn reached(&mut self, _peer: Option<Peer>) {}

    /// Whether more is to be read, asked before each read. `Pending` is not now; `false` is never: the response is good
    /// as it is, has no end, and its connection is not used again. The task is woken when the answer changes.
    fn poll_wants(&mut self, _ctx: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(true)
    }
}

/// The final head of a response.
#[derive(Debug)]
pub struct ResponseHead<'a> {
    /// Version of HTTP that the server says it speaks.
    pub version: Version,
    /// Status code, 200 to 999.
    pub status: u16,
    /// Reason phrase after the status code.
    pub reason: &'a str,
    /// Header fields in order.
    pub fields: Fields<'a>,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2.
    Http2,
}

impl Version {
    /// Its name, for HTTP/1 as on the wire, for HTTP/2 as Go has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
        }
    }
}

/// Header fields of a response, in order.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    lines: &'a [httparse::Header<'a>],
}

impl<'a> Fields<'a> {
    /// The fields of parsed header lines.
    pub(super) const fn new(lines: &'a [httparse::Header<'a>]) -> Self {
        Self { lines }
    }

    /// Names and values.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, &'a [u8])> + Clone {
        self.lines.iter().map(|line| (line.name, line.value))
    }

    /// The first value of a name, ignoring case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        // The length of a name excludes most fields without a comparison.
        let is = |known: &str| known.len() == name.len() && known.eq_ignore_ascii_case(name);
        self.iter().find(|(known, _)| is(known)).map(|(_, value)| value)
    }
}

/// A complete response.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// When its last byte was read.
    pub done: Nanos,
    /// Whether unexpected bytes followed.
    pub surplus: bool,
    /// Whether the connection can be used again.
    pub keep_alive: bool,
}

/// The failure of an exchange: no complete response.
#[derive(Debug)]
pub struct ExchangeError {
    /// What went wrong.
    pub failure: Failure,
    /// When it was noticed.
    pub at: Nanos,
    /// Whether the server can have processed the request.
    pub unprocessed: Unprocessed,
}

/// Whether a server left a request unprocessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprocessed {
    /// It processed it, as far as is known.
    No,
    /// Possibly: it closed the connection while that was idle.
    Possibly,
    /// It says so.
    Surely,
}

impl Unprocessed {
    /// Whether a request can be sent again; `is_repeatable` if it has the same effect twice.
    pub const fn allows(self, is_repeatable: bool) -> bool {
        match self {
            Self::No => false,
            Self::Possibly => is_repeatable,
            Self::Surely => true,
        }
    }
}

/// Bytes of one exchange so far; known also after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Bytes of the request handed to the kernel; over TLS all or none.
    pub sent: u64,
    /// Bytes of the response received, including heads.
    pub received: u64,
    /// Bytes of its body received.
    pub body: u64,
}

/// What was received outside of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleState {
    /// Nothing.
    Quiet,
    /// The end of the stream, or its announcement.
    Closed,
    /// Bytes that no request asked for.
    Unsolicited,
}
