//! The connections of one worker: each user has a pool of them, and every request gets a stream on one.
//!
//! A stream is the right to one exchange at a time. Only this file, [`super::pools`], [`super::http1`] and
//! [`super::http2`] know which version of HTTP a connection speaks. Has no time limits, resends and
//! redirects; see [`super::client`].

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::channel::Channel;
use super::failure::Failure;
use super::http1::connection::Connection;
use super::http2::connection::{Http2Connection, Http2Stream};
use super::network::Network;
use super::open_place::OpenPlace;
use super::opening::open;
use super::origin::Origin;
use super::pools::{HeldConnection, Stream};
use super::response::IdleState;
use super::settings::HttpVersion;
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
    /// Held while a connection is opened that others are to share.
    opening: tokio::sync::Mutex<()>,
    /// Whether its connections speak HTTP/1.1, whatever the settings say.
    is_http1: bool,
}

/// Gives users their pools: each its own, or one for several users if the settings say so.
#[derive(Default)]
pub struct PoolSharing {
    /// The pool that the last user got, and how many users have it.
    last: RefCell<(Weak<UserPool>, u32)>,
}

impl PoolSharing {
    /// A pool for one more user: that of the last one until as many users share it as the settings say.
    pub fn pool(&self, network: &Rc<Network>) -> Rc<UserPool> {
        let (last, users) = &mut *self.last.borrow_mut();
        if *users < network.settings.streams
            && let Some(pool) = last.upgrade()
        {
            *users += 1;
            return pool;
        }
        let pool = Rc::new(UserPool::new(network.clone()));
        (*last, *users) = (Rc::downgrade(&pool), 1);
        pool
    }
}

/// A stream on a connection that was not idle before.
pub struct NewStream {
    /// The stream.
    pub stream: Stream,
    /// Whether the connection was opened for it; another user can have opened it meanwhile.
    pub is_opened: bool,
}

impl UserPool {
    /// A pool without connections.
    pub fn new(network: Rc<Network>) -> Self {
        let opened = Cell::new(network.resolver.next_client());
        let number = network.pools.add();
        Self { number, opened, opening: tokio::sync::Mutex::default(), is_http1: false, network }
    }

    /// The same, for connections that speak HTTP/1.1, whatever the settings say.
    pub fn of_http1(network: Rc<Network>) -> Self {
        let mut pool = Self::new(network);
        pool.is_http1 = true;
        pool
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
            let Some(since) = stream.idle_since() else { return Some(stream) };
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
    ) -> Result<NewStream, Failure> {
        let network = &*self.network;
        // With HTTP/2 for certain, one connection is opened for all that wait.
        let version = if self.is_http1 { HttpVersion::One } else { network.settings.version };
        let _opening = match version {
            HttpVersion::Two => Some(self.opening.lock().await),
            HttpVersion::One | HttpVersion::Negotiated => None,
        };
        if let Some(stream) = network.pools.take_shared(self.number, origin) {
            return Ok(NewStream { stream, is_opened: false });
        }
        let connection_index = self.opened.get();
        self.opened.set(connection_index + 1);
        let tls = if self.is_http1 { network.tls_http1() } else { network.tls() };
        let channel = open(network, origin, tls, connection_index, marks, late).await?;
        if origin.tls {
            network.note_secure(origin);
        }
        let place = network.count_opened(channel.peer().map(|peer| peer.address.ip()));
        let is_http2 = match version {
            HttpVersion::Two => true,
            HttpVersion::Negotiated => channel.protocol() == Some(b"h2"),
            HttpVersion::One => false,
        };
        if is_http2 {
            let stream = self.new_shared(channel, origin, place).await?;
            return Ok(NewStream { stream, is_opened: true });
        }
        let connection = Connection::new(channel, network.reader());
        let held = HeldConnection { connection, origin: origin.clone(), place };
        Ok(NewStream { stream: Stream::Http1(Box::new(held)), is_opened: true })
    }

    /// A stream on a connection that other requests will share. As in k6, a connection that another request opened
    /// meanwhile is used, and this one is closed.
    async fn new_shared(
        &self,
        channel: Channel,
        origin: &Arc<Origin>,
        place: OpenPlace,
    ) -> Result<Stream, Failure> {
        let pools = &self.network.pools;
        let made = {
            let Network { settings, clock, .. } = &*self.network;
            Http2Connection::begin(settings, *clock, self.network.scratch(), channel, origin, place).await?
        };
        if !self.network.settings.keep_alive {
            return Ok(Stream::Http2(Http2Stream::on(made)));
        }
        if let Some(known) = pools.take_shared(self.number, origin) {
            return Ok(known);
        }
        pools.share(self.number, made.clone());
        Ok(Stream::Http2(Http2Stream::on(made)))
    }

    /// Refuses a new connection on which bytes arrived before its first request. Otherwise a response that is there
    /// before its request would be taken for a very fast one. With TLS the handshake notices it.
    pub fn check_new(&self, stream: &mut Stream) -> Result<(), Failure> {
        if matches!(stream, Stream::Http1(held) if held.connection.channel().is_secure()) {
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
