//! Who takes the next connection, when several processes wait at one socket.
//!
//! The kernel wakes all of them, and the first to run may take every connection that waits: twenty clients that come at
//! once can end up in one process of ten, which is then alone with the database, or in ten. So a process lets
//! time go by for each connection that it has and each request that it is busy with, and whoever has fewer is there
//! first. Servers for processes that compute one request at a time do the same. One process alone takes what comes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};

/// What a process waits for each connection or request that it has: more than it takes the others to wake up.
const DEFERENCE: Duration = Duration::from_millis(1);

/// With so many of them and more, the wait grows no further: a burst must not be left to time out.
const HELD_MAX: u32 = 20;

/// The socket, and how much that came from it is still ours.
#[derive(Debug)]
pub struct Shared {
    listener: TcpListener,
    alone: bool,
    held: Arc<()>,
}

impl Shared {
    /// `alone`: no other process waits at this socket.
    pub fn new(listener: TcpListener, alone: bool) -> Self {
        Self { listener, alone, held: Arc::new(()) }
    }

    fn held(&self) -> u32 {
        u32::try_from(Arc::strong_count(&self.held) - 1).unwrap_or(u32::MAX)
    }
}

/// Who is at the other end. A connection keeps one and each of its requests another while it lasts, which is how they are
/// counted.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    _held: Arc<()>,
}

impl Listener for Shared {
    type Io = TcpStream;
    type Addr = Peer;

    async fn accept(&mut self) -> (TcpStream, Peer) {
        if !self.alone {
            tokio::time::sleep(DEFERENCE * self.held().min(HELD_MAX)).await;
        }
        let (tcp, address) = Listener::accept(&mut self.listener).await;
        // Answers are written in one piece; waiting for more of them only delays the last.
        let _ = tcp.set_nodelay(true);
        (tcp, Peer { address, _held: Arc::clone(&self.held) })
    }

    fn local_addr(&self) -> io::Result<Peer> {
        let address = self.listener.local_addr()?;
        Ok(Peer { address, _held: Arc::new(()) })
    }
}

impl Connected<IncomingStream<'_, Shared>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Shared>) -> Self {
        stream.remote_addr().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections that each of two takes of twenty that wait when both begin, on one thread.
    async fn shares(alone: bool) -> [usize; 2] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let _waiting: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let shared = |listener| Shared::new(TcpListener::from_std(listener).unwrap(), alone);
        let mut both = [shared(listener.try_clone().unwrap()), shared(listener)];
        let (mut taken, [one, other]) = ([Vec::new(), Vec::new()], &mut both);
        for _ in 0..20 {
            tokio::select! {
                biased;
                got = one.accept() => taken[0].push(got),
                got = other.accept() => taken[1].push(got),
            }
        }
        taken.map(|taken| taken.len())
    }

    #[tokio::test]
    async fn who_has_fewer_connections_takes_the_next_and_without_that_the_first_takes_all() {
        let [one, other] = shares(false).await;
        assert!(one.abs_diff(other) <= 2, "{one} and {other}");
        assert_eq!(shares(true).await, [20, 0]);
    }
}
