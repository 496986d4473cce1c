//! The connections of one worker: each user has a pool of them, and every request gets a stream on one.
//!
//! A stream is the right to one exchange at a time. With HTTP/1.1 it is a whole connection. Only this file and
//! [`super::http1`] know which version of HTTP a connection speaks. Has no time limits, resends and redirects; see
//! [`super::client`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;

use super::channel::WorkerIo;
use super::failure::Failure;
use super::http1::connection::Connection;
use super::network::Network;
use super::opening::open;
use super::origin::Origin;
use super::peer::Peer;
use super::prepared::PreparedRequest;
use super::response::{ExchangeError, IdleState, Response, Sink, Traffic};
use super::unsolicited::Unsolicited;
use crate::recorder::Marks;

/// A connection idle for longer than this is checked before it is used: by now the kernel can
/// know that the server closed it.
const IDLE_CHECK_AFTER: Nanos = Nanos::from_micros(200);

/// How long a connection is watched after its last response, for a response too many: twice as long as that response
/// took, within these limits.
const WATCHED: (Nanos, Nanos) = (Nanos::from_millis(20), Nanos::from_millis(250));

/// The right to one exchange at a time. Closes its connection when it is dropped.
pub struct Stream {
    // On the heap, so that a pool moves only a pointer.
    held: Box<HeldConnection>,
}

struct HeldConnection {
    connection: Connection,
    origin: Arc<Origin>,
    /// Number of open connections of the worker.
    open: Rc<Cell<u64>>,
}

impl Drop for HeldConnection {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

impl Stream {
    /// The other end; `None` for Unix sockets.
    pub fn peer(&self) -> Option<Peer> {
        self.held.connection.channel().peer()
    }

    /// Bytes of the last exchange.
    pub fn traffic(&self) -> Traffic {
        self.held.connection.traffic()
    }

    /// Sends `request` and reads its response into `sink`. Calls `on_sent` just before the first byte is handed to the
    /// kernel. Without a complete response the stream must be dropped.
    pub async fn exchange<S: Sink>(
        &mut self,
        worker_io: WorkerIo<'_>,
        request: &PreparedRequest,
        sink: &mut S,
        marks: &mut Marks,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Response, ExchangeError> {
        self.held.connection.exchange(worker_io, request, sink, marks, on_sent).await
    }

    /// Responses that can belong to other requests.
    pub fn doubtful(&self) -> u32 {
        self.held.connection.doubtful()
    }

    fn check_idle(&mut self, worker_io: WorkerIo<'_>) -> IdleState {
        // Nothing waits for it, so nothing needs to be woken.
        let mut ctx = Context::from_waker(Waker::noop());
        self.held.connection.check_idle(&mut ctx, worker_io)
    }

    /// Until when a response too many can still come.
    fn watched_until(&self) -> Nanos {
        let connection = &self.held.connection;
        let took = connection.took();
        connection.idle_since().saturating_add(took.saturating_add(took).clamp(WATCHED.0, WATCHED.1))
    }
}

/// The idle connections of all users of a worker.
#[derive(Default)]
pub struct Pools {
    /// By the number of the pool.
    idle: RefCell<Vec<Vec<Stream>>>,
    /// Numbers of pools that are gone.
    free: RefCell<Vec<usize>>,
    /// Connections of users that are gone. A server that is one response ahead looks like a fast one as long as
    /// requests follow each other. Only after the last request there is a response too many.
    left: RefCell<Vec<Stream>>,
}

impl Pools {
    fn add(&self) -> usize {
        let number = self.free.borrow_mut().pop();
        number.unwrap_or_else(|| {
            let mut idle = self.idle.borrow_mut();
            idle.push(Vec::new());
            idle.len() - 1
        })
    }

    /// Takes the connection to `origin` that was put last.
    fn take(&self, pool: usize, origin: &Origin) -> Option<Stream> {
        let idle = &mut self.idle.borrow_mut()[pool];
        let place = idle.iter().rposition(|stream| *stream.held.origin == *origin)?;
        Some(idle.swap_remove(place))
    }

    fn put(&self, pool: usize, stream: Stream) {
        self.idle.borrow_mut()[pool].push(stream);
    }

    fn clear(&self, pool: usize) {
        self.idle.borrow_mut()[pool].clear();
    }

    fn remove(&self, pool: usize) {
        let idle = std::mem::take(&mut self.idle.borrow_mut()[pool]);
        self.left.borrow_mut().extend(idle);
        self.free.borrow_mut().push(pool);
    }

    /// Until when a response too many can still come on a connection without a request.
    pub fn watched_until(&self) -> Nanos {
        let (idle, left) = (self.idle.borrow(), self.left.borrow());
        idle.iter().flatten().chain(&*left).map(Stream::watched_until).max().unwrap_or(Nanos::ZERO)
    }

    /// Looks at the connections of users that are gone, and closes those that were watched for long enough.
    pub fn close_left(&self, worker_io: WorkerIo<'_>) -> Unsolicited {
        let mut found = Unsolicited::default();
        let now = worker_io.clock.now();
        self.left.borrow_mut().retain_mut(|stream| {
            let state = stream.check_idle(worker_io);
            if state == IdleState::Unsolicited {
                found.add(stream.doubtful());
            }
            state == IdleState::Quiet && stream.watched_until() > now
        });
        found
    }

    /// Closes all connections without a request, after a last look at them.
    pub fn close_all(&self, worker_io: WorkerIo<'_>) -> Unsolicited {
        self.idle.borrow_mut().iter_mut().for_each(|pool| self.left.borrow_mut().append(pool));
        let found = self.close_left(worker_io);
        self.left.borrow_mut().clear();
        found
    }
}

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
