//! Spreads connections over processes that accept from one socket.
//!
//! The kernel wakes all of them, and the first to run can take every waiting connection: twenty concurrent clients can end up in
//! one process of ten. So a process delays each accept by its number of connections and open requests, and the least loaded one
//! accepts first. Servers whose processes handle one request at a time do the same. A single process does not delay.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};

/// Delay per connection or request of a process: longer than the others need to wake up.
const DELAY_PER_REQUEST: Duration = Duration::from_millis(1);

/// Load beyond which the delay stops growing, so that a burst does not time out.
const MAX_DELAYED_LOAD: u32 = 20;

/// The listening socket and the load of this process.
#[derive(Debug)]
pub struct SharedListener {
    listener: TcpListener,
    is_single: bool,
    load: Arc<()>,
}

impl SharedListener {
    /// `is_single`: no other process accepts from this socket.
    pub fn new(listener: TcpListener, is_single: bool) -> Self {
        Self { listener, is_single, load: Arc::new(()) }
    }

    fn load(&self) -> u32 {
        u32::try_from(Arc::strong_count(&self.load) - 1).unwrap_or(u32::MAX)
    }
}

/// The client of a connection. The connection and each of its open requests hold a clone, which counts them as load.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    _load: Arc<()>,
}

impl Listener for SharedListener {
    type Io = TcpStream;
    type Addr = Peer;

    async fn accept(&mut self) -> (TcpStream, Peer) {
        if !self.is_single {
            tokio::time::sleep(DELAY_PER_REQUEST * self.load().min(MAX_DELAYED_LOAD)).await;
        }
        let (tcp, address) = Listener::accept(&mut self.listener).await;
        // Responses are written in one piece; Nagle's algorithm would only delay them.
        let _ = tcp.set_nodelay(true);
        (tcp, Peer { address, _load: Arc::clone(&self.load) })
    }

    fn local_addr(&self) -> io::Result<Peer> {
        let address = self.listener.local_addr()?;
        Ok(Peer { address, _load: Arc::new(()) })
    }
}

impl Connected<IncomingStream<'_, SharedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, SharedListener>) -> Self {
        stream.remote_addr().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of connections that each of two listeners accepts, of twenty that wait at the start.
    async fn shares(is_single: bool) -> [usize; 2] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let _waiting: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let shared = |listener| SharedListener::new(TcpListener::from_std(listener).unwrap(), is_single);
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
    async fn the_listener_with_fewer_connections_takes_the_next_and_without_delay_the_first_takes_all() {
        let [one, other] = shares(false).await;
        assert!(one.abs_diff(other) <= 2, "{one} and {other}");
        assert_eq!(shares(true).await, [20, 0]);
    }
}
