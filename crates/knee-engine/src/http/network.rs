//! What the clients of one worker share: settings, buffers, name lookups, connections and their counts. Simulations
//! put a network of their own in the place of the system's.
//!
//! Opens nothing and sends nothing; see [`super::transport`].

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use rustls::ClientConfig;

use super::addresses::KnownAddresses;
use super::channel::{OtherStream, SCRATCH, WorkerIo};
use super::decode::Decoders;
use super::http1::reader::ResponseReader;
use super::memory::MemoryBudget;
use super::open_place::OpenPlace;
use super::origin::{Origin, Resolver};
use super::pools::Pools;
use super::request::Defaults;
use super::sampling::Sampling;
use super::sampling::copies::BodyCopy;
use super::settings::{Settings, TlsSettings};
use super::tls;
use super::unsolicited::Unsolicited;
use crate::deadline::{Deadline, Deadlines, LimitTimer};
use crate::host;

/// How many origins with TLS a worker remembers.
const SECURE_MAX: usize = 8;

/// Opens streams of bytes in the place of the operating system.
pub trait Dialer {
    /// Connects to `address`.
    fn dial(&self, address: SocketAddr) -> Dialing;
}

/// A stream that is being opened.
pub type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn OtherStream>>>>>;

/// What all clients of one worker share.
pub struct Network {
    /// The run's clock.
    pub clock: MonotonicClock,
    pub(super) settings: Arc<Settings>,
    pub(super) defaults: Defaults,
    pub(super) resolver: Arc<Resolver>,
    tls: Option<Arc<ClientConfig>>,
    /// The same for what HTTP/2 cannot carry.
    tls_http1: Option<Arc<ClientConfig>>,
    /// The same for what HTTP/1.1 cannot carry.
    tls_http2: Option<Arc<ClientConfig>>,
    pub(super) addresses: RefCell<KnownAddresses>,
    pub(super) decoders: Rc<Decoders>,
    memory: Rc<MemoryBudget>,
    /// Held while a name is looked up, so that it is looked up once.
    pub(super) lookup: tokio::sync::Mutex<()>,
    pub(super) deadlines: Rc<Deadlines>,
    pub(super) timer: LimitTimer,
    scratch: Rc<RefCell<Box<[u8]>>>,
    /// Opens connections instead of the operating system, if there is one.
    pub(super) dialer: Option<Rc<dyn Dialer>>,
    pub(super) pools: Pools,
    open: Rc<Cell<u64>>,
    /// Connections that were opened so far.
    opened: Cell<u32>,
    /// Looks at some of the responses.
    pub(super) sampling: Rc<Sampling>,
    /// Origins that TLS sessions were opened with, the first of them.
    secure: RefCell<Vec<Arc<Origin>>>,
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
        let memory = Rc::new(settings.memory.clone());
        Self {
            clock,
            settings,
            defaults,
            resolver,
            tls_http1: tls.as_ref().map(tls::for_http1),
            tls_http2: tls.as_ref().map(tls::for_http2),
            tls,
            addresses: RefCell::default(),
            decoders: Rc::new(Decoders::new(memory.clone())),
            memory,
            lookup: tokio::sync::Mutex::new(()),
            timer: LimitTimer::new(clock, deadlines.clone()),
            deadlines,
            scratch: Rc::new(RefCell::new(vec![0; SCRATCH].into_boxed_slice())),
            dialer: None,
            pools: Pools::default(),
            open: Rc::default(),
            opened: Cell::new(0),
            sampling: Rc::new(Sampling::new()),
            secure: RefCell::default(),
            targets: RefCell::default(),
        }
    }

    /// The same over another network than the operating system's.
    #[must_use]
    pub fn through(mut self, dialer: Rc<dyn Dialer>) -> Self {
        self.dialer = Some(dialer);
        self
    }

    /// The memory budget of responses.
    pub const fn memory(&self) -> &Rc<MemoryBudget> {
        &self.memory
    }

    /// The decoders of the worker.
    pub const fn decoders(&self) -> &Rc<Decoders> {
        &self.decoders
    }

    /// The servers that sampled responses came from since the last call, in the order of their numbers.
    pub fn take_new_servers(&self) -> Vec<String> {
        self.sampling.take_new_servers()
    }

    /// No body is copied before `at`.
    pub fn copy_bodies_from(&self, at: Nanos) {
        self.sampling.copy_from(at);
    }

    /// The beginnings of some bodies of sampled responses.
    pub fn take_copies(&self) -> Vec<BodyCopy> {
        self.sampling.take_copies()
    }

    /// Whether all connections so far led to this machine; `None` before the first.
    pub fn co_located(&self) -> Option<bool> {
        let targets = self.targets.borrow();
        (!targets.is_empty()).then(|| targets.iter().all(|(_, here)| *here))
    }

    /// Origins that TLS sessions were opened with: the first [`SECURE_MAX`] of them.
    pub fn secure_origins(&self) -> Vec<Arc<Origin>> {
        self.secure.borrow().clone()
    }

    /// Keeps an origin that a TLS session was opened with.
    pub(super) fn note_secure(&self, origin: &Arc<Origin>) {
        let mut known = self.secure.borrow_mut();
        if known.len() < SECURE_MAX && !known.contains(origin) {
            known.push(origin.clone());
        }
    }

    /// Until when a response too many can still come on a connection without a request.
    pub fn watched_until(&self) -> Nanos {
        self.pools.watched_until()
    }

    /// Closes the connections of users that are gone once no response too many can come on them. Returns those that
    /// came.
    pub fn close_left(&self) -> Unsolicited {
        self.pools.close_left(self.worker_io())
    }

    /// The same for all connections without a request, whatever can still come.
    pub fn close_all(&self) -> Unsolicited {
        self.pools.close_all(self.worker_io())
    }

    /// Number of open connections.
    pub fn connections_open(&self) -> u64 {
        self.open.get()
    }

    /// Counts a connection that was opened to `address`, which is `None` for a Unix socket, until its place is dropped.
    pub(super) fn count_opened(&self, address: Option<IpAddr>) -> OpenPlace {
        let number = self.opened.get();
        self.opened.set(number.wrapping_add(1));
        let mut targets = self.targets.borrow_mut();
        if targets.iter().all(|(known, _)| *known != address) {
            // Where the kernel does not tell, the address counts as another machine's.
            let here = address.is_none_or(|address| host::is_local(address).unwrap_or(false));
            targets.push((address, here));
        }
        OpenPlace::take(&self.open, number)
    }

    /// The configuration of TLS for requests.
    pub(super) const fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }

    /// The same for what HTTP/2 cannot carry.
    pub(super) const fn tls_http1(&self) -> Option<&Arc<ClientConfig>> {
        self.tls_http1.as_ref()
    }

    /// The same for what HTTP/1.1 cannot carry.
    pub const fn tls_http2(&self) -> Option<&Arc<ClientConfig>> {
        self.tls_http2.as_ref()
    }

    /// A time limit for work that is neither a request nor a handshake of a socket.
    pub fn deadline(&self) -> Deadline {
        self.deadlines.add_user()
    }

    /// The settings of TLS.
    pub fn tls_settings(&self) -> &TlsSettings {
        &self.settings.tls
    }

    /// The read buffer of the worker.
    pub(super) fn scratch(&self) -> Rc<RefCell<Box<[u8]>>> {
        self.scratch.clone()
    }

    /// A reader for the responses of one connection.
    pub(super) fn reader(&self) -> ResponseReader {
        ResponseReader::new(self.settings.body_max, self.memory.clone())
    }

    pub(super) fn worker_io(&self) -> WorkerIo<'_> {
        WorkerIo { clock: self.clock, scratch: &self.scratch }
    }
}
