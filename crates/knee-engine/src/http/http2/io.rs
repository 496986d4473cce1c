//! A channel as the library reads and writes it, with a tap on both directions.
//!
//! Knows no HTTP beyond the bytes that show that a server does not speak HTTP/2.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use knee_core::clock::MonotonicClock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::channel::Channel;
use super::super::failure::Failure;
use super::super::tls::SessionState;
use super::tap::Tap;

/// What a connection and its streams share.
#[derive(Debug)]
pub struct Shared {
    /// The moments of the streams.
    pub tap: RefCell<Tap>,
    /// Why the connection ended. What the library says to streams that come later is less precise.
    pub broken: RefCell<Option<Failure>>,
    /// Whether the server's first bytes were a response of HTTP/1.
    pub is_http1: Cell<bool>,
    /// Whether no request can begin on it any more.
    pub is_closed: Cell<bool>,
}

impl Shared {
    /// Of a new connection.
    pub const fn new() -> Self {
        Self {
            tap: RefCell::new(Tap::new()),
            broken: RefCell::new(None),
            is_http1: Cell::new(false),
            is_closed: Cell::new(false),
        }
    }

    /// Keeps why the connection ended; the first reason counts.
    pub fn keep_reason(&self, failure: &Failure) {
        self.broken.borrow_mut().get_or_insert_with(|| failure.clone());
    }
}

/// The bytes of a connection.
pub struct Io {
    channel: Channel,
    clock: MonotonicClock,
    /// The read buffer of the worker; borrowed only while this is polled.
    scratch: Rc<RefCell<Box<[u8]>>>,
    shared: Rc<Shared>,
    /// Received bytes, of which the library has `taken`.
    plain: Vec<u8>,
    taken: usize,
    has_begun: bool,
    is_ended: bool,
}

impl Io {
    /// The bytes of a channel.
    pub fn new(
        mut channel: Channel,
        clock: MonotonicClock,
        scratch: Rc<RefCell<Box<[u8]>>>,
        shared: Rc<Shared>,
    ) -> Self {
        let early = channel.take_early();
        let mut io = Self {
            channel,
            clock,
            scratch,
            shared,
            plain: Vec::new(),
            taken: 0,
            has_begun: false,
            is_ended: false,
        };
        io.take(&early);
        io
    }

    /// Keeps received bytes for the library.
    fn take(&mut self, bytes: &[u8]) {
        if !self.has_begun && !bytes.is_empty() {
            self.has_begun = true;
            self.shared.is_http1.set(bytes.starts_with(b"HTTP/1"));
        }
        self.shared.tap.borrow_mut().received(bytes, self.clock.now());
        self.plain.extend_from_slice(bytes);
    }

    /// Writes what TLS has left to write.
    fn poll_rest(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.channel.poll_send(ctx, &[], &mut 0)
    }

    /// Reads what has arrived, once.
    fn poll_fill(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shared_scratch = self.scratch.clone();
        let mut scratch = shared_scratch.borrow_mut();
        let count = ready!(self.channel.poll_read(ctx, &mut scratch))?;
        if count == 0 {
            self.is_ended = true;
            return Poll::Ready(Ok(()));
        }
        let mut plain = std::mem::take(&mut self.plain);
        let start = plain.len();
        let received = self.channel.receive(&mut scratch[..count], |bytes| {
            plain.extend_from_slice(bytes);
            Ok(())
        });
        let new = plain.split_off(start);
        self.plain = plain;
        self.take(&new);
        match received {
            Ok(SessionState::Closed) => self.is_ended = true,
            Ok(SessionState::Open | SessionState::Handshaking) => {}
            Err(failure) => {
                self.shared.keep_reason(&failure);
                return Poll::Ready(Err(io::Error::other("the TLS stream broke")));
            }
        }
        if self.channel.waiting() > 0 {
            // What waits longer is written with the next bytes.
            let _ = self.poll_rest(ctx)?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.taken == this.plain.len() && !this.is_ended {
            (this.plain, this.taken) = (Vec::new(), 0);
            ready!(this.poll_fill(ctx))?;
        }
        let count = into.remaining().min(this.plain.len() - this.taken);
        into.put_slice(&this.plain[this.taken..this.taken + count]);
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let begun = this.clock.now();
        let mut written = 0;
        if this.channel.is_secure() {
            ready!(this.poll_rest(ctx))?;
            if let Err(failure) = this.channel.begin_send(bytes) {
                this.shared.keep_reason(&failure);
                return Poll::Ready(Err(io::Error::other("the TLS stream broke")));
            }
            // What the kernel does not take now is written by `poll_flush`.
            let _ = this.poll_rest(ctx)?;
            written = bytes.len();
        } else if this.channel.poll_send(ctx, bytes, &mut written)?.is_pending() && written == 0 {
            return Poll::Pending;
        }
        this.shared.tap.borrow_mut().sent(&bytes[..written], begun, this.clock.now());
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_rest(ctx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(ctx)
    }
}
