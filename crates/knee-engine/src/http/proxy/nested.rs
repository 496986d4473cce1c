//! The stream within a TLS session with a proxy, over which another TLS session is opened with the server.
//!
//! Knows no proxy. Its owner waits for every write by a read, so what could not be written yet is written while it reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::super::channel::Channel;
use super::super::failure::Failure;

/// Bytes read at once: a whole record of TLS.
const SCRATCH: usize = 17 << 10;

/// A stream within a TLS session.
pub struct Nested {
    channel: Channel,
    scratch: Box<[u8]>,
    /// What was decrypted; the bytes before `taken` are read.
    plain: Vec<u8>,
    taken: usize,
}

impl Nested {
    /// The stream within the session of a channel.
    pub fn new(channel: Channel) -> Self {
        Self { channel, scratch: vec![0; SCRATCH].into(), plain: Vec::new(), taken: 0 }
    }

    /// Writes what was encrypted before.
    fn poll_written(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.channel.poll_send(ctx, &[], &mut 0)
    }
}

impl AsyncRead for Nested {
    fn poll_read(
        self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(Err(error)) = this.poll_written(ctx) {
            return Poll::Ready(Err(error));
        }
        if this.taken == this.plain.len() {
            this.plain.clear();
            this.taken = 0;
            ready!(this.channel.poll_take(ctx, &mut this.scratch, &mut this.plain)).map_err(of_failure)?;
        }
        let rest = &this.plain[this.taken..];
        let count = rest.len().min(into.remaining());
        into.put_slice(&rest[..count]);
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Nested {
    fn poll_write(self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_written(ctx))?;
        this.channel.begin_send(bytes).map_err(of_failure)?;
        match this.poll_written(ctx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // What waits is written by the next call.
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_written(ctx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(ctx)
    }
}

fn of_failure(failure: Failure) -> io::Error {
    match failure.system {
        Some(system) => io::Error::from_raw_os_error(system.number),
        None => io::Error::other(failure.message.unwrap_or_else(|| failure.fault.sentence().to_owned())),
    }
}
