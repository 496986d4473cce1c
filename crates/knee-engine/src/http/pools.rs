//! Streams, and the pools of a worker in which they wait between requests.
//!
//! A stream is the right to one exchange at a time. With HTTP/1.1 it is a whole connection, with HTTP/2 one of many on a
//! connection that stays in the pool. Does not open connections; [`super::transport`] does.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use knee_core::unit::Nanos;

use super::channel::WorkerIo;
use super::http1::connection::Connection;
use super::http2::connection::{Http2Connection, Http2Stream};
use super::open_place::OpenPlace;
use super::origin::Origin;
use super::peer::Peer;
use super::prepared::PreparedRequest;
use super::response::{ExchangeError, IdleState, Response, Sink, Traffic};
use super::unsolicited::Unsolicited;
use crate::recorder::Marks;

/// How long a connection is watched after its last response, for a response too many: twice as long as that response
/// took, within these limits.
const WATCHED: (Nanos, Nanos) = (Nanos::from_millis(20), Nanos::from_millis(250));

/// The right to one exchange at a time.
pub enum Stream {
    /// A whole connection, which is closed when this is dropped. On the heap, so that a pool moves only a pointer.
    Http1(Box<HeldConnection>),
    /// One of many on a connection.
    Http2(Http2Stream),
}

/// A connection that one exchange at a time has.
pub struct HeldConnection {
    pub(super) connection: Connection,
    pub(super) origin: Arc<Origin>,
    /// Its place among the open connections of the worker.
    pub(super) place: OpenPlace,
}

impl Stream {
    /// The other end; `None` for Unix sockets.
    pub fn peer(&self) -> Option<Peer> {
        match self {
            Self::Http1(held) => held.connection.channel().peer(),
            Self::Http2(stream) => stream.peer(),
        }
    }

    /// The number of its connection in the worker.
    pub fn connection_number(&self) -> u32 {
        match self {
            Self::Http1(held) => held.place.number(),
            Self::Http2(stream) => stream.connection_number(),
        }
    }

    /// Bytes of the last exchange.
    pub fn traffic(&self) -> Traffic {
        match self {
            Self::Http1(held) => held.connection.traffic(),
            Self::Http2(stream) => stream.traffic(),
        }
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
        match self {
            Self::Http1(held) => held.connection.exchange(worker_io, request, sink, marks, on_sent).await,
            // On the heap: it would make the futures of HTTP/1.1 larger.
            Self::Http2(stream) => Box::pin(stream.exchange(worker_io, request, sink, marks, on_sent)).await,
        }
    }

    /// Responses that can belong to other requests: none with HTTP/2, which numbers them.
    pub fn doubtful(&self) -> u32 {
        match self {
            Self::Http1(held) => held.connection.doubtful(),
            Self::Http2(_) => 0,
        }
    }

    pub(super) fn check_idle(&mut self, worker_io: WorkerIo<'_>) -> IdleState {
        match self {
            // Nothing waits for it, so nothing needs to be woken.
            Self::Http1(held) => {
                held.connection.check_idle(&mut Context::from_waker(Waker::noop()), worker_io)
            }
            Self::Http2(_) => IdleState::Quiet,
        }
    }

    /// When the last exchange of a connection was done; `None` if others share it.
    pub(super) fn idle_since(&self) -> Option<Nanos> {
        match self {
            Self::Http1(held) => Some(held.connection.idle_since()),
            Self::Http2(_) => None,
        }
    }

    fn leads_to(&self, origin: &Origin) -> bool {
        // Most requests have the origin that the connection was opened with.
        let is_same = |known: &Arc<Origin>| std::ptr::eq(&raw const **known, origin) || **known == *origin;
        matches!(self, Self::Http1(held) if is_same(&held.origin))
    }

    /// Until when a response too many can still come.
    pub(super) fn watched_until(&self) -> Nanos {
        let Self::Http1(held) = self else { return Nanos::ZERO };
        let took = held.connection.took();
        held.connection.idle_since().saturating_add(took.saturating_add(took).clamp(WATCHED.0, WATCHED.1))
    }
}

/// The connections of one user.
#[derive(Default)]
struct Pool {
    /// Connections of HTTP/1.1 that no request has.
    idle: Vec<Stream>,
    /// Connections of HTTP/2, whether requests are on them or not.
    shared: Vec<Rc<Http2Connection>>,
}

/// The idle connections of all users of a worker.
#[derive(Default)]
pub struct Pools {
    /// By the number of the pool.
    by_number: RefCell<Vec<Pool>>,
    /// Numbers of pools that are gone.
    free: RefCell<Vec<usize>>,
    /// Connections of users that are gone. A server that is one response ahead looks like a fast one as long as
    /// requests follow each other. Only after the last request there is a response too many.
    left: RefCell<Vec<Stream>>,
}

impl Pools {
    pub(super) fn add(&self) -> usize {
        let number = self.free.borrow_mut().pop();
        number.unwrap_or_else(|| {
            let mut pools = self.by_number.borrow_mut();
            pools.push(Pool::default());
            pools.len() - 1
        })
    }

    /// A stream to `origin`: a new one on a shared connection, or the connection that was put last.
    pub(super) fn take(&self, pool: usize, origin: &Origin) -> Option<Stream> {
        if let Some(stream) = self.take_shared(pool, origin) {
            return Some(stream);
        }
        let pool = &mut self.by_number.borrow_mut()[pool];
        let place = pool.idle.iter().rposition(|stream| stream.leads_to(origin))?;
        Some(pool.idle.swap_remove(place))
    }

    /// A new stream on a shared connection to `origin`.
    pub(super) fn take_shared(&self, pool: usize, origin: &Origin) -> Option<Stream> {
        let shared = &mut self.by_number.borrow_mut()[pool].shared;
        if shared.is_empty() {
            return None;
        }
        shared.retain(|connection| connection.is_usable());
        let known = shared.iter().find(|connection| *connection.origin == *origin)?;
        Some(Stream::Http2(Http2Stream::on(known.clone())))
    }

    /// Keeps a connection that has no request.
    pub(super) fn put(&self, pool: usize, stream: Stream) {
        if matches!(stream, Stream::Http1(_)) {
            self.by_number.borrow_mut()[pool].idle.push(stream);
        }
    }

    /// Keeps a connection that requests share.
    pub(super) fn share(&self, pool: usize, connection: Rc<Http2Connection>) {
        self.by_number.borrow_mut()[pool].shared.push(connection);
    }

    pub(super) fn clear(&self, pool: usize) {
        let cleared = std::mem::take(&mut self.by_number.borrow_mut()[pool]);
        drop(cleared);
    }

    pub(super) fn remove(&self, pool: usize) {
        let Pool { idle, shared } = std::mem::take(&mut self.by_number.borrow_mut()[pool]);
        drop(shared);
        self.left.borrow_mut().extend(idle);
        self.free.borrow_mut().push(pool);
    }

    /// Until when a response too many can still come on a connection without a request.
    pub fn watched_until(&self) -> Nanos {
        let (pools, left) = (self.by_number.borrow(), self.left.borrow());
        let idle = pools.iter().flat_map(|pool| &pool.idle);
        idle.chain(&*left).map(Stream::watched_until).max().unwrap_or(Nanos::ZERO)
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
        for pool in &mut *self.by_number.borrow_mut() {
            self.left.borrow_mut().append(&mut pool.idle);
            pool.shared.clear();
        }
        let found = self.close_left(worker_io);
        self.left.borrow_mut().clear();
        found
    }
}
