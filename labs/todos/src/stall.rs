//! Connections that close when their client takes nothing of a response for too long.
//!
//! A client that does not read would keep its connection, and what waits in it, for ever. Does not limit how long a
//! client says nothing: a connection without a response in progress stays open.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::transport::server::Connected;

/// A listener whose connections close when they stall.
pub struct StallListener {
    listener: TcpListener,
    limit: Duration,
}

impl StallListener {
    /// A listener whose connections can stall for `limit`.
    pub fn new(listener: TcpListener, limit: Duration) -> Self {
        Self { listener, limit }
    }
}

impl Listener for StallListener {
    type Io = StallStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (tcp, address) = Listener::accept(&mut self.listener).await;
        // Responses are written in one piece; Nagle's algorithm would only delay them.
        let _ = tcp.set_nodelay(true);
        (StallStream::new(tcp, self.limit), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A stream whose writes fail if the other side takes nothing for too long.
pub struct StallStream<S> {
    stream: S,
    limit: Duration,
    /// Set while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> StallStream<S> {
    /// A stream whose writes can wait for `limit`.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, deadline: None }
    }

    /// The result of a write, or an error if it has waited for too long.
    fn limited<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + limit)));
        ready!(deadline.as_mut().poll(context));
        tracing::debug!("a client took nothing of its response for too long");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing of the response")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limited(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limited(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S> Connected for StallStream<S> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);
    const LESS: Duration = Duration::from_secs(9);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_loses_its_connection() {
        let (_client, server) = duplex(4);
        let mut server = StallStream::new(server, LIMIT);
        let before = Instant::now();
        let error = server.write_all(b"more than four").await.unwrap_err();
        assert_eq!((error.kind(), before.elapsed()), (io::ErrorKind::TimedOut, LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_little_each_time_keeps_its_connection() {
        let (mut client, server) = duplex(1);
        let mut server = StallStream::new(server, LIMIT);
        let reading = async {
            let mut read = [0; 8];
            for byte in &mut read {
                tokio::time::sleep(LESS).await;
                *byte = client.read_u8().await.unwrap();
            }
            read
        };
        let (written, read) = tokio::join!(server.write_all(b"12345678"), reading);
        written.unwrap();
        assert_eq!(&read, b"12345678");
    }
}
