//! One user's HTTP client: its connections, one resend where that is safe, and redirects.
//!
//! Says what happened to a request; does not record it, and does not know when it was due.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use rustls::ClientConfig;
use url::Url;

use super::connection::{Connection, IdleState, Response, SCRATCH, Traffic, WorkerIo};
use super::failure::Failure;
use super::origin::{Origin, Resolver, destination};
use super::peer::Peer;
use super::request::{Defaults, Prepared, serialize};
use super::response::{ResponseHead, Sink};
use super::settings::Settings;
use super::tls::Session;
use crate::deadline::{Deadline, Deadlines, Elapsed};
use crate::recorder::{Counts, Marks};

/// Idle for longer than this, a connection is looked at before it is used: the kernel has had
/// the time to tell that the server closed it.
const IDLE_CHECK_AFTER: Nanos = Nanos::from_micros(200);

/// What all clients of one worker share.
pub struct Network {
    /// The run's clock.
    pub clock: MonotonicClock,
    settings: Arc<Settings>,
    defaults: Defaults,
    resolver: Arc<Resolver>,
    tls: Option<Arc<ClientConfig>>,
    scratch: RefCell<Box<[u8]>>,
    /// Held while a name is looked up, so that it is looked up once.
    lookup: tokio::sync::Mutex<()>,
    deadlines: Rc<Deadlines>,
    open: Cell<u64>,
}

impl Network {
    /// The network as `settings` have it; `tls` may be missing if no URL needs it.
    pub fn new(
        clock: MonotonicClock,
        settings: Arc<Settings>,
        defaults: Defaults,
        resolver: Arc<Resolver>,
        tls: Option<Arc<ClientConfig>>,
        deadlines: Rc<Deadlines>,
    ) -> Self {
        Self {
            clock,
            settings,
            defaults,
            resolver,
            tls,
            scratch: RefCell::new(vec![0; SCRATCH].into_boxed_slice()),
            lookup: tokio::sync::Mutex::new(()),
            deadlines,
            open: Cell::new(0),
        }
    }

    /// Connections open at the moment.
    pub fn connections_open(&self) -> u64 {
        self.open.get()
    }

    fn worker_io(&self) -> WorkerIo<'_> {
        WorkerIo { clock: self.clock, scratch: &self.scratch }
    }
}

/// A connection that is counted while it exists.
struct CountedConnection {
    connection: Connection,
    network: Rc<Network>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.network.open.set(self.network.open.get() - 1);
    }
}

/// One user's connections and time limit.
pub struct Client {
    network: Rc<Network>,
    deadline: Deadline,
    /// Idle connections by origin; one-liners have one.
    idle: Vec<(Arc<Origin>, CountedConnection)>,
    /// Connections opened, and as many as there were clients before this one: for taking
    /// `connect_to` entries in connection_index, also when each client opens one connection.
    opened: usize,
    /// When the next requests must be done, instead of the time limit of the settings.
    request_limit: Option<Nanos>,
}

/// A request to be sent.
#[derive(Clone, Copy)]
pub struct ClientRequest<'a> {
    /// Where to.
    pub origin: &'a Arc<Origin>,
    /// Its bytes.
    pub prepared: &'a Prepared,
    /// Its method, headers and URL, where redirects are to be followed.
    pub follow: Option<FollowRedirects<'a>>,
}

/// What following a redirect needs.
#[derive(Clone, Copy)]
pub struct FollowRedirects<'a> {
    /// Method of the first request.
    pub method: &'a str,
    /// URL of the first request.
    pub url: &'a Url,
    /// Headers of the first request.
    pub headers: &'a [(String, Vec<u8>)],
    /// Body of the first request.
    pub body: Option<&'a [u8]>,
    /// Hosts that may be followed to; others are not under load by anybody's wish.
    pub hosts: &'a [String],
}

/// What became of an request.
#[derive(Debug)]
pub struct Fetched {
    /// When: last byte read, fault met, or time limit reached.
    pub done: Nanos,
    /// Spans and moments.
    pub marks: Marks,
    /// What it adds to the counters.
    pub counts: Counts,
    /// Who answered, or was asked last; unknown without a connection.
    pub peer: Option<Peer>,
    /// The status of a whole answer, or what went wrong.
    pub result: Result<u16, Failure>,
}

impl Fetched {
    /// The outcome of a request that ended so.
    pub fn outcome(&self) -> Outcome {
        match &self.result {
            Ok(200..=399) => Outcome::Ok,
            Ok(_) => Outcome::HttpError,
            Err(failure) if failure.fault == Fault::RequestTimeout => Outcome::Timeout,
            Err(_) => Outcome::TransportError,
        }
    }

    /// Whether no connection could be had, so that trying again at once would be in vain.
    pub fn failed_to_connect(&self) -> bool {
        self.result.is_err() && self.marks.sent == Nanos::ZERO
    }
}

impl Client {
    /// A client without connections.
    pub fn new(network: Rc<Network>) -> Self {
        let deadline = network.deadlines.add_user();
        let opened = network.resolver.next_client();
        Self { network, deadline, idle: Vec::new(), opened, request_limit: None }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.network.settings
    }

    /// The time on the run's clock.
    pub fn now(&self) -> Nanos {
        self.network.clock.now()
    }

    /// From now on requests, and connections for them, have time until `at` on the run's clock,
    /// whatever the settings say; `None` goes back to the settings.
    pub fn set_request_limit(&mut self, at: Option<Nanos>) {
        self.request_limit = at;
    }

    /// Closes the connections that are kept for later.
    pub fn close_idle(&mut self) {
        self.idle.clear();
    }

    /// Waits for `span`, no more precisely than time limits are watched, and says what time it is then.
    pub async fn pause(&self, span: Nanos) -> Nanos {
        let until = self.network.clock.now().saturating_add(span);
        let _ = self.deadline.limit(until, pin!(std::future::pending::<()>())).await;
        self.network.clock.now()
    }

    /// Sends a request, follows redirects as far as the settings and the request allow, and reads
    /// the final answer into `sink`. `on_sent` is called when the first byte goes out.
    pub async fn fetch<S: Sink>(
        &mut self,
        request: ClientRequest<'_>,
        sink: &mut S,
        mut on_sent: impl FnMut(Nanos),
    ) -> Fetched {
        let mut state = FetchState::default();
        let mut hops_left = if request.follow.is_some() { self.network.settings.redirects } else { 0 };
        let mut sink = RedirectSink { sink, redirect: None, watch: hops_left > 0 };
        let first =
            self.exchange(request.origin, request.prepared, &mut sink, &mut state, &mut on_sent).await;
        let mut result = first;
        // Where the last hop went from; nothing is copied for the many requests that have none.
        let mut from = None;
        while let (Ok(_), Some(redirect), Some(follow)) = (&result, sink.redirect.take(), request.follow) {
            let (url, method) = from.get_or_insert_with(|| (follow.url.clone(), follow.method.to_owned()));
            let next = match redirect.target(url, follow.hosts) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(failure) => {
                    result = Err(failure);
                    break;
                }
            };
            redirect.rewrite(method);
            let body = if method == follow.method { follow.body } else { None };
            let next = with_credentials(next, follow.url);
            let headers = next_headers(follow, &next, body.is_none());
            let prepared = serialize(method, &next, &headers, body, &self.network.defaults);
            let Some(origin) = Origin::of(&next).map(Arc::new) else { break };
            *url = next;
            hops_left -= 1;
            state.counts.redirects += 1;
            sink.watch = hops_left > 0;
            result = self.exchange(&origin, &prepared, &mut sink, &mut state, &mut on_sent).await;
        }
        Fetched { done: state.done, marks: state.marks, counts: state.counts, peer: state.peer, result }
    }

    /// One request and its answer; sent again once on a new connection if the server closed a
    /// kept one before it answered, and if sending twice does no harm.
    async fn exchange<S: Sink>(
        &mut self,
        origin: &Arc<Origin>,
        prepared: &Prepared,
        sink: &mut S,
        state: &mut FetchState,
        on_sent: &mut impl FnMut(Nanos),
    ) -> Result<u16, Failure> {
        loop {
            let mut counted = self.connection(origin, state).await?;
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
            // Limits are looked at in steps; what came after one and was noticed first is still late.
            match ended {
                Ok(Ok(answer)) if answer.done <= limit => {
                    state.answered(&answer);
                    if answer.keep_alive && self.network.settings.keep_alive {
                        self.idle.push((origin.clone(), counted));
                    }
                    return Ok(answer.status);
                }
                Ok(Err(broken)) if broken.at <= limit => {
                    state.done = broken.at;
                    let harmless = reused && !broken.answered && prepared.is_idempotent;
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

    /// An idle connection that still seems alive, or a new one.
    async fn connection(
        &mut self,
        origin: &Arc<Origin>,
        state: &mut FetchState,
    ) -> Result<CountedConnection, Failure> {
        while let Some(place) = self.idle.iter().rposition(|(known, _)| known == origin) {
            let (_, mut counted) = self.idle.swap_remove(place);
            let since = counted.connection.idle_since();
            if self.network.clock.now().since(since) < IDLE_CHECK_AFTER {
                return Ok(counted);
            }
            match counted.connection.check_idle(self.network.worker_io()).await {
                IdleState::Quiet => return Ok(counted),
                IdleState::Closed => {}
                IdleState::Unsolicited => state.counts.surplus += 1,
            }
        }
        let connect_by = self.network.clock.now().saturating_add(self.network.settings.connect_timeout);
        // A request that was sent before, and is to be sent again or elsewhere, has a limit already.
        let answer_by = if state.marks.sent == Nanos::ZERO { Nanos::MAX } else { state.limit(&self.network) };
        let answer_by = self.request_limit.unwrap_or(answer_by);
        let limit = connect_by.min(answer_by);
        let connection_index = self.opened;
        self.opened += 1;
        let late = Cell::new(Fault::ConnectTimeout);
        // On the heap: opening is rare and its state is large, TLS above all.
        let mut opening = Box::pin(open(&self.network, origin, connection_index, &mut state.marks, &late));
        let opened = self.deadline.limit(limit, opening.as_mut()).await;
        drop(opening);
        state.done = self.network.clock.now();
        let connection = opened.unwrap_or_else(|Elapsed| {
            state.done = limit;
            Err(if answer_by < connect_by { Fault::RequestTimeout } else { late.get() }.into())
        })?;
        state.counts.connections += 1;
        self.network.open.set(self.network.open.get() + 1);
        Ok(CountedConnection { connection, network: self.network.clone() })
    }
}

/// Whether a fault is what a closing keep-alive connection looks like.
const fn is_hang_up(fault: Fault) -> bool {
    matches!(fault, Fault::ClosedEarly | Fault::Reset | Fault::TlsBroken)
}

/// Headers for the next hop: credentials stay with the origin they were meant for, and what
/// describes a body goes with the body.
fn next_headers(follow: FollowRedirects<'_>, next: &Url, bodiless: bool) -> Vec<(String, Vec<u8>)> {
    const SECRET: &[&str] = &["authorization", "cookie", "host"];
    const OF_BODY: &[&str] = &["content-length", "content-type", "content-encoding", "transfer-encoding"];
    let among = |names: &[&str], name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let same = next.origin() == follow.url.origin();
    let fits = |name: &str| (same || !among(SECRET, name)) && !(bodiless && among(OF_BODY, name));
    follow.headers.iter().filter(|(name, _)| fits(name)).cloned().collect()
}

/// `next` with user and password of `first`, if it leads to the same origin and has none itself.
fn with_credentials(mut next: Url, first: &Url) -> Url {
    if next.origin() == first.origin() && next.username().is_empty() && next.password().is_none() {
        // These can fail only for URLs without a host, which have no origin in common.
        let _ = next.set_username(first.username());
        let _ = next.set_password(first.password());
    }
    next
}

/// Opens a connection: name, TCP or Unix socket, TLS; notes how long each took, and in `late` what
/// it would mean to be out of time at the moment.
async fn open(
    network: &Rc<Network>,
    origin: &Origin,
    connection_index: usize,
    marks: &mut Marks,
    late: &Cell<Fault>,
) -> Result<Connection, Failure> {
    let settings = &*network.settings;
    let mut begun = network.clock.now();
    let mut connection = if let Some(path) = &settings.unix_socket {
        Connection::unix(path, settings.body_max).await?
    } else {
        settings.host_rules.check_name(&origin.host)?;
        let (host, port) = destination(settings, origin, connection_index);
        let addresses = if let Some(address) = settings.host_rules.address_for(host, port) {
            Arc::new([address])
        } else if let Some(known) = network.resolver.known(host, port) {
            known
        } else {
            late.set(Fault::DnsTimeout);
            let found = look_up(network, host, port).await?;
            let looked_up = network.clock.now();
            marks.dns += looked_up.since(begun);
            begun = looked_up;
            found
        };
        let addresses = settings.host_rules.choose(addresses, connection_index)?;
        late.set(Fault::ConnectTimeout);
        connect_any(network, host, port, &addresses).await?
    };
    let connected = network.clock.now();
    marks.connect += connected.since(begun).max(Nanos(1));
    if origin.tls {
        let config = network.tls.clone().ok_or(Fault::TlsHandshake)?;
        let session = Session::new(config, &origin.host)?;
        connection.secure(session, network.worker_io()).await?;
        marks.tls += network.clock.now().since(connected);
    }
    Ok(connection)
}

/// Looks a name up on a thread that may block, once for all who ask.
async fn look_up(
    network: &Rc<Network>,
    host: &str,
    port: u16,
) -> Result<Arc<[std::net::SocketAddr]>, Failure> {
    let _guard = network.lookup.lock().await;
    let (resolver, family) = (network.resolver.clone(), network.settings.family);
    let host = host.to_owned();
    tokio::task::spawn_blocking(move || resolver.resolve(&host, port, family))
        .await
        .map_err(|error| Failure::new(Fault::GeneratorOther, error))?
}

/// Connects to the first address that answers, and has it tried first from then on.
async fn connect_any(
    network: &Network,
    host: &str,
    port: u16,
    addresses: &[std::net::SocketAddr],
) -> Result<Connection, Failure> {
    let mut last = Failure::from(Fault::DnsNotFound);
    for (place, address) in addresses.iter().enumerate() {
        match Connection::tcp(*address, network.settings.body_max).await {
            Ok(connection) => {
                if place > 0 {
                    network.resolver.prefer(host, port, *address);
                }
                return Ok(connection);
            }
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// A request with all its hops.
#[derive(Debug, Default)]
struct FetchState {
    marks: Marks,
    counts: Counts,
    done: Nanos,
    peer: Option<Peer>,
}

impl FetchState {
    /// When the time limit of the request is reached: counted from its first byte.
    fn limit(&self, network: &Network) -> Nanos {
        let Some(timeout) = network.settings.request_timeout else { return Nanos::MAX };
        let sent = if self.marks.sent == Nanos::ZERO { network.clock.now() } else { self.marks.sent };
        sent.saturating_add(timeout)
    }

    fn answered(&mut self, answer: &Response) {
        self.done = answer.done;
        self.counts.surplus += u32::from(answer.surplus);
    }

    fn moved(&mut self, traffic: Traffic) {
        self.counts.bytes_sent += traffic.sent;
        self.counts.bytes_received += traffic.received;
        self.counts.bytes_body += traffic.body;
    }
}

/// Passes an answer on, unless it is a redirect that is to be followed.
struct RedirectSink<'a, S> {
    sink: &'a mut S,
    redirect: Option<Redirect>,
    /// Whether redirects are to be followed.
    watch: bool,
}

/// A redirect that is to be followed.
#[derive(Debug)]
struct Redirect {
    status: u16,
    location: Vec<u8>,
}

impl Redirect {
    /// Where it leads from `url`; `None` to a host that is not under load.
    fn target(&self, url: &Url, hosts: &[String]) -> Result<Option<Url>, Failure> {
        let location = String::from_utf8_lossy(&self.location);
        let next = url
            .join(&location)
            .map_err(|error| Failure::new(Fault::BadRedirect, format!("{location}: {error}")))?;
        let host = next.host_str().map(|host| host.trim_matches(['[', ']']).to_owned());
        Ok(hosts.iter().any(|known| Some(known) == host.as_ref()).then_some(next))
    }

    /// The method of the next request (RFC 9110, 15.4).
    fn rewrite(&self, method: &mut String) {
        let to_get = match self.status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        };
        if to_get {
            "GET".clone_into(method);
        }
    }
}

impl<S: Sink> Sink for RedirectSink<'_, S> {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        if self.watch && matches!(head.status, 301 | 302 | 303 | 307 | 308) {
            let location = head.headers.iter().find(|line| line.name.eq_ignore_ascii_case("location"));
            self.redirect =
                location.map(|line| Redirect { status: head.status, location: line.value.to_vec() });
        }
        self.sink.head(head)
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.sink.body(bytes)
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.sink.end()
    }
}
