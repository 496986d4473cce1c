//! A connection for a protocol that is not HTTP: bytes out, bytes in, and how many there were of both.
//!
//! Opens it by the rules for hosts, names and TLS that requests follow. Does not record anything and keeps no pool.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use rustls::ClientConfig;
use rustls::client::Resumption;

use super::channel::Channel;
use super::failure::{Failure, Operation};
use super::network::Network;
use super::open_place::OpenPlace;
use super::opening::open;
use super::origin::Origin;
use super::peer::Peer;
use crate::recorder::Marks;

/// An open connection.
pub struct ByteStream {
    network: Rc<Network>,
    channel: Channel,
    sent: u64,
    received: u64,
    /// Counts it as open.
    _place: OpenPlace,
}

impl ByteStream {
    /// Opens a connection to `origin`, with `tls` if the origin has it. Gives up at `limit`.
    pub async fn open(
        network: &Rc<Network>,
        origin: &Origin,
        tls: Option<&Arc<ClientConfig>>,
        limit: Nanos,
    ) -> Result<Self, Failure> {
        let late = Cell::new(Fault::ConnectTimeout);
        let mut marks = Marks::default();
        let number = network.resolver.next_client();
        let opened = {
            let opening = pin!(open(network, origin, tls, number, &mut marks, &late));
            network.deadline().limit(limit, opening).await
        };
        let channel = opened.unwrap_or_else(|_| Err(late.get().into()))?;
        let place = network.count_opened(channel.peer().map(|peer| peer.address.ip()));
        Ok(Self { network: network.clone(), channel, sent: 0, received: 0, _place: place })
    }

    /// The other end.
    pub const fn peer(&self) -> Option<Peer> {
        self.channel.peer()
    }

    /// Whether the connection is open and nothing has arrived that was not read. Does not wait.
    pub fn is_quiet(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let scratch = self.network.scratch();
        let polled = self.channel.poll_take(&mut context, &mut scratch.borrow_mut(), &mut Vec::new());
        polled.is_pending()
    }

    /// Bytes sent and received since this was asked last, without those of TLS.
    pub const fn take_counts(&mut self) -> (u64, u64) {
        let counts = (self.sent, self.received);
        (self.sent, self.received) = (0, 0);
        counts
    }

    /// Sends `bytes`. Gives up at `limit`.
    pub async fn send(&mut self, bytes: &[u8], limit: Nanos) -> Result<(), Failure> {
        self.channel.begin_send(bytes)?;
        let channel = &mut self.channel;
        let mut written = 0;
        let ended = {
            let sending = pin!(poll_fn(|ctx| channel.poll_send(ctx, bytes, &mut written)));
            self.network.deadline().limit(limit, sending).await
        };
        self.sent += written as u64;
        match ended {
            Ok(sent) => sent.map_err(|error| Failure::exchanging(&error, Operation::Write)),
            Err(_) => Err(Fault::RequestTimeout.into()),
        }
    }

    /// Appends what arrives next to `into`; the number of bytes, 0 at the end. Gives up at `limit`.
    pub async fn receive(&mut self, into: &mut Vec<u8>, limit: Nanos) -> Result<usize, Failure> {
        let channel = &mut self.channel;
        let scratch = self.network.scratch();
        let ended = {
            let receiving = pin!(poll_fn(|ctx| channel.poll_take(ctx, &mut scratch.borrow_mut(), into)));
            self.network.deadline().limit(limit, receiving).await
        };
        let count = ended.unwrap_or_else(|_| Err(Fault::RequestTimeout.into()))?;
        self.received += count as u64;
        Ok(count)
    }
}

/// The same configuration of TLS for a protocol that has no name in the handshake.
pub fn without_protocols(config: &Arc<ClientConfig>) -> Arc<ClientConfig> {
    let mut config = (**config).clone();
    config.alpn_protocols.clear();
    // A session with a protocol would be resumed with it.
    config.resumption = Resumption::default();
    Arc::new(config)
}
