//! One connection: opened, used for exchanges in sequence, closed when its state is in doubt.
//!
//! Knows phases and bytes; does not know due times, resends or redirects (see
//! `super::client`), and does not enforce time limits (see [`crate::deadline`]).

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use knee_core::clock::MonotonicClock;
use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use super::failure::{Failure, Operation, TlsProblem};
use super::peer::Peer;
use super::response::{Progress, ResponseReader, Sink};
use super::tls::{Session, SessionState};
use crate::recorder::Marks;

/// Size of the read buffer that the connections of a worker share.
pub const SCRATCH: usize = 64 * 1024;

/// A byte stream to the server.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn poll_read(&mut self, ctx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        ready!(match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(ctx, &mut buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(ctx, &mut buffer),
        })?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    fn poll_write(&mut self, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(ctx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(ctx, bytes),
        }
    }
}

/// An open connection.
pub struct Connection {
    stream: Stream,
    tls: Option<Box<Session>>,
    /// The other end; `None` for Unix sockets.
    peer: Option<Peer>,
    reader: ResponseReader,
    /// Bytes of the request written, and of its response read.
    written: usize,
    received: u64,
    /// Exchanges that ended on it, well or badly.
    exchanges: u32,
    /// Whether bytes that no request asked for began like a response.
    unsolicited_response: bool,
    /// When the last exchange was done.
    idle_since: Nanos,
}

/// The clock and the read buffer of a worker.
#[derive(Clone, Copy)]
pub struct WorkerIo<'a> {
    /// The run's clock.
    pub clock: MonotonicClock,
    /// Read buffer; borrowed only while a connection is polled.
    pub scratch: &'a RefCell<Box<[u8]>>,
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
    /// Whether any byte of a response had arrived.
    pub response_begun: bool,
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

/// One request in progress.
struct Exchange<'a, S> {
    request: &'a [u8],
    write_error: Option<io::Error>,
    sink: &'a mut S,
    marks: &'a mut Marks,
}

impl Connection {
    /// Connects to a TCP address; responses are read by `reader`.
    pub async fn tcp(address: SocketAddr, reader: ResponseReader) -> Result<Self, Failure> {
        let open = async {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_nodelay(true)?;
            socket.connect(address).await
        };
        let stream = open.await.map_err(|error| {
            let failure = Failure::opening(&error);
            // The kernel reports "no port left" and "no address to send from" with the same error.
            let routeless = failure.fault == Fault::PortsExhausted && !has_route(address);
            if routeless { Failure { fault: Fault::Unreachable, ..failure } } else { failure }
        })?;
        let peer = Some(Peer { address, tls: None });
        Ok(Self { peer, ..Self::on(Stream::Tcp(stream), reader) })
    }

    /// Connects to a Unix socket; responses are read by `reader`.
    pub async fn unix(path: &Path, reader: ResponseReader) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path).await.map_err(|error| Failure::opening_unix(&error))?;
        Ok(Self::on(Stream::Unix(stream), reader))
    }

    fn on(stream: Stream, reader: ResponseReader) -> Self {
        Self {
            stream,
            tls: None,
            peer: None,
            reader,
            written: 0,
            received: 0,
            exchanges: 0,
            unsolicited_response: false,
            idle_since: Nanos::ZERO,
        }
    }

    /// Does the TLS handshake.
    pub async fn secure(&mut self, session: Session, worker_io: WorkerIo<'_>) -> Result<(), Failure> {
        let mut session = Box::new(session);
        poll_fn(|ctx| self.poll_handshake(ctx, &mut session, worker_io)).await?;
        if let Some(peer) = &mut self.peer {
            peer.tls = Some(session.negotiated());
        }
        self.tls = Some(session);
        Ok(())
    }

    fn poll_handshake(
        &mut self,
        ctx: &mut Context<'_>,
        session: &mut Session,
        worker_io: WorkerIo<'_>,
    ) -> Poll<Result<(), Failure>> {
        let broken = |error: &io::Error, during| Failure {
            fault: Fault::TlsHandshake,
            ..Failure::exchanging(error, during)
        };
        let closed = || Failure {
            tls: Some(TlsProblem::Closed),
            ..Failure::new(Fault::TlsHandshake, "closed during the handshake")
        };
        let mut session_state = SessionState::Handshaking;
        loop {
            while !session.pending().is_empty() {
                let count = ready!(self.stream.poll_write(ctx, session.pending()))
                    .map_err(|error| broken(&error, Operation::Write))?;
                session.advance(count);
            }
            match session_state {
                SessionState::Open => return Poll::Ready(Ok(())),
                SessionState::Closed => return Poll::Ready(Err(closed())),
                SessionState::Handshaking => {}
            }
            let mut scratch = worker_io.scratch.borrow_mut();
            let count = ready!(self.stream.poll_read(ctx, &mut scratch))
                .map_err(|error| broken(&error, Operation::Read))?;
            if count == 0 {
                return Poll::Ready(Err(closed()));
            }
            let is_http = scratch[..count].starts_with(b"HTTP/");
            // Application data before the first request is unsolicited.
            let received = session.receive(&mut scratch[..count], &mut |_| Err(Fault::Unsolicited));
            session_state =
                received.map_err(|failure| if is_http { plain_http(failure) } else { failure })?;
        }
    }

    /// Whether the connection was used for an exchange before.
    pub const fn is_used(&self) -> bool {
        self.exchanges > 0
    }

    /// How many of its responses can belong to other requests, once bytes came that no request asked for. If these
    /// are a response, every earlier one can be one too early: HTTP/1.1 does not say which request it is for.
    pub const fn doubtful(&self) -> u32 {
        if self.unsolicited_response { self.exchanges } else { 1 }
    }

    /// The other end; `None` for Unix sockets.
    pub const fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// When the last exchange was done.
    pub const fn idle_since(&self) -> Nanos {
        self.idle_since
    }

    /// Bytes of the last exchange.
    pub const fn traffic(&self) -> Traffic {
        Traffic { sent: self.written as u64, received: self.received, body: self.reader.body_received() }
    }

    /// What was received outside of an exchange, as far as the runtime knows: without news it costs
    /// no system call.
    pub async fn check_idle(&mut self, worker_io: WorkerIo<'_>) -> IdleState {
        poll_fn(|ctx| {
            let mut scratch = worker_io.scratch.borrow_mut();
            Poll::Ready(match self.stream.poll_read(ctx, &mut scratch) {
                Poll::Pending => IdleState::Quiet,
                Poll::Ready(Ok(0) | Err(_)) => IdleState::Closed,
                Poll::Ready(Ok(count)) => self.take_unsolicited(&mut scratch[..count]),
            })
        })
        .await
    }

    fn take_unsolicited(&mut self, bytes: &mut [u8]) -> IdleState {
        let mut state = IdleState::Quiet;
        let mut note = |plain: &[u8]| {
            // Servers announce the end of an idle connection with this status (RFC 9110, section 15.5.9).
            let is_notice = is_response(plain) && plain.get(8..12) == Some(b" 408");
            self.unsolicited_response = is_response(plain);
            state = if is_notice { IdleState::Closed } else { IdleState::Unsolicited };
        };
        let Some(session) = &mut self.tls else {
            note(bytes);
            return state;
        };
        let received = session.receive(bytes, &mut |plain| {
            note(plain);
            Err(Fault::Unsolicited)
        });
        match received {
            // Session tickets and key updates are part of TLS and no response.
            Ok(SessionState::Open) => IdleState::Quiet,
            Err(failure) if failure.fault == Fault::Unsolicited => state,
            Ok(_) | Err(_) => IdleState::Closed,
        }
    }

    /// Sends `request` and reads its response into `sink`. Calls `on_sent` just before the first
    /// byte is handed to the kernel. Without a complete response the connection must be dropped.
    pub async fn exchange<S: Sink>(
        &mut self,
        worker_io: WorkerIo<'_>,
        request: &[u8],
        is_head: bool,
        sink: &mut S,
        marks: &mut Marks,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Response, ExchangeError> {
        self.reader.expect(is_head);
        (self.written, self.received) = (0, 0);
        if let Some(session) = &mut self.tls {
            session.encrypt(request).map_err(|failure| ExchangeError {
                failure: Failure { fault: Fault::TlsBroken, ..failure },
                at: worker_io.clock.now(),
                response_begun: false,
            })?;
        }
        let sent = worker_io.clock.now();
        on_sent(sent);
        if marks.sent == Nanos::ZERO {
            marks.sent = sent;
        }
        (marks.sent_last, marks.sent_all, marks.first_byte) = (sent, Nanos::ZERO, Nanos::ZERO);
        let mut exchange = Exchange { request, write_error: None, sink, marks };
        let result = poll_fn(|ctx| self.poll_exchange(ctx, worker_io, &mut exchange)).await;
        self.exchanges = self.exchanges.saturating_add(1);
        match result {
            Ok((done, surplus)) => {
                self.idle_since = done;
                let whole = self.written == request.len();
                let open = !self.tls.as_ref().is_some_and(|session| session.is_closed());
                let keep_alive = self.reader.keep_alive() && !surplus && whole && open;
                Ok(Response { status: self.reader.status(), done, surplus, keep_alive })
            }
            Err((failure, at)) => Err(ExchangeError { failure, at, response_begun: self.reader.begun() }),
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
            match self.poll_send(ctx, exchange) {
                Poll::Ready(Ok(())) => exchange.marks.sent_all = worker_io.clock.now(),
                // The server might have responded and closed: its response counts more.
                Poll::Ready(Err(error)) => exchange.write_error = Some(error),
                Poll::Pending => {}
            }
        }
        let mut scratch = worker_io.scratch.borrow_mut();
        loop {
            let read = ready!(self.stream.poll_read(ctx, &mut scratch));
            let now = worker_io.clock.now();
            let progress = match read {
                Ok(0) => self.take_end(exchange),
                Ok(count) => {
                    if exchange.marks.first_byte == Nanos::ZERO {
                        exchange.marks.first_byte = now;
                    }
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

    fn poll_send<S>(&mut self, ctx: &mut Context<'_>, exchange: &Exchange<'_, S>) -> Poll<io::Result<()>> {
        if let Some(session) = &mut self.tls {
            while !session.pending().is_empty() {
                let count = ready!(self.stream.poll_write(ctx, session.pending()))?;
                session.advance(count);
            }
            self.written = exchange.request.len();
            return Poll::Ready(Ok(()));
        }
        while self.written < exchange.request.len() {
            self.written += ready!(self.stream.poll_write(ctx, &exchange.request[self.written..]))?;
        }
        Poll::Ready(Ok(()))
    }

    fn take_bytes<S: Sink>(
        &mut self,
        bytes: &mut [u8],
        exchange: &mut Exchange<'_, S>,
    ) -> Result<Progress, Failure> {
        let (reader, sink) = (&mut self.reader, &mut *exchange.sink);
        let Some(session) = &mut self.tls else {
            self.received += bytes.len() as u64;
            let progress = reader.feed(bytes, sink)?;
            if let Progress::Complete { surplus } = progress {
                self.unsolicited_response = is_response(&bytes[bytes.len() - surplus..]);
            }
            return Ok(progress);
        };
        let mut progress = Progress::More;
        let (received, unsolicited_response) = (&mut self.received, &mut self.unsolicited_response);
        let session_state = session.receive(bytes, &mut |plain| {
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
        let handshake_done = self.exchanges > 0 || reader.begun();
        let session_state = session_state.map_err(|failure| match failure.fault {
            Fault::TlsHandshake if handshake_done => Failure { fault: Fault::TlsBroken, ..failure },
            _ => failure,
        })?;
        if progress == Progress::More && session_state == SessionState::Closed {
            reader.feed_end(sink)?;
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
        if self.tls.is_some() && self.reader.is_until_close() {
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

/// The failure of a handshake with a server that speaks HTTP without TLS.
fn plain_http(failure: Failure) -> Failure {
    if failure.tls != Some(TlsProblem::NotTls) {
        return failure;
    }
    let tls = Some(TlsProblem::PlainHttp);
    Failure { tls, ..Failure::new(failure.fault, "the server sent plain HTTP instead of TLS") }
}

/// Whether this machine has an address from which it can send to `address`.
fn has_route(address: SocketAddr) -> bool {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // Connecting a datagram socket sends nothing and takes no TCP port.
    std::net::UdpSocket::bind(any).is_ok_and(|socket| socket.connect(address).is_ok())
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
