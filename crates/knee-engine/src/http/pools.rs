//! Streams, and the pools of a worker in which they wait between requests.
//!
//! A stream is the right to one exchange at a time. With HTTP/1.1 it is a whole connection. Does not open connections;
//! [`super::transport`] does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use knee_core::unit::Nanos;

use super::channel::WorkerIo;
use super::http1::connection::Connection;
use super::origin::Origin;
use super::peer::Peer;
use super::prepared::PreparedRequest;
use super::response::{ExchangeError, IdleState, Response, Sink, Traffic};
use super::unsolicited::Unsolicited;
use crate::recorder::Marks;

/// How long a connection is watched after its last response, for a response too many: twice as long as that response
/// took, within these limits.
const WATCHED: (Nanos, Nanos) = (Nanos::from_millis(20), Nanos::from_millis(250));

/// The right to one exchange at a time. Closes its connection when it is dropped.
pub struct Stream {
    // On the heap, so that a pool moves only a pointer.
    pub(super) held: Box<HeldConnection>,
}

pub(super) struct HeldConnection {
    pub(super) connection: Connection,
    pub(super) origin: Arc<Origin>,
    /// Number of open connections of the worker.
    pub(super) open: Rc<Cell<u64>>,
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

    pub(super) fn check_idle(&mut self, worker_io: WorkerIo<'_>) -> IdleState {
        // Nothing waits for it, so nothing needs to be woken.
        let mut ctx = Context::from_waker(Waker::noop());
        self.held.connection.check_idle(&mut ctx, worker_io)
    }

    /// Until when a response too many can still come.
    pub(super) fn watched_until(&self) -> Nanos {
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
    pub(super) fn add(&self) -> usize {
        let number = self.free.borrow_mut().pop();
        number.unwrap_or_else(|| {
            let mut idle = self.idle.borrow_mut();
            idle.push(Vec::new());
            idle.len() - 1
        })
    }

    /// Takes the connection to `origin` that was put last.
    pub(super) fn take(&self, pool: usize, origin: &Origin) -> Option<Stream> {
        let idle = &mut self.idle.borrow_mut()[pool];
        let place = idle.iter().rposition(|stream| *stream.held.origin == *origin)?;
        Some(idle.swap_remove(place))
    }

    pub(super) fn put(&self, pool: usize, stream: Stream) {
        self.idle.borrow_mut()[pool].push(stream);
    }

    pub(super) fn clear(&self, pool: usize) {
        self.idle.borrow_mut()[pool].clear();
    }

    pub(super) fn remove(&self, pool: usize) {
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
