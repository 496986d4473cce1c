//! One HTTP/1.1 connection: used for exchanges in sequence, closed when its state is in doubt.
//!
//! Knows phases and bytes; does not know due times, resends or redirects (see [`super::super::client`]), and does not
//! enforce time limits (see [`crate::deadline`]).

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::super::channel::{Channel, WorkerIo};
use super::super::failure::{Failure, Operation};
use super::super::prepared::PreparedRequest;
use super::super::response::{ExchangeError, IdleState, Response, Sink, Traffic, Unprocessed};
use super::super::tls::SessionState;
use super::reader::{Progress, ResponseReader};
use crate::recorder::Marks;

/// An open connection.
pub struct Connection {
    channel: Channel,
    reader: ResponseReader,
    /// Bytes of the request written, and of its response read.
    written: usize,
    received: u64,
    /// Exchanges that ended on it, well or badly.
    exchanges: u32,
    /// Whether bytes that no request asked for began like a response.
    unsolicited_response: bool,
    /// When the last exchange was done, and how long it took.
    idle_since: Nanos,
    took: Nanos,
}

/// One request in progress.
struct Exchange<'a, S> {
    request: &'a [u8],
    write_error: Option<io::Error>,
    sink: &'a mut S,
    marks: &'a mut Marks,
}

impl Connection {
    /// A connection over `channel`, whose responses `reader` reads.
    pub const fn new(channel: Channel, reader: ResponseReader) -> Self {
        Self {
            channel,
            reader,
            written: 0,
            received: 0,
            exchanges: 0,
            unsolicited_response: false,
            idle_since: Nanos::ZERO,
            took: Nanos::ZERO,
        }
    }

    /// The channel that it uses.
    pub const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// How many of its responses can belong to other requests, once bytes came that no request asked for. If these
    /// are a response, every earlier one can be one too early: HTTP/1.1 does not say which request it is for.
    pub const fn doubtful(&self) -> u32 {
        if self.unsolicited_response { self.exchanges } else { 1 }
    }

    /// When the last exchange was done.
    pub const fn idle_since(&self) -> Nanos {
        self.idle_since
    }

    /// How long the last exchange took.
    pub const fn took(&self) -> Nanos {
        self.took
    }

    /// Bytes of the last exchange.
    pub const fn traffic(&self) -> Traffic {
        Traffic { sent: self.written as u64, received: self.received, body: self.reader.body_received() }
    }

    /// What was received outside of an exchange, as far as the runtime knows: without news it costs
    /// no system call.
    pub fn check_idle(&mut self, ctx: &mut Context<'_>, worker_io: WorkerIo<'_>) -> IdleState {
        let mut scratch = worker_io.scratch.borrow_mut();
        match self.channel.poll_read(ctx, &mut scratch) {
            Poll::Pending => IdleState::Quiet,
            Poll::Ready(Ok(0) | Err(_)) => IdleState::Closed,
            Poll::Ready(Ok(count)) => self.take_unsolicited(&mut scratch[..count]),
        }
    }

    fn take_unsolicited(&mut self, bytes: &mut [u8]) -> IdleState {
        let mut found = None;
        let received = self.channel.receive(bytes, |plain| {
            // Servers announce the end of an idle connection with this status (RFC 9110, section 15.5.9).
            let is_notice = is_response(plain) && plain.get(8..12) == Some(b" 408");
            self.unsolicited_response = is_response(plain);
            found = Some(if is_notice { IdleState::Closed } else { IdleState::Unsolicited });
            Err(Fault::Unsolicited)
        });
        match (received, found) {
            (_, Some(state)) => state,
            // Session tickets and key updates are part of TLS and no response.
            (Ok(SessionState::Open), None) => IdleState::Quiet,
            (Ok(_) | Err(_), None) => IdleState::Closed,
        }
    }

    /// Sends `request` and reads its response into `sink`. Calls `on_sent` just before the first
    /// byte is handed to the kernel. Without a complete response the connection must be dropped.
    pub async fn exchange<S: Sink>(
        &mut self,
        worker_io: WorkerIo<'_>,
        request: &PreparedRequest,
        sink: &mut S,
        marks: &mut Marks,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Response, ExchangeError> {
        let bytes = request.as_http1();
        self.reader.expect(request.is_head());
        (self.written, self.received) = (0, 0);
        self.channel.begin_send(bytes).map_err(|failure| ExchangeError {
            failure: Failure { fault: Fault::TlsBroken, ..failure },
            at: worker_io.clock.now(),
            unprocessed: if self.exchanges > 0 { Unprocessed::Possibly } else { Unprocessed::No },
        })?;
        let sent = worker_io.clock.now();
        on_sent(sent);
        if marks.sent == Nanos::ZERO {
            marks.sent = sent;
        }
        (marks.sent_last, marks.sent_all, marks.first_byte) = (sent, Nanos::ZERO, Nanos::ZERO);
        let mut exchange = Exchange { request: bytes, write_error: None, sink, marks };
        let result = poll_fn(|ctx| self.poll_exchange(ctx, worker_io, &mut exchange)).await;
        match result {
            Ok((done, surplus)) => {
                self.exchanges = self.exchanges.saturating_add(1);
                (self.idle_since, self.took) = (done, done.since(sent));
                let whole = self.written == bytes.len();
                let keep_alive = self.reader.keep_alive() && !surplus && whole && !self.channel.is_ended();
                Ok(Response { status: self.reader.status(), done, surplus, keep_alive })
            }
            Err((failure, at)) => {
                // The server possibly closed the connection before it received anything.
                let is_hang_up =
                    matches!(failure.fault, Fault::ClosedEarly | Fault::Reset | Fault::TlsBroken);
                let possibly = self.exchanges > 0 && is_hang_up && !self.reader.begun();
                let unprocessed = if possibly { Unprocessed::Possibly } else { Unprocessed::No };
                Err(ExchangeError { failure, at, unprocessed })
            }
        }
    }

    /// Writes what can be written and reads what has arrived. A response can arrive before the whole
    /// request is written.
    fn poll_exchange<S: Sink>(
        &mut self,
        ctx: &mut Context<'_>,
        worker_io: WorkerIo<'_>,
        exchange: &mut Exchange<'_, S>,
    ) -> Poll<Result<(Nanos, bool), (Failure, Nanos)>> {
        if self.written < exchange.request.len() && exchange.write_error.is_none() {
            match self.channel.poll_send(ctx, exchange.request, &mut self.written) {
                Poll::Ready(Ok(())) => exchange.marks.sent_all = worker_io.clock.now(),
                // The server might have responded and closed: its response counts more.
                Poll::Ready(Err(error)) => exchange.write_error = Some(error),
                Poll::Pending => {}
            }
        }
        let mut scratch = worker_io.scratch.borrow_mut();
        loop {
            if !ready!(exchange.sink.poll_wants(ctx)) {
                return Poll::Ready(Ok((worker_io.clock.now(), false)));
            }
            let read = ready!(self.channel.poll_read(ctx, &mut scratch));
            let now = worker_io.clock.now();
            let progress = match read {
                Ok(0) => self.take_end(exchange),
                Ok(count) => {
                    if exchange.marks.first_byte == Nanos::ZERO {
                        exchange.marks.first_byte = now;
                    }
                    exchange.sink.read_at(now);
                    self.take_bytes(&mut scratch[..count], exchange)
                }
                Err(error) => {
                    let failure = match &exchange.write_error {
                        Some(error) => Failure::exchanging(error, Operation::Write),
                        None => Failure::exchanging(&error, Operation::Read),
                    };
                    return Poll::Ready(Err((failure, now)));
                }
            };
            match progress {
                Ok(Progress::Complete { surplus }) => return Poll::Ready(Ok((now, surplus > 0))),
                Ok(Progress::More) => {}
                Err(failure) => return Poll::Ready(Err((failure, now))),
            }
        }
    }

    fn take_bytes<S: Sink>(
        &mut self,
        bytes: &mut [u8],
        exchange: &mut Exchange<'_, S>,
    ) -> Result<Progress, Failure> {
        let Self { channel, reader, received, unsolicited_response, .. } = self;
        let sink = &mut *exchange.sink;
        let mut progress = Progress::More;
        let session_state = channel.receive(bytes, |plain| {
            *received += plain.len() as u64;
            progress = match progress {
                Progress::More => reader.feed(plain, sink)?,
                Progress::Complete { surplus } => Progress::Complete { surplus: surplus + plain.len() },
            };
            if let Progress::Complete { surplus } = progress
                && surplus <= plain.len()
            {
                // The first bytes after the response.
                *unsolicited_response = is_response(&plain[plain.len() - surplus..]);
            }
            Ok(())
        });
        // With TLS 1.3 a server can refuse the client's certificate after the client considers the
        // handshake finished; only a response proves that it was.
        let handshake_done = self.exchanges > 0 || self.reader.begun();
        let session_state = session_state.map_err(|failure| match failure.fault {
            Fault::TlsHandshake if handshake_done => Failure { fault: Fault::TlsBroken, ..failure },
            _ => failure,
        })?;
        if progress == Progress::More && session_state == SessionState::Closed {
            self.reader.feed_end(exchange.sink)?;
            return Ok(Progress::Complete { surplus: 0 });
        }
        Ok(progress)
    }

    fn take_end<S: Sink>(&mut self, exchange: &mut Exchange<'_, S>) -> Result<Progress, Failure> {
        if let Some(error) = &exchange.write_error
            && !self.reader.begun()
        {
            return Err(Failure::exchanging(error, Operation::Write));
        }
        if self.channel.is_secure() && self.reader.is_until_close() {
            // Anyone on the network path can end a TCP stream; only the peer can end a TLS stream
            // (RFC 9112, 9.8).
            return Err(Failure::new(Fault::TlsBroken, "the stream ended without a closure alert"));
        }
        self.reader.feed_end(exchange.sink)?;
        Ok(Progress::Complete { surplus: 0 })
    }
}

/// Whether bytes begin like a response.
fn is_response(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.")
}
