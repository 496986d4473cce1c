//! Looks at some responses per second more closely than at all others: headers, body, server and connection.
//!
//! A look reads a dozen headers and makes a checksum of at most 64 KiB, so not every response gets one: a worker has
//! one look per [`PACE`], saves up a few, and leaves out requests at random, because a load can have a rhythm. Of a few
//! looks it keeps the beginning of the body; see [`copies`]. Allocates only for these, and for a server that was not
//! seen before. Does not add up; see [`crate::sampled`].

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use knee_core::sampled::SERVERS_MAX;
use knee_core::unit::Nanos;

use super::prepared::PreparedRequest;
use super::response::ResponseHead;

pub mod copies;

use copies::{BodyCopy, Copies, Copying};

/// Time that gives a worker one more look.
const PACE: Nanos = Nanos::from_millis(5);

/// Most looks that are saved up.
const SAVED_MAX: u64 = 16;

/// Between two looks, 0 to this many requests are left out.
const LEFT_OUT_MAX: u64 = 2;

/// Most bytes of a body that go into its checksum.
const CHECKED_MAX: usize = 64 << 10;

/// Most servers that a worker gives a name.
const KNOWN_MAX: usize = 4 * SERVERS_MAX;

/// Longest value of a header that names a server.
const NAME_MAX: usize = 64;

/// Headers in which balancers, frameworks and platforms name the instance that answered.
const NAMING: [&str; 14] = [
    "x-served-by",
    "x-backend",
    "x-backend-server",
    "x-upstream",
    "x-upstream-addr",
    "x-instance",
    "x-instance-id",
    "x-server",
    "x-server-id",
    "x-server-name",
    "x-pod",
    "x-pod-name",
    "x-hostname",
    "x-replica",
];

/// What a worker knows of its looks.
#[derive(Default)]
pub struct Sampling {
    /// Until when looks were given.
    given: Cell<Nanos>,
    /// Looks that can begin.
    saved: Cell<u64>,
    /// Requests to leave out before the next look.
    left_out: Cell<u64>,
    /// State of the random numbers.
    random: Cell<u64>,
    servers: RefCell<Servers>,
    copies: Copies,
}

/// The servers that a worker met, and how many of them it has reported.
#[derive(Default)]
struct Servers {
    known: Vec<Server>,
    reported: usize,
}

/// Who answered.
#[derive(Debug, PartialEq, Eq)]
enum Server {
    /// Only its address is known.
    Address(SocketAddr),
    /// It, or what is before it, names it in this header of [`NAMING`].
    Named(usize, Box<[u8]>),
}

/// A server as a number: its place among those that the worker met. One without a name there is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(pub u8);

/// How a sampled response looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What is true of it.
    pub traits: Traits,
    /// Who answered; `None` for a Unix socket.
    pub server: Option<ServerId>,
    /// Number of the connection that it came on, in its worker.
    pub connection: u32,
    /// Checksum of the body, before content decoding.
    pub body: u32,
    /// Bytes of the body of its request.
    pub sent: u64,
    /// Bytes of the cookies of its request.
    pub cookie: u64,
    /// Number of the copy of its body in its worker; `None` if there is none.
    pub copy: Option<u32>,
}

/// What is true of a response and its request.
#[expect(clippy::struct_excessive_bools, reason = "they do not depend on each other")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// The method is GET.
    pub is_get: bool,
    /// The method is PUT or PATCH.
    pub is_write: bool,
    /// The method is POST.
    pub is_post: bool,
    /// The request accepts compression.
    pub offered: bool,
    /// The status is 304.
    pub not_modified: bool,
    /// The body is text: a page, a script, a style, JSON, XML.
    pub is_text: bool,
    /// It has a content encoding.
    pub compressed: bool,
    /// The body is no data, so that a client could keep it: a page, a script, a style, an image, a file.
    pub is_kept: bool,
    /// It has `ETag`, `Last-Modified` or a time for which it is fresh, or must not be stored.
    pub is_validated: bool,
    /// The server says that it closes the connection, and the request did not ask for that.
    pub is_closing: bool,
}

/// A look in progress.
pub struct Look {
    sampling: Rc<Sampling>,
    traits: Traits,
    /// Whether the request asks the server to close the connection.
    asks_to_close: bool,
    named: Option<ServerId>,
    body: crc32fast::Hasher,
    /// Bytes of the body so far.
    length: u64,
    sent: u64,
    cookie: u64,
    copying: Option<Copying>,
}

impl Sampling {
    /// The next request that begins is looked at.
    pub fn new() -> Self {
        let sampling = Self::default();
        sampling.saved.set(SAVED_MAX);
        sampling
    }

    /// A look at the response of `request`, if one is due.
    pub fn begin(self: &Rc<Self>, request: &PreparedRequest) -> Option<Look> {
        let saved = self.saved.get().checked_sub(1)?;
        if let Some(left) = self.left_out.get().checked_sub(1) {
            self.left_out.set(left);
            return None;
        }
        self.saved.set(saved);
        self.left_out.set(self.next_random() % (LEFT_OUT_MAX + 1));
        Some(Look::at(self.clone(), request))
    }

    /// A request has ended at `at`, looked at or not.
    pub fn passed(&self, at: Nanos) {
        let more = at.since(self.given.get()).0 / PACE.0;
        if more > 0 {
            self.given.set(at);
            self.saved.set(self.saved.get().saturating_add(more).min(SAVED_MAX));
        }
        self.copies.passed(at);
    }

    /// No body is copied before `at`.
    pub fn copy_from(&self, at: Nanos) {
        self.copies.begin_at(at);
    }

    /// The beginnings of some bodies.
    pub fn take_copies(&self) -> Vec<BodyCopy> {
        self.copies.take()
    }

    /// The next number of a sequence that looks random (splitmix64).
    fn next_random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }

    /// The servers that were met since the last call, in the order of their numbers.
    pub fn take_new_servers(&self) -> Vec<String> {
        let mut servers = self.servers.borrow_mut();
        let from = servers.reported;
        servers.reported = servers.known.len();
        servers.known[from..].iter().map(Server::name).collect()
    }

    /// The number of a server, one without a name beyond the limit; makes `new` only if it is not known.
    fn id(&self, is_it: impl Fn(&Server) -> bool, new: impl FnOnce() -> Server) -> ServerId {
        let known = &mut self.servers.borrow_mut().known;
        let place = known.iter().position(is_it).unwrap_or(known.len());
        if place == known.len() && place < KNOWN_MAX {
            known.push(new());
        }
        ServerId(place as u8)
    }
}

impl Server {
    fn name(&self) -> String {
        match self {
            Self::Address(address) => address.to_string(),
            Self::Named(header, value) => {
                format!("{}: {}", NAMING[*header], String::from_utf8_lossy(value).escape_debug())
            }
        }
    }
}

impl Look {
    fn at(sampling: Rc<Sampling>, request: &PreparedRequest) -> Self {
        let accepts = |(name, value): (&[u8], &[u8])| {
            name.eq_ignore_ascii_case(b"accept-encoding")
                && has_any(value, &["gzip", "deflate", "br", "zstd"])
        };
        let traits = Traits {
            is_get: request.method() == b"GET",
            is_write: matches!(request.method(), b"PUT" | b"PATCH"),
            is_post: request.method() == b"POST",
            offered: request.fields().any(accepts),
            ..Traits::default()
        };
        let asks_to_close = request
            .fields()
            .any(|(name, value)| name.eq_ignore_ascii_case(b"connection") && has_any(value, &["close"]));
        let cookies = request.fields().filter(|(name, _)| name.eq_ignore_ascii_case(b"cookie"));
        let (sent, cookie) =
            (request.body().len() as u64, cookies.map(|(_, value)| value.len() as u64).sum::<u64>());
        let body = crc32fast::Hasher::new();
        Self { sampling, traits, asks_to_close, named: None, body, length: 0, sent, cookie, copying: None }
    }

    /// The head of the response; of several, the last one counts.
    pub fn head(&mut self, head: &ResponseHead<'_>) {
        let field = |name: &str| head.fields.get(name);
        let kind = field("content-type").unwrap_or_default();
        (self.body, self.length) = (crc32fast::Hasher::new(), 0);
        // Ended before the next one begins: there is only one.
        drop(self.copying.take());
        let is_good = (200..300).contains(&head.status);
        self.copying = if is_good { self.sampling.copies.begin(length(head)) } else { None };
        self.traits = Traits {
            not_modified: head.status == 304,
            is_text: is_text(kind),
            compressed: field("content-encoding")
                .is_some_and(|value| !value.eq_ignore_ascii_case(b"identity")),
            is_kept: self.traits.is_get && is_kept(kind),
            is_validated: ["etag", "last-modified", "expires"].iter().any(|name| field(name).is_some())
                || field("cache-control").is_some_and(is_settled),
            is_closing: !self.asks_to_close
                && field("connection").is_some_and(|value| has_any(value, &["close"])),
            ..self.traits
        };
        self.named = self.named_by(head);
    }

    /// The next bytes of the body.
    pub fn body(&mut self, bytes: &[u8]) {
        let room = CHECKED_MAX.saturating_sub(self.length as usize);
        self.body.update(&bytes[..bytes.len().min(room)]);
        self.length += bytes.len() as u64;
        if let Some(copying) = &mut self.copying {
            copying.add(bytes);
        }
    }

    /// What was seen of a response that came from this address on this connection.
    pub fn end(mut self, address: Option<SocketAddr>, connection: u32) -> Seen {
        let id = |address| {
            self.sampling.id(|known| *known == Server::Address(address), || Server::Address(address))
        };
        let server = self.named.or_else(|| address.map(id));
        self.body.update(&self.length.to_le_bytes());
        let (body, sent, cookie) = (self.body.finalize(), self.sent, self.cookie);
        let copy = self.copying.and_then(|copying| self.sampling.copies.keep(copying, self.length));
        Seen { traits: self.traits, server, connection, body, sent, cookie, copy }
    }

    fn named_by(&self, head: &ResponseHead<'_>) -> Option<ServerId> {
        let named = |(place, name): (usize, &&str)| head.fields.get(name).map(|value| (place, value));
        let (header, value) = NAMING.iter().enumerate().find_map(named)?;
        let value = &value[..value.len().min(NAME_MAX)];
        let is_it = |known: &Server| matches!(known, Server::Named(place, name) if *place == header && **name == *value);
        Some(self.sampling.id(is_it, || Server::Named(header, value.into())))
    }
}

/// The length of the body, if the head says it.
fn length(head: &ResponseHead<'_>) -> Option<u64> {
    std::str::from_utf8(head.fields.get("content-length")?).ok()?.trim().parse().ok()
}

/// Whether Cache-Control says that a response must not be stored, or how long it is fresh.
fn is_settled(control: &[u8]) -> bool {
    let is_fresh = has_any(control, &["max-age=", "s-maxage="]) && !has_any(control, &["max-age=0"]);
    is_fresh || has_any(control, &["no-store", "immutable"])
}

/// Whether bodies of this type become much shorter by compression.
fn is_text(kind: &[u8]) -> bool {
    let kind = essence(kind);
    let ends =
        |end: &[u8]| kind.len() >= end.len() && kind[kind.len() - end.len()..].eq_ignore_ascii_case(end);
    is_text_type(kind) && !kind.eq_ignore_ascii_case(b"text/event-stream")
        || has_any(kind, &["application/json", "javascript", "application/xml", "image/svg"])
        || ends(b"+json")
        || ends(b"+xml")
}

/// Whether a client could keep bodies of this type: not data, which is JSON, XML or a format of messages.
fn is_kept(kind: &[u8]) -> bool {
    const DATA: [&str; 10] =
        ["json", "/xml", "event-stream", "grpc", "protobuf", "msgpack", "cbor", "yaml", "csv", "form"];
    let kind = essence(kind);
    !kind.is_empty() && !has_any(kind, &DATA)
}

fn is_text_type(kind: &[u8]) -> bool {
    kind.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"text/"))
}

/// A media type without its parameters.
fn essence(kind: &[u8]) -> &[u8] {
    let end = kind.iter().position(|byte| *byte == b';').unwrap_or(kind.len());
    kind[..end].trim_ascii()
}

/// Whether a value contains any of these words, ignoring case.
fn has_any(value: &[u8], words: &[&str]) -> bool {
    let has = |word: &&str| value.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    words.iter().any(has)
}

#[cfg(test)]
mod tests;
