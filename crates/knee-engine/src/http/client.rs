//! One user's HTTP client: its connections, time limits, and one resend where that is safe.
//!
//! Returns the result of a request; does not record it and does not know when it was due.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;

use super::connection::{Connection, IdleState, Response, Traffic};
use super::decode::Decoders;
use super::failure::Failure;
use super::opening::open;
use super::origin::Origin;
use super::peer::Peer;
use super::pool::{CountedConnection, IdlePool};
use super::redirect::{FollowRedirects, RedirectSink, Trail};
use super::request::Prepared;
use super::response::Sink;
use super::settings::Settings;
use crate::deadline::{Deadline, Elapsed};
use crate::recorder::{Counts, Marks};

pub use super::network::Network;

/// A connection idle for longer than this is checked before it is used: by now the kernel can
/// know that the server closed it.
const IDLE_CHECK_AFTER: Nanos = Nanos::from_micros(200);

/// One user's connections and time limit.
pub struct Client {
    network: Rc<Network>,
    deadline: Deadline,
    pool: IdlePool,
    /// Connections opened, plus the number of clients before this one. Selects `connect_to` entries
    /// in turn, even if each client opens one connection.
    opened: usize,
    /// Deadline of the next requests; replaces the time limit of the settings.
    request_limit: Option<Nanos>,
}

/// One request for [`Client::fetch`].
#[derive(Clone, Copy)]
pub struct ClientRequest<'a> {
    /// Its origin.
    pub origin: &'a Arc<Origin>,
    /// Its bytes.
    pub prepared: &'a Prepared,
    /// What following redirects needs; `None` to follow none.
    pub follow: Option<FollowRedirects<'a>>,
}

/// The result of a request.
#[derive(Debug)]
pub struct Fetched {
    /// When it ended: last byte read, fault noticed, or time limit reached.
    pub done: Nanos,
    /// Durations and times of its phases.
    pub marks: Marks,
    /// What it adds to the counters.
    pub counts: Counts,
    /// The server of the last hop; `None` without a connection.
    pub peer: Option<Peer>,
    /// The status of a complete response, or the failure.
    pub result: Result<u16, Failure>,
}

impl Fetched {
    /// The outcome of this request.
    pub fn outcome(&self) -> Outcome {
        match &self.result {
            Ok(200..=399) => Outcome::Ok,
            Ok(_) => Outcome::HttpError,
            Err(failure) => failure.fault.outcome(),
        }
    }

    /// Whether no connection could be opened, so that an immediate retry would fail too.
    pub fn failed_to_connect(&self) -> bool {
        self.result.is_err() && self.marks.sent == Nanos::ZERO
    }
}

impl Client {
    /// A client without connections.
    pub fn new(network: Rc<Network>) -> Self {
        let deadline = network.deadlines.add_user();
        let opened = network.resolver.next_client();
        Self { network, deadline, pool: IdlePool::default(), opened, request_limit: None }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.network.settings
    }

    /// The decoders of the worker.
    pub fn decoders(&self) -> &Rc<Decoders> {
        &self.network.decoders
    }

    /// The time on the run's clock.
    pub fn now(&self) -> Nanos {
        self.network.clock.now()
    }

    /// From now on requests and their connections must be done by `at` on the run's clock, whatever
    /// the settings say; `None` restores the settings.
    pub fn set_request_limit(&mut self, at: Option<Nanos>) {
        self.request_limit = at;
    }

    /// Closes the connections that are kept for later.
    pub fn close_idle(&mut self) {
        self.pool.clear();
    }

    /// Waits for `span`, as precisely as time limits are checked; returns the time after it.
    pub async fn pause(&self, span: Nanos) -> Nanos {
        let until = self.network.clock.now().saturating_add(span);
        let _ = self.deadline.limit(until, pin!(std::future::pending::<()>())).await;
        self.network.clock.now()
    }

    /// Sends a request, follows redirects as far as the settings and the request allow, and reads
    /// the final response into `sink`. Calls `on_sent` when the first byte is sent.
    pub async fn fetch<S: Sink>(
        &mut self,
        request: ClientRequest<'_>,
        sink: &mut S,
        mut on_sent: impl FnMut(Nanos),
    ) -> Fetched {
        let mut state = FetchState::default();
        let redirects = if request.follow.is_some() { self.network.settings.redirects } else { 0 };
        let mut sink = RedirectSink::new(sink, redirects);
        let mut result =
            self.exchange(request.origin, request.prepared, &mut sink, &mut state, &mut on_sent).await;
        let mut trail = request.follow.map(Trail::new);
        while let (Ok(_), Some(redirect), Some(trail)) = (&result, sink.redirect.take(), &mut trail) {
            match trail.next(&redirect, &self.network.defaults) {
                Ok(Some(hop)) => {
                    state.counts.redirects += 1;
                    sink.left -= 1;
                    let origin = Arc::new(hop.origin);
                    result = self.exchange(&origin, &hop.prepared, &mut sink, &mut state, &mut on_sent).await;
                }
                Ok(None) => state.counts.redirects_refused += 1,
                Err(failure) => result = Err(failure),
            }
        }
        Fetched { done: state.done, marks: state.marks, counts: state.counts, peer: state.peer, result }
    }

    /// Sends one request and reads its response. Sends it again once, on a new connection, if the
    /// server closed a kept one before its response and if sending twice is safe.
    async fn exchange<S: Sink>(
        &mut self,
        origin: &Arc<Origin>,
        prepared: &Prepared,
        sink: &mut S,
        state: &mut FetchState,
        on_sent: &mut impl FnMut(Nanos),
    ) -> Result<u16, Failure> {
        loop {
            let mut counted = self.connection(origin, prepared, state).await?;
            let reused = counted.connection.is_used();
            state.peer = counted.connection.peer();
            let worker_io = self.network.worker_io();
            let limit = self.request_limit.unwrap_or_else(|| state.limit(&self.network));
            let exchange = counted.connection.exchange(
                worker_io,
                &prepared.bytes,
                prepared.is_head,
                sink,
                &mut state.marks,
                &mut *on_sent,
            );
            let ended = self.deadline.limit(limit, pin!(exchange)).await;
            state.moved(counted.connection.traffic());
            // Limits are checked in steps: a response after the limit is late, even if it is seen first.
            match ended {
                Ok(Ok(response)) if response.done <= limit => {
                    state.response_begun(&response, &counted.connection);
                    if response.keep_alive && self.network.settings.keep_alive {
                        self.pool.put(counted);
                    }
                    return Ok(response.status);
                }
                Ok(Err(broken)) if broken.at <= limit => {
                    state.done = broken.at;
                    let harmless = reused && !broken.response_begun && prepared.is_idempotent;
                    if !harmless || !is_hang_up(broken.failure.fault) || state.counts.resent > 0 {
                        return Err(broken.failure);
                    }
                    state.counts.resent += 1;
                }
                Ok(_) | Err(Elapsed) => {
                    state.done = limit;
                    return Err(Fault::RequestTimeout.into());
                }
            }
        }
    }

    /// An idle connection that still seems open, or a new one.
    async fn connection(
        &mut self,
        origin: &Arc<Origin>,
        prepared: &Prepared,
        state: &mut FetchState,
    ) -> Result<CountedConnection, Failure> {
        while let Some(mut counted) = self.pool.take(origin) {
            let since = counted.connection.idle_since();
            // What cannot be sent again is not risked on a connection that could be known to be closed.
            if prepared.is_idempotent && self.network.clock.now().since(since) < IDLE_CHECK_AFTER {
                return Ok(counted);
            }
            match counted.connection.check_idle(self.network.worker_io()).await {
                IdleState::Quiet => return Ok(counted),
                IdleState::Closed => {}
                IdleState::Unsolicited => state.unsolicited(&counted.connection),
            }
        }
        let connect_by = self.network.clock.now().saturating_add(self.network.settings.connect_timeout);
        // A resent or redirected request has a limit already.
        let done_by = if state.marks.sent == Nanos::ZERO { Nanos::MAX } else { state.limit(&self.network) };
        let done_by = self.request_limit.unwrap_or(done_by);
        let limit = connect_by.min(done_by);
        let connection_index = self.opened;
        self.opened += 1;
        let late = Cell::new(Fault::ConnectTimeout);
        // On the heap: opening is rare and its state is large, above all with TLS.
        let mut opening = Box::pin(open(&self.network, origin, connection_index, &mut state.marks, &late));
        let opened = self.deadline.limit(limit, opening.as_mut()).await;
        drop(opening);
        state.done = self.network.clock.now();
        let mut connection = opened.unwrap_or_else(|Elapsed| {
            state.done = limit;
            Err(if done_by < connect_by { Fault::RequestTimeout } else { late.get() }.into())
        })?;
        state.counts.connections += 1;
        // Otherwise a response that is there before its request would be taken for a very fast one. With TLS the
        // handshake notices it.
        if !origin.tls && connection.check_idle(self.network.worker_io()).await == IdleState::Unsolicited {
            return Err(Fault::Unsolicited.into());
        }
        Ok(CountedConnection::new(connection, origin.clone(), self.network.clone()))
    }
}

/// Whether a fault can mean that the server closed a kept connection.
const fn is_hang_up(fault: Fault) -> bool {
    matches!(fault, Fault::ClosedEarly | Fault::Reset | Fault::TlsBroken)
}

/// What [`Client::fetch`] knows of a request so far, over all its hops.
#[derive(Debug, Default)]
struct FetchState {
    marks: Marks,
    counts: Counts,
    done: Nanos,
    peer: Option<Peer>,
}

impl FetchState {
    /// When the request times out, counted from its first byte.
    fn limit(&self, network: &Network) -> Nanos {
        let Some(timeout) = network.settings.request_timeout else { return Nanos::MAX };
        let sent = if self.marks.sent == Nanos::ZERO { network.clock.now() } else { self.marks.sent };
        sent.saturating_add(timeout)
    }

    fn response_begun(&mut self, response: &Response, connection: &Connection) {
        self.done = response.done;
        if response.surplus {
            self.unsolicited(connection);
        }
    }

    /// Counts bytes that no request asked for.
    fn unsolicited(&mut self, connection: &Connection) {
        self.counts.surplus += 1;
        self.counts.doubtful = self.counts.doubtful.saturating_add(connection.doubtful());
    }

    fn moved(&mut self, traffic: Traffic) {
        self.counts.bytes_sent += traffic.sent;
        self.counts.bytes_received += traffic.received;
        self.counts.bytes_body += traffic.body;
    }
}
