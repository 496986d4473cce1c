//! One user's HTTP client: its connections, one resend where that is safe, and redirects.
//!
//! Returns the result of a request; does not record it and does not know when it was due.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
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
use crate::host;
use crate::recorder::{Counts, Marks};

/// A connection idle for longer than this is checked before it is used: by now the kernel can
/// know that the server closed it.
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
    /// Addresses that connections were opened to, and whether they belong to this machine. `None` for a Unix socket.
    targets: RefCell<Vec<(Option<IpAddr>, bool)>>,
}

impl Network {
    /// What clients share under `settings`; `tls` can be `None` if no URL needs it.
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
            targets: RefCell::default(),
        }
    }

    /// Whether all connections so far led to this machine; `None` before the first.
    pub fn co_located(&self) -> Option<bool> {
        let targets = self.targets.borrow();
        (!targets.is_empty()).then(|| targets.iter().all(|(_, here)| *here))
    }

    fn note_target(&self, address: Option<IpAddr>) {
        let mut targets = self.targets.borrow_mut();
        if targets.iter().all(|(known, _)| *known != address) {
            // Where the kernel does not tell, the address counts as another machine's.
            let here = address.is_none_or(|address| host::is_local(address).unwrap_or(false));
            targets.push((address, here));
        }
    }

    /// Number of open connections.
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
    /// Hosts that redirects can lead to; others are not to be loaded.
    pub hosts: &'a [String],
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
            Err(failure) if failure.fault == Fault::RequestTimeout => Outcome::Timeout,
            Err(_) => Outcome::TransportError,
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

    /// From now on requests and their connections must be done by `at` on the run's clock, whatever
    /// the settings say; `None` restores the settings.
    pub fn set_request_limit(&mut self, at: Option<Nanos>) {
        self.request_limit = at;
    }

    /// Closes the connections that are kept for later.
    pub fn close_idle(&mut self) {
        self.idle.clear();
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
        let mut hops_left = if request.follow.is_some() { self.network.settings.redirects } else { 0 };
        let mut sink = RedirectSink { sink, redirect: None, watch: hops_left > 0 };
        let first =
            self.exchange(request.origin, request.prepared, &mut sink, &mut state, &mut on_sent).await;
        let mut result = first;
        // URL and method of the last hop; requests without redirects copy nothing.
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
                    state.response_begun(&response);
                    if response.keep_alive && self.network.settings.keep_alive {
                        self.idle.push((origin.clone(), counted));
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
        while let Some(place) = self.idle.iter().rposition(|(known, _)| known == origin) {
            let (_, mut counted) = self.idle.swap_remove(place);
            let since = counted.connection.idle_since();
            // What cannot be sent again is not risked on a connection that could be known to be closed.
            if prepared.is_idempotent && self.network.clock.now().since(since) < IDLE_CHECK_AFTER {
                return Ok(counted);
            }
            match counted.connection.check_idle(self.network.worker_io()).await {
                IdleState::Quiet => return Ok(counted),
                IdleState::Closed => {}
                IdleState::Unsolicited => state.counts.surplus += 1,
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
        let connection = opened.unwrap_or_else(|Elapsed| {
            state.done = limit;
            Err(if done_by < connect_by { Fault::RequestTimeout } else { late.get() }.into())
        })?;
        state.counts.connections += 1;
        self.network.open.set(self.network.open.get() + 1);
        self.network.note_target(connection.peer().map(|peer| peer.address.ip()));
        Ok(CountedConnection { connection, network: self.network.clone() })
    }
}

/// Whether a fault can mean that the server closed a kept connection.
const fn is_hang_up(fault: Fault) -> bool {
    matches!(fault, Fault::ClosedEarly | Fault::Reset | Fault::TlsBroken)
}

/// Headers for the next hop: credentials are sent only to their own origin, and headers that
/// describe a body only with the body.
fn next_headers(follow: FollowRedirects<'_>, next: &Url, bodiless: bool) -> Vec<(String, Vec<u8>)> {
    const SECRET: &[&str] = &["authorization", "cookie", "host"];
    const OF_BODY: &[&str] = &["content-length", "content-type", "content-encoding", "transfer-encoding"];
    let among = |names: &[&str], name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let same = next.origin() == follow.url.origin();
    let fits = |name: &str| (same || !among(SECRET, name)) && !(bodiless && among(OF_BODY, name));
    follow.headers.iter().filter(|(name, _)| fits(name)).cloned().collect()
}

/// `next` with user and password of `first`, if it has the same origin and none itself.
fn with_credentials(mut next: Url, first: &Url) -> Url {
    if next.origin() == first.origin() && next.username().is_empty() && next.password().is_none() {
        // These fail only for URLs without a host, which never have the same origin.
        let _ = next.set_username(first.username());
        let _ = next.set_password(first.password());
    }
    next
}

/// Opens a connection: name, TCP or Unix socket, TLS. Adds the duration of each to `marks` and
/// keeps in `late` the fault that a timeout would be now.
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

/// Looks up a name on a thread that can block, once for all clients of the worker.
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

/// Connects to the first address that accepts; from then on it is tried first.
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

    fn response_begun(&mut self, response: &Response) {
        self.done = response.done;
        self.counts.surplus += u32::from(response.surplus);
    }

    fn moved(&mut self, traffic: Traffic) {
        self.counts.bytes_sent += traffic.sent;
        self.counts.bytes_received += traffic.received;
        self.counts.bytes_body += traffic.body;
    }
}

/// Passes a response on and keeps the redirect that is to be followed.
struct RedirectSink<'a, S> {
    sink: &'a mut S,
    redirect: Option<Redirect>,
    /// Whether redirects are followed.
    watch: bool,
}

/// A redirect to be followed.
#[derive(Debug)]
struct Redirect {
    status: u16,
    location: Vec<u8>,
}

impl Redirect {
    /// The target of the redirect from `url`; `None` for a host that is not under load.
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
