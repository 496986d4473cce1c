//! A caller's socket: how much is written at a time, and how many callers there may be.
//!
//! Does not know HTTP, but for the one sentence that turns somebody away.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::metric::Metrics;

const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 81\r\n\r\n\
    {\"error\":{\"code\":\"too_many_connections\",\"message\":\"too many callers, try again\"}}";
/// Callers from which on a process no longer minds having more than others.
const EVEN: u32 = 64;
/// Longest wait for other processes, in milliseconds: more than it takes them to wake up.
const LONGEST: u32 = 5;
/// How long somebody may take to read that.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection whose writes have a largest size.
pub struct Socket {
    stream: TcpStream,
    most: usize,
    metrics: Metrics,
    _place: Place,
}

impl Socket {
    /// Writes at most `most` bytes at a time.
    pub fn new(stream: TcpStream, most: u32, metrics: Metrics, place: Place) -> Self {
        Self { stream, most: most as usize, metrics, _place: place }
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
        let piece = &bytes[..bytes.len().min(self.most)];
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
        if slices.iter().map(|slice| slice.len()).sum::<usize>() > self.most {
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

/// Places for callers.
#[derive(Clone)]
pub struct Places {
    taken: Arc<AtomicU32>,
    most: u32,
    metrics: Metrics,
}

/// A caller's place, free again when it is dropped.
pub struct Place(Places);

impl Places {
    /// So many.
    pub fn new(most: u32, metrics: Metrics) -> Self {
        Self { taken: Arc::default(), most, metrics }
    }

    /// A place, if one is left.
    pub fn take(&self) -> Option<Place> {
        let taken = self.taken.fetch_add(1, Ordering::AcqRel) + 1;
        self.metrics.callers.set(taken.into());
        let place = Place(self.clone());
        // Given back as it is dropped if it is one too many.
        (taken <= self.most).then_some(place)
    }

    /// Waits before the next caller is taken, if other processes wait for callers, too: the longer, the more are here already.
    ///
    /// The kernel wakes all of them, and the first to run may take everybody who waits; whoever has fewer is given the time to be
    /// there first. With many callers the shares are even enough, and a rush must not be held up.
    pub async fn defer(&self) {
        let taken = self.taken.load(Ordering::Acquire);
        let millis = if taken < EVEN { taken.min(LONGEST) } else { 1 };
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis.into())).await;
        }
    }

    /// Tells somebody for whom there was no place.
    pub fn turn_away(&self, mut stream: TcpStream) {
        self.metrics.turned_away.inc();
        tokio::spawn(tokio::time::timeout(GOODBYE, async move {
            let _ = stream.write_all(FULL).await;
            let _ = stream.shutdown().await;
        }));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let before = self.0.taken.fetch_sub(1, Ordering::AcqRel);
        self.0.metrics.callers.set((before - 1).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_without_a_place_is_told_is_as_long_as_it_says() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }

    #[test]
    fn a_place_is_free_again_when_its_caller_leaves() {
        let places = Places::new(2, Metrics::default());
        let (one, other) = (places.take(), places.take());
        assert!(one.is_some() && other.is_some() && places.take().is_none());
        drop(one);
        assert!(places.take().is_some());
    }
}
