//! A channel as the library reads and writes it, with a tap on both directions.
//!
//! Knows no HTTP beyond the bytes that show that a server does not speak HTTP/2.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use knee_core::clock::MonotonicClock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::channel::Channel;
use super::super::failure::{Failure, Operation};
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
    /// Whether the server ended its stream of bytes, perhaps within a frame.
    pub is_ended: Cell<bool>,
    /// Whether no request can begin on it any more.
    pub is_closed: Cell<bool>,
    /// Whether bytes of the server have arrived.
    has_heard: Cell<bool>,
    /// What waits for the first of them.
    waker: RefCell<Option<Waker>>,
}

impl Shared {
    /// Of a new connection.
    pub const fn new() -> Self {
        Self {
            tap: RefCell::new(Tap::new()),
            broken: RefCell::new(None),
            is_http1: Cell::new(false),
            is_ended: Cell::new(false),
            is_closed: Cell::new(false),
            has_heard: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// The connection has ended.
    pub fn close(&self) {
        self.is_closed.set(true);
        self.wake();
    }

    /// Ready when bytes of the server have arrived, or when the connection has ended before.
    pub fn poll_heard(&self, ctx: &Context<'_>) -> Poll<()> {
        if self.has_heard.get() || self.is_closed.get() {
            return Poll::Ready(());
        }
        self.waker.replace(Some(ctx.waker().clone()));
        Poll::Pending
    }

    fn heard(&self) {
        self.has_heard.set(true);
        self.wake();
    }

    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
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
    /// Why nothing can be written any more.
    write_error: Option<io::Error>,
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
            write_error: None,
        };
        io.take(&early);
        io
    }

    /// Keeps received bytes for the library.
    fn take(&mut self, bytes: &[u8]) {
        if !self.has_begun && !bytes.is_empty() {
            self.has_begun = true;
            self.shared.is_http1.set(bytes.starts_with(b"HTTP/1"));
            self.shared.heard();
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
            self.shared.is_ended.set(true);
            // The reason why nothing could be written says more than the end.
            let Some(error) = self.write_error.take() else { return Poll::Ready(Ok(())) };
            self.shared.keep_reason(&Failure::exchanging(&error, Operation::Write));
            return Poll::Ready(Err(error));
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
            Ok(SessionState::Closed) => self.shared.is_ended.set(true),
            Ok(SessionState::Open | SessionState::Handshaking) => {}
            Err(failure) => {
                self.shared.keep_reason(&failure);
                return Poll::Ready(Err(io::Error::other("the TLS stream broke")));
            }
        }
        if self.channel.waiting() > 0 {
            // What waits longer is written with the next bytes.
            let rest = self.poll_rest(ctx);
            let _ = self.after_write_error(rest);
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps an error of writing and goes on as if there were none: what the server said before it hung up is still to be
    /// read, and says more. Whether the bytes went out does not matter any more.
    fn after_write_error(&mut self, wrote: Poll<io::Result<()>>) -> Poll<()> {
        match wrote {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Ready(Err(error)) => {
                self.write_error.get_or_insert(error);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.taken == this.plain.len() && !this.shared.is_ended.get() {
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
        if this.write_error.is_some() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let begun = this.clock.now();
        let mut written = 0;
        if this.channel.is_secure() {
            let rest = this.poll_rest(ctx);
            ready!(this.after_write_error(rest));
            if let Err(failure) = this.channel.begin_send(bytes) {
                this.shared.keep_reason(&failure);
                return Poll::Ready(Err(io::Error::other("the TLS stream broke")));
            }
            // What the kernel does not take now is written by `poll_flush`.
            let rest = this.poll_rest(ctx);
            let _ = this.after_write_error(rest);
            written = bytes.len();
        } else {
            let sent = this.channel.poll_send(ctx, bytes, &mut written);
            if this.after_write_error(sent).is_pending() && written == 0 {
                return Poll::Pending;
            }
        }
        this.shared.tap.borrow_mut().sent(&bytes[..written], begun, this.clock.now());
        let is_broken = this.write_error.is_some();
        Poll::Ready(Ok(if is_broken { bytes.len() } else { written }))
    }

    fn poll_flush(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.write_error.is_some() {
            return Poll::Ready(Ok(()));
        }
        let rest = this.poll_rest(ctx);
        this.after_write_error(rest).map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(ctx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::task::Waker;

    use super::*;

    /// A stream whose server said something and hung up.
    struct HungUp(&'static [u8]);

    impl AsyncRead for HungUp {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            into.put_slice(std::mem::take(&mut self.0));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for HungUp {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn what_the_server_said_before_it_hung_up_is_read_although_nothing_can_be_written() {
        let address = SocketAddr::from(([10, 0, 0, 1], 80));
        let channel = Channel::over(address, Box::new(HungUp(b"its last words")));
        let scratch = Rc::new(RefCell::new(vec![0; 64].into_boxed_slice()));
        let mut io = Io::new(channel, MonotonicClock::simulated(), scratch, Rc::new(Shared::new()));
        let mut ctx = Context::from_waker(Waker::noop());
        assert!(matches!(Pin::new(&mut io).poll_write(&mut ctx, b"a frame"), Poll::Ready(Ok(7))));
        assert!(matches!(Pin::new(&mut io).poll_flush(&mut ctx), Poll::Ready(Ok(()))));
        let mut buffer = [0; 64];
        let mut into = ReadBuf::new(&mut buffer);
        assert!(Pin::new(&mut io).poll_read(&mut ctx, &mut into).is_ready());
        assert_eq!(into.filled(), b"its last words");
        let Poll::Ready(Err(error)) = Pin::new(&mut io).poll_read(&mut ctx, &mut into) else {
            panic!("the end has a reason")
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
