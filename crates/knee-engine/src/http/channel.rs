//! Bytes to and from a server, over TCP or a Unix socket, with TLS or without.
//!
//! Knows no HTTP, so that every protocol can use it. Has no time limit and does not look up names; see
//! [`super::opening`].

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use knee_core::clock::MonotonicClock;
use knee_core::outcome::Fault;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use super::failure::{Failure, Operation, TlsProblem};
use super::peer::Peer;
use super::tls::{Session, SessionState};

/// Size of the read buffer that the connections of a worker share.
pub const SCRATCH: usize = 64 * 1024;

/// The clock and the read buffer of a worker.
#[derive(Clone, Copy)]
pub struct WorkerIo<'a> {
    /// The run's clock.
    pub clock: MonotonicClock,
    /// Read buffer; borrowed only while a connection is polled.
    pub scratch: &'a RefCell<Box<[u8]>>,
}

/// A stream of bytes that is not one of the operating system.
pub trait OtherStream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> OtherStream for S {}

/// A byte stream to the server.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Other(Box<dyn OtherStream>),
}

impl Stream {
    fn poll_read(&mut self, ctx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        ready!(match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(ctx, &mut buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(ctx, &mut buffer),
            Self::Other(stream) => Pin::new(stream).poll_read(ctx, &mut buffer),
        })?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    fn poll_write(&mut self, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(ctx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(ctx, bytes),
            Self::Other(stream) => Pin::new(stream).poll_write(ctx, bytes),
        }
    }
}

/// A channel to a server.
pub struct Channel {
    stream: Stream,
    tls: Option<Box<Session>>,
    /// The other end; `None` for Unix sockets.
    peer: Option<Peer>,
    /// What a server of HTTP/2 sent with its end of the handshake.
    early: Vec<u8>,
}

impl Channel {
    /// Connects to a TCP address.
    pub async fn tcp(address: SocketAddr) -> Result<Self, Failure> {
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
        Ok(Self::to(address, Stream::Tcp(stream)))
    }

    /// Over a stream that leads to `address` and that the operating system knows nothing of.
    pub fn over(address: SocketAddr, stream: Box<dyn OtherStream>) -> Self {
        Self::to(address, Stream::Other(stream))
    }

    const fn to(address: SocketAddr, stream: Stream) -> Self {
        Self { stream, tls: None, peer: Some(Peer { address, tls: None }), early: Vec::new() }
    }

    /// Connects to a Unix socket.
    pub async fn unix(path: &Path) -> Result<Self, Failure> {
        let stream = UnixStream::connect(path).await.map_err(|error| Failure::opening_unix(&error))?;
        Ok(Self { stream: Stream::Unix(stream), tls: None, peer: None, early: Vec::new() })
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
            let early = &mut self.early;
            let received = session.receive(&mut scratch[..count], &mut |plain| {
                early.extend_from_slice(plain);
                Ok(())
            });
            session_state = received.map_err(|failure| in_handshake(failure, is_http))?;
            // Only a server of HTTP/2 speaks first; of others, bytes before the first request are unsolicited.
            if !early.is_empty() && session.protocol() != Some(b"h2") {
                return Poll::Ready(Err(Fault::Unsolicited.into()));
            }
        }
    }

    /// The other end; `None` for Unix sockets.
    pub const fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// What arrived with the end of the handshake.
    pub fn take_early(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.early)
    }

    /// This end; `None` for Unix sockets.
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.stream {
            Stream::Tcp(stream) => stream.local_addr().ok(),
            Stream::Unix(_) | Stream::Other(_) => None,
        }
    }

    /// Encrypted bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.tls.as_ref().map_or(0, |session| session.pending().len())
    }

    /// The application protocol that the server chose in the TLS handshake, if it chose one.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|session| session.protocol())
    }

    /// Whether it uses TLS.
    pub const fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether the server announced the end of the TLS stream.
    pub fn is_ended(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.is_closed())
    }

    /// To be called before the first [`Self::poll_send`] of `bytes`: TLS encrypts them all here.
    pub fn begin_send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.tls {
            Some(session) => session.encrypt(bytes),
            None => Ok(()),
        }
    }

    /// Sends `bytes` beginning with number `written`, and counts it up. With TLS, all count as written at once.
    pub fn poll_send(
        &mut self,
        ctx: &mut Context<'_>,
        bytes: &[u8],
        written: &mut usize,
    ) -> Poll<io::Result<()>> {
        if let Some(session) = &mut self.tls {
            while !session.pending().is_empty() {
                let count = ready!(self.stream.poll_write(ctx, session.pending()))?;
                session.advance(count);
            }
            *written = bytes.len();
            return Poll::Ready(Ok(()));
        }
        while *written < bytes.len() {
            *written += ready!(self.stream.poll_write(ctx, &bytes[*written..]))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what has arrived, encrypted if TLS is used; 0 bytes at the end. Without news it costs no system call.
    pub fn poll_read(&mut self, ctx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.stream.poll_read(ctx, into)
    }

    /// Appends what arrived to `into`, decrypted if TLS is used, by way of `scratch`; the number of bytes, 0 at the end.
    pub fn poll_take(
        &mut self,
        ctx: &mut Context<'_>,
        scratch: &mut [u8],
        into: &mut Vec<u8>,
    ) -> Poll<Result<usize, Failure>> {
        loop {
            let read = ready!(self.poll_read(ctx, scratch));
            let count = read.map_err(|error| Failure::exchanging(&error, Operation::Read))?;
            let before = into.len();
            let state = self.receive(&mut scratch[..count], |plain| {
                into.extend_from_slice(plain);
                Ok(())
            })?;
            let taken = into.len() - before;
            // Records that carry no data are part of TLS.
            if taken > 0 || count == 0 || state == SessionState::Closed {
                return Poll::Ready(Ok(taken));
            }
        }
    }

    /// Passes received bytes to `deliver`, decrypted if TLS is used. A fault of `deliver` ends it.
    pub fn receive(
        &mut self,
        bytes: &mut [u8],
        mut deliver: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<SessionState, Failure> {
        if let Some(session) = &mut self.tls {
            return session.receive(bytes, &mut deliver);
        }
        deliver(bytes)?;
        Ok(SessionState::Open)
    }
}

/// A failure of a handshake; `is_http` if the server's bytes begin like a response without TLS.
fn in_handshake(failure: Failure, is_http: bool) -> Failure {
    match failure.fault {
        _ if is_http && failure.tls == Some(TlsProblem::NotTls) => {
            let tls = Some(TlsProblem::PlainHttp);
            Failure { tls, ..Failure::new(failure.fault, "the server sent plain HTTP instead of TLS") }
        }
        // The stream broke before there was one.
        Fault::TlsBroken => Failure { fault: Fault::TlsHandshake, ..failure },
        _ => failure,
    }
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
