//! The connections of one worker: each user has a pool of them, and every request gets a stream on one.
//!
//! A stream is the right to one exchange at a time. With HTTP/1.1 it is a whole connection. Only this file,
//! [`super::pools`] and [`super::http1`] know which version of HTTP a connection speaks. Has no time limits, resends and
//! redirects; see [`super::client`].

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::failure::Failure;
use super::http1::connection::Connection;
use super::network::Network;
use super::opening::open;
use super::origin::Origin;
use super::pools::{HeldConnection, Stream};
use super::response::IdleState;
use super::unsolicited::Unsolicited;
use crate::recorder::Marks;

/// A connection idle for longer than this is checked before it is used: by now the kernel can
/// know that the server closed it.
const IDLE_CHECK_AFTER: Nanos = Nanos::from_micros(200);

/// The connections of one user. Several clients can share them, so that requests at the same time find what any of
/// them left open.
pub struct UserPool {
    network: Rc<Network>,
    number: usize,
    /// Connections opened, plus the number of pools before this one. Selects `connect_to` entries
    /// in turn, even if each user opens one connection.
    opened: Cell<usize>,
}

impl UserPool {
    /// A pool without connections.
    pub fn new(network: Rc<Network>) -> Self {
        let opened = Cell::new(network.resolver.next_client());
        Self { number: network.pools.add(), opened, network }
    }

    /// What the pools of the worker share.
    pub const fn network(&self) -> &Rc<Network> {
        &self.network
    }

    /// Closes the idle connections.
    pub fn close_idle(&self) {
        self.network.pools.clear(self.number);
    }

    /// Keeps a connection for later.
    pub fn put(&self, stream: Stream) {
        self.network.pools.put(self.number, stream);
    }

    /// A stream on an idle connection that still seems open. Adds the responses that no request asked
    /// for to `unsolicited`.
    pub fn idle_stream(
        &self,
        origin: &Origin,
        is_repeatable: bool,
        unsolicited: &mut Unsolicited,
    ) -> Option<Stream> {
        let network = &*self.network;
        while let Some(mut stream) = network.pools.take(self.number, origin) {
            let since = stream.held.connection.idle_since();
            // What cannot be sent again is not risked on a connection that could be known to be closed.
            if is_repeatable && network.clock.now().since(since) < IDLE_CHECK_AFTER {
                return Some(stream);
            }
            match stream.check_idle(network.worker_io()) {
                IdleState::Quiet => return Some(stream),
                IdleState::Closed => {}
                IdleState::Unsolicited => unsolicited.add(stream.doubtful()),
            }
        }
        None
    }

    /// A stream on a new connection. Adds the durations of its phases to `marks` and keeps in `late` the fault that a
    /// timeout would be now.
    pub async fn new_stream(
        &self,
        origin: &Arc<Origin>,
        marks: &mut Marks,
        late: &Cell<Fault>,
    ) -> Result<Stream, Failure> {
        let network = &*self.network;
        let connection_index = self.opened.get();
        self.opened.set(connection_index + 1);
        let channel = open(network, origin, connection_index, marks, late).await?;
        if origin.tls {
            network.note_secure(origin);
        }
        let open = network.count_opened(channel.peer().map(|peer| peer.address.ip()));
        let connection = Connection::new(channel, network.reader());
        Ok(Stream { held: Box::new(HeldConnection { connection, origin: origin.clone(), open }) })
    }

    /// Refuses a new connection on which bytes arrived before its first request. Otherwise a response that is there
    /// before its request would be taken for a very fast one. With TLS the handshake notices it.
    pub fn check_new(&self, stream: &mut Stream) -> Result<(), Failure> {
        if stream.held.connection.channel().is_secure() {
            return Ok(());
        }
        match stream.check_idle(self.network.worker_io()) {
            IdleState::Unsolicited => Err(Fault::Unsolicited.into()),
            IdleState::Quiet | IdleState::Closed => Ok(()),
        }
    }
}

impl Drop for UserPool {
    fn drop(&mut self) {
        self.network.pools.remove(self.number);
    }
}
