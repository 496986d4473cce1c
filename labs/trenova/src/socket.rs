//! Client sockets: limits the size of a write and the number of connections.
//!
//! Does not know HTTP, except for the response that rejects a connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::metric::Metrics;

const REJECTION: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 81\r\n\r\n\
    {\"error\":{\"code\":\"too_many_connections\",\"message\":\"too many callers, try again\"}}";
/// Connections from which on a process no longer defers to others.
const BALANCED_FROM: u32 = 64;
/// Longest wait for other processes, in ms: more than they need to wake up.
const MAX_DEFER_MS: u32 = 5;
/// Time-out for sending the rejection.
const REJECT_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection with a maximum write size.
pub struct Socket {
    stream: TcpStream,
    max: usize,
    metrics: Metrics,
    _slot: ConnectionSlot,
}

impl Socket {
    /// Writes at most `max` bytes at a time.
    pub fn new(stream: TcpStream, max: u32, metrics: Metrics, slot: ConnectionSlot) -> Self {
        Self { stream, max: max as usize, metrics, _slot: slot }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let piece = &bytes[..bytes.len().min(self.max)];
        let written = Pin::new(&mut self.stream).poll_write(context, piece);
        if matches!(written, Poll::Ready(Ok(_))) {
            self.metrics.socket_writes.inc();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if slices.iter().map(|slice| slice.len()).sum::<usize>() > self.max {
            let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
            return self.poll_write(context, first);
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        if matches!(written, Poll::Ready(Ok(_))) {
            self.metrics.socket_writes.inc();
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Limits the number of client connections.
#[derive(Clone)]
pub struct ConnectionLimit {
    taken: Arc<AtomicU32>,
    max: u32,
    metrics: Metrics,
}

/// A slot for one connection, freed on drop.
pub struct ConnectionSlot(ConnectionLimit);

impl ConnectionLimit {
    /// At most `max` connections.
    pub fn new(max: u32, metrics: Metrics) -> Self {
        Self { taken: Arc::default(), max, metrics }
    }

    /// A slot, if one is free.
    pub fn take(&self) -> Option<ConnectionSlot> {
        let taken = self.taken.fetch_add(1, Ordering::AcqRel) + 1;
        self.metrics.callers.set(taken.into());
        let slot = ConnectionSlot(self.clone());
        // A slot beyond the limit is dropped, which frees it.
        (taken <= self.max).then_some(slot)
    }

    /// Waits before the next accept, longer the more connections this process has.
    ///
    /// The kernel wakes all processes, and the first to run could accept every waiting connection. The wait lets processes
    /// with fewer connections go first. With many connections the shares are even enough, and bursts must not be delayed.
    pub async fn defer(&self) {
        let taken = self.taken.load(Ordering::Acquire);
        let millis = if taken < BALANCED_FROM { taken.min(MAX_DEFER_MS) } else { 1 };
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis.into())).await;
        }
    }

    /// Responds 503 and closes the connection.
    pub fn reject(&self, mut stream: TcpStream) {
        self.metrics.turned_away.inc();
        tokio::spawn(tokio::time::timeout(REJECT_TIMEOUT, async move {
            let _ = stream.write_all(REJECTION).await;
            let _ = stream.shutdown().await;
        }));
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let before = self.0.taken.fetch_sub(1, Ordering::AcqRel);
        self.0.metrics.callers.set((before - 1).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rejection_has_its_announced_length() {
        let text = std::str::from_utf8(REJECTION).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }

    #[test]
    fn a_slot_is_free_again_when_its_connection_closes() {
        let limit = ConnectionLimit::new(2, Metrics::default());
        let (one, other) = (limit.take(), limit.take());
        assert!(one.is_some() && other.is_some() && limit.take().is_none());
        drop(one);
        assert!(limit.take().is_some());
    }
}
