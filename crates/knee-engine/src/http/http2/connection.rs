//! One HTTP/2 connection, and the streams on it.
//!
//! Knows phases and bytes; does not know due times, resends or redirects (see [`super::super::client`]), and does not
//! enforce time limits (see [`crate::deadline`]). A connection closes when the last request on it has ended and no pool
//! keeps it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use h2::SendStream;
use h2::client::{Builder, ResponseFuture, SendRequest};
use knee_core::clock::MonotonicClock;
use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::super::channel::{Channel, WorkerIo};
use super::super::failure::Failure;
use super::super::open_place::OpenPlace;
use super::super::origin::Origin;
use super::super::peer::Peer;
use super::super::prepared::PreparedRequest;
use super::super::response::{
    ExchangeError, Fields, Response, ResponseHead, Sink, Traffic, Unprocessed, Version,
};
use super::super::settings::{HttpVersion, Settings};
use super::io::{Io, Shared};
use super::message::head_of;
use super::tap::Moments;
use super::trouble;
use crate::recorder::Marks;

/// Bytes of a response that a server can send ahead: as Go's client allows.
const STREAM_WINDOW: u32 = 4 << 20;
/// The same for the one-liner, as other tools for one URL allow it: no limit.
const WIDE_WINDOW: u32 = (1 << 30) - 1;
/// The same for all responses on a connection together.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Most bytes of a head, as for HTTP/1.1.
const HEAD_MAX: u32 = 256 << 10;
/// Requests at a time until the server says how many it takes.
const FIRST_STREAMS: usize = 100;

/// An open connection.
pub struct Http2Connection {
    requests: RefCell<SendRequest<Bytes>>,
    pub(super) shared: Rc<Shared>,
    pub(super) clock: MonotonicClock,
    /// Where it leads.
    pub origin: Arc<Origin>,
    authority: String,
    peer: Option<Peer>,
    /// Most bytes of a body.
    body_max: u64,
    /// Requests that were answered on it.
    answered: Cell<u32>,
    /// Its place among the open connections of the worker.
    place: OpenPlace,
}

impl Http2Connection {
    /// A connection over a channel, with a place among the open ones.
    pub async fn begin(
        settings: &Settings,
        clock: MonotonicClock,
        scratch: Rc<RefCell<Box<[u8]>>>,
        channel: Channel,
        origin: &Arc<Origin>,
        place: OpenPlace,
    ) -> Result<Rc<Self>, Failure> {
        let (peer, shared) = (channel.peer(), Rc::new(Shared::new()));
        let io = Io::new(channel, clock, scratch, shared.clone());
        let window = match settings.version {
            HttpVersion::Two => WIDE_WINDOW,
            HttpVersion::One | HttpVersion::Negotiated => STREAM_WINDOW,
        };
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(window)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEAD_MAX)
            .initial_max_send_streams(FIRST_STREAMS);
        let begun = builder.handshake::<_, Bytes>(io).await;
        let (requests, connection) = begun.map_err(|error| trouble::of(&error, &shared, false, false).0)?;
        let ended = shared.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                let (failure, _) = trouble::of(&error, &ended, false, false);
                ended.keep_reason(&failure);
            }
            ended.close();
        });
        let authority = format!("{}:{}", origin.host, origin.port);
        Ok(Rc::new(Self {
            requests: RefCell::new(requests),
            shared,
            clock,
            origin: origin.clone(),
            authority,
            peer,
            body_max: settings.body_max,
            answered: Cell::new(0),
            place,
        }))
    }

    /// Whether a request can begin on it, as far as is known.
    pub fn is_usable(&self) -> bool {
        !self.shared.is_closed.get()
    }

    /// The other end; `None` for Unix sockets.
    pub const fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// Begins a stream with the head of `request`, once the server takes another one. Calls `on_sent` when the head is
    /// handed to the connection, which writes it in its next turn. Its body is not sent.
    pub(super) async fn open_stream(
        &self,
        request: &PreparedRequest,
        is_last: bool,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Stop> {
        let head = head_of(request, self.origin.tls, &self.authority).map_err(Stop::Own)?;
        let mut requests = self.requests.borrow().clone();
        poll_fn(|ctx| requests.poll_ready(ctx)).await.map_err(Stop::Unsent)?;
        on_sent(self.clock.now());
        let (response, body) = requests.send_request(head, is_last).map_err(Stop::Unsent)?;
        self.shared.tap.borrow_mut().ask(response.stream_id().as_u32());
        Ok((response, body))
    }

    /// What it means that a stream stopped. `is_reused` says whether the connection had answered before the stream began.
    pub(super) fn stopped(&self, stop: Stop, moments: Moments, is_reused: bool) -> ExchangeError {
        let at = self.clock.now();
        let (error, is_unsent) = match stop {
            Stop::Own(failure) => return ExchangeError { failure, at, unprocessed: Unprocessed::No },
            Stop::Library(error) => (error, false),
            Stop::Unsent(error) => (error, true),
        };
        if !error.is_reset() {
            // Nothing else can begin on it.
            self.shared.is_closed.set(true);
        }
        let has_begun = moments.first_byte > Nanos::ZERO;
        let (failure, unprocessed) = trouble::of(&error, &self.shared, has_begun, is_reused);
        if error.is_go_away() {
            self.shared.keep_reason(&failure);
        }
        let unprocessed = if is_unsent && is_reused { Unprocessed::Surely } else { unprocessed };
        ExchangeError { failure, at, unprocessed }
    }

    /// A request was answered.
    pub(super) fn note_answered(&self) {
        self.answered.set(self.answered.get().saturating_add(1));
    }

    /// Whether a request was answered on it.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.get() > 0
    }
}

/// The right to one request on a connection.
pub struct Http2Stream {
    connection: Rc<Http2Connection>,
    /// The number of the stream; 0 before it has begun.
    number: u32,
    body: u64,
    /// Whether it began on a connection that had answered before.
    is_reused: bool,
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.connection.shared.tap.borrow_mut().take(self.number);
    }
}

/// What comes next of a body.
enum Next {
    /// Bytes, or the end.
    Data(Option<Result<Bytes, h2::Error>>),
    /// Nothing that is wanted.
    Unwanted,
}

/// Why there is no complete response.
pub(super) enum Stop {
    /// The library says so.
    Library(h2::Error),
    /// The same, before anything of the request was sent.
    Unsent(h2::Error),
    /// This program says so.
    Own(Failure),
}

impl From<h2::Error> for Stop {
    fn from(error: h2::Error) -> Self {
        Self::Library(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Own(fault.into())
    }
}

impl Http2Stream {
    /// A stream that has not begun.
    pub fn on(connection: Rc<Http2Connection>) -> Self {
        let is_reused = connection.has_answered();
        Self { connection, number: 0, body: 0, is_reused }
    }

    /// The other end; `None` for Unix sockets.
    pub fn peer(&self) -> Option<Peer> {
        self.connection.peer
    }

    /// The number of the connection in the worker.
    pub fn connection_number(&self) -> u32 {
        self.connection.place.number()
    }

    /// Bytes of the request's and the response's frames.
    pub fn traffic(&self) -> Traffic {
        let moments = self.connection.shared.tap.borrow().moments(self.number);
        Traffic { sent: moments.bytes_sent, received: moments.bytes_received, body: self.body }
    }

    /// Sends `request` and reads its response into `sink`. Calls `on_sent` when the request is handed to the
    /// connection, which writes it in its next turn.
    pub async fn exchange<S: Sink>(
        &mut self,
        worker_io: WorkerIo<'_>,
        request: &PreparedRequest,
        sink: &mut S,
        marks: &mut Marks,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Response, ExchangeError> {
        let ended = self.run(request, sink, marks, on_sent).await;
        let shared = &self.connection.shared;
        let moments = shared.tap.borrow().moments(self.number);
        if moments.sent > Nanos::ZERO {
            if marks.sent == marks.sent_last {
                marks.sent = moments.sent;
            }
            marks.sent_last = moments.sent;
        }
        (marks.sent_all, marks.first_byte) = (moments.sent_all, moments.first_byte);
        let status = ended.map_err(|stop| self.connection.stopped(stop, moments, self.is_reused))?;
        self.connection.note_answered();
        let done = if moments.done > Nanos::ZERO { moments.done } else { worker_io.clock.now() };
        Ok(Response { status, done, surplus: false, keep_alive: true })
    }

    /// The status of a complete response.
    async fn run<S: Sink>(
        &mut self,
        request: &PreparedRequest,
        sink: &mut S,
        marks: &mut Marks,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<u16, Stop> {
        let connection = self.connection.clone();
        let has_body = !request.body().is_empty();
        let note_sent = |sent| {
            on_sent(sent);
            if marks.sent == Nanos::ZERO {
                marks.sent = sent;
            }
            (marks.sent_last, marks.sent_all, marks.first_byte) = (sent, Nanos::ZERO, Nanos::ZERO);
        };
        let (response, mut body) = connection.open_stream(request, !has_body, note_sent).await?;
        self.number = response.stream_id().as_u32();
        if has_body {
            body.send_data(Bytes::copy_from_slice(request.body()), true)?;
        }
        self.receive(response, sink).await
    }

    /// Reads the response.
    async fn receive<S: Sink>(&mut self, response: ResponseFuture, sink: &mut S) -> Result<u16, Stop> {
        let (head, mut body) = response.await?.into_parts();
        let lines: Vec<httparse::Header<'_>> = head
            .headers
            .iter()
            .map(|(name, value)| httparse::Header { name: name.as_str(), value: value.as_bytes() })
            .collect();
        let status = head.status.as_u16();
        let reason = head.status.canonical_reason().unwrap_or_default();
        sink.head(&ResponseHead { version: Version::Http2, status, reason, fields: Fields::new(&lines) })?;
        loop {
            let next = poll_fn(|ctx| match sink.poll_wants(ctx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(false) => Poll::Ready(Next::Unwanted),
                Poll::Ready(true) => body.poll_data(ctx).map(Next::Data),
            });
            let bytes = match next.await {
                // The stream is reset when it is dropped.
                Next::Unwanted => return Ok(status),
                Next::Data(None) => break,
                Next::Data(Some(bytes)) => bytes?,
            };
            self.body += bytes.len() as u64;
            if self.body > self.connection.body_max {
                return Err(Fault::BodyLimit.into());
            }
            sink.read_at(self.connection.clock.now());
            sink.body(&bytes)?;
            body.flow_control().release_capacity(bytes.len())?;
        }
        body.trailers().await?;
        sink.end()?;
        Ok(status)
    }
}
