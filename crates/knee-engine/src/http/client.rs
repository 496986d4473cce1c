//! Sends one request at a time for a user: its time limits, its redirects, and one resend where that is safe.
//!
//! Returns the result of a request; does not record it and does not know when it was due. Works for any version of
//! HTTP; see [`super::transport`] for connections.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;

use super::decode::Decoders;
use super::failure::Failure;
use super::origin::Origin;
use super::peer::Peer;
use super::pools::Stream;
use super::prepared::PreparedRequest;
use super::proxy::tunnel::unreached;
use super::redirect::{FollowRedirects, RedirectSink, Trail};
use super::response::{Sink, Traffic};
use super::settings::Settings;
use super::transport::{NewStream, UserPool};
use super::unsolicited::Unsolicited;
use crate::deadline::{Deadline, Elapsed};
use crate::recorder::{Counts, Marks};

pub use super::network::Network;

/// Sends one request at a time over the connections of its user.
pub struct Client {
    network: Rc<Network>,
    deadline: Deadline,
    pool: Rc<UserPool>,
    /// Deadline of the next requests; replaces the time limit of the settings.
    request_limit: Option<Nanos>,
}

/// One request for [`Client::fetch`].
#[derive(Clone, Copy)]
pub struct ClientRequest<'a> {
    /// Its origin.
    pub origin: &'a Arc<Origin>,
    /// What is sent.
    pub request: &'a PreparedRequest,
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
    /// A client that uses the connections of `pool`.
    pub fn new(pool: Rc<UserPool>) -> Self {
        let network = pool.network().clone();
        let deadline = network.deadlines.add_user();
        Self { network, deadline, pool, request_limit: None }
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
        let look = self.network.sampling.begin(request.request);
        let mut sink = RedirectSink::new(sink, redirects, look);
        let mut result =
            self.exchange(request.origin, request.request, &mut sink, &mut state, &mut on_sent).await;
        let mut trail = request.follow.map(Trail::new);
        while let (Ok(_), Some(redirect), Some(trail)) = (&result, sink.redirect.take(), &mut trail) {
            match trail.next(&redirect, &self.network.defaults) {
                Ok(Some(hop)) => {
                    state.counts.redirects += 1;
                    sink.left -= 1;
                    let origin = Arc::new(hop.origin);
                    result = self.exchange(&origin, &hop.request, &mut sink, &mut state, &mut on_sent).await;
                }
                Ok(None) => state.counts.redirects_refused += 1,
                Err(failure) => result = Err(failure),
            }
        }
        let Unsolicited { count: surplus, doubtful } = state.unsolicited;
        let address = state.peer.map(|peer| peer.address);
        // After a redirect, method and bytes are not those of the response that was looked at.
        let look = sink.look.take().filter(|_| state.counts.redirects == 0);
        let seen = look.map(|look| look.end(address, state.connection));
        self.network.sampling.passed(state.done);
        let counts = Counts { surplus, doubtful, seen, ..state.counts };
        Fetched { done: state.done, marks: state.marks, counts, peer: state.peer, result }
    }

    /// Sends one request and reads its response. Sends it again once, on a new connection, if the
    /// server closed a kept one before its response and if sending twice is safe, or if the server says that it did not
    /// process it.
    async fn exchange<S: Sink>(
        &mut self,
        origin: &Arc<Origin>,
        request: &PreparedRequest,
        sink: &mut S,
        state: &mut FetchState,
        on_sent: &mut impl FnMut(Nanos),
    ) -> Result<u16, Failure> {
        loop {
            let mut stream = self.stream(origin, request, state).await?;
            (state.peer, state.connection) = (stream.peer(), stream.connection_number());
            sink.reached(state.peer);
            let worker_io = self.network.worker_io();
            let limit = self.request_limit.unwrap_or_else(|| state.limit(&self.network));
            let begun = &mut state.begun;
            let on_sent = |at| {
                begun.get_or_insert(at);
                on_sent(at);
            };
            let exchange = stream.exchange(worker_io, request, sink, &mut state.marks, on_sent);
            let ended = self.deadline.limit(limit, pin!(exchange)).await;
            state.moved(stream.traffic());
            // Limits are checked in steps: a response after the limit is late, even if it is seen first.
            match ended {
                Ok(Ok(response)) if response.done <= limit => {
                    state.done = response.done;
                    if response.surplus {
                        state.unsolicited.add(stream.doubtful());
                    }
                    if response.keep_alive && self.network.settings.keep_alive {
                        self.pool.put(stream);
                    }
                    return Ok(response.status);
                }
                Ok(Err(broken)) if broken.at <= limit => {
                    state.done = broken.at;
                    let again = broken.unprocessed.allows(request.is_repeatable());
                    if !again || state.counts.resent > 0 {
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

    /// A stream on an idle connection, or on a new one.
    async fn stream(
        &self,
        origin: &Arc<Origin>,
        request: &PreparedRequest,
        state: &mut FetchState,
    ) -> Result<Stream, Failure> {
        if let Some(stream) = self.pool.idle_stream(origin, request.is_repeatable(), &mut state.unsolicited) {
            return Ok(stream);
        }
        let connect_by = self.network.clock.now().saturating_add(self.network.settings.connect_timeout);
        // A resent or redirected request has a limit already.
        let done_by = if state.begun.is_none() { Nanos::MAX } else { state.limit(&self.network) };
        let done_by = self.request_limit.unwrap_or(done_by);
        let limit = connect_by.min(done_by);
        let late = Cell::new(Fault::ConnectTimeout);
        // On the heap: opening is rare and its state is large, above all with TLS.
        let mut opening = Box::pin(self.pool.new_stream(origin, &mut state.marks, &late));
        let opened = self.deadline.limit(limit, opening.as_mut()).await;
        drop(opening);
        state.done = self.network.clock.now();
        // Limits are checked in steps: what ends after its limit is late, even if it is seen first.
        let opened = opened.and_then(|opened| if state.done <= limit { Ok(opened) } else { Err(Elapsed) });
        let NewStream { mut stream, is_opened } = opened.unwrap_or_else(|Elapsed| {
            state.done = limit;
            Err(match &origin.via {
                _ if done_by < connect_by => Fault::RequestTimeout.into(),
                Some(_) => unreached(late.get().into(), None),
                None => late.get().into(),
            })
        })?;
        state.counts.connections += u32::from(is_opened);
        self.pool.check_new(&mut stream)?;
        Ok(stream)
    }
}

/// What [`Client::fetch`] knows of a request so far, over all its hops.
#[derive(Debug, Default)]
struct FetchState {
    /// When its first byte was sent, or handed over to be sent.
    begun: Option<Nanos>,
    marks: Marks,
    counts: Counts,
    unsolicited: Unsolicited,
    done: Nanos,
    peer: Option<Peer>,
    /// The number of the last connection.
    connection: u32,
}

impl FetchState {
    /// When the request times out, counted from its first byte.
    fn limit(&self, network: &Network) -> Nanos {
        let Some(timeout) = network.settings.request_timeout else { return Nanos::MAX };
        self.begun.unwrap_or_else(|| network.clock.now()).saturating_add(timeout)
    }

    fn moved(&mut self, traffic: Traffic) {
        self.counts.bytes_sent += traffic.sent;
        self.counts.bytes_received += traffic.received;
        self.counts.bytes_body += traffic.body;
    }
}
