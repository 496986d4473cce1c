//! What the clients of one worker share: settings, buffers, name lookups and counts of connections.
//!
//! Opens nothing and sends nothing; see [`super::opening`] and [`super::client`].

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use rustls::ClientConfig;

use super::addresses::KnownAddresses;
use super::connection::{SCRATCH, WorkerIo};
use super::decode::Decoders;
use super::memory::MemoryBudget;
use super::origin::Resolver;
use super::request::Defaults;
use super::response::ResponseReader;
use super::settings::Settings;
use crate::deadline::{Deadlines, LimitTimer};
use crate::host;

/// What all clients of one worker share.
pub struct Network {
    /// The run's clock.
    pub clock: MonotonicClock,
    pub(super) settings: Arc<Settings>,
    pub(super) defaults: Defaults,
    pub(super) resolver: Arc<Resolver>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) addresses: RefCell<KnownAddresses>,
    pub(super) decoders: Rc<Decoders>,
    memory: Rc<MemoryBudget>,
    /// Held while a name is looked up, so that it is looked up once.
    pub(super) lookup: tokio::sync::Mutex<()>,
    pub(super) deadlines: Rc<Deadlines>,
    pub(super) timer: LimitTimer,
    scratch: RefCell<Box<[u8]>>,
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
        let memory = Rc::new(settings.memory.clone());
        Self {
            clock,
            settings,
            defaults,
            resolver,
            tls,
            addresses: RefCell::default(),
            decoders: Rc::new(Decoders::new(memory.clone())),
            memory,
            lookup: tokio::sync::Mutex::new(()),
            timer: LimitTimer::new(clock, deadlines.clone()),
            deadlines,
            scratch: RefCell::new(vec![0; SCRATCH].into_boxed_slice()),
            open: Cell::new(0),
            targets: RefCell::default(),
        }
    }

    /// Whether all connections so far led to this machine; `None` before the first.
    pub fn co_located(&self) -> Option<bool> {
        let targets = self.targets.borrow();
        (!targets.is_empty()).then(|| targets.iter().all(|(_, here)| *here))
    }

    /// Number of open connections.
    pub fn connections_open(&self) -> u64 {
        self.open.get()
    }

    /// Counts a connection that was opened to `address`, which is `None` for a Unix socket.
    pub(super) fn count_opened(&self, address: Option<IpAddr>) {
        self.open.set(self.open.get() + 1);
        let mut targets = self.targets.borrow_mut();
        if targets.iter().all(|(known, _)| *known != address) {
            // Where the kernel does not tell, the address counts as another machine's.
            let here = address.is_none_or(|address| host::is_local(address).unwrap_or(false));
            targets.push((address, here));
        }
    }

    /// Counts the end of such a connection.
    pub(super) fn count_closed(&self) {
        self.open.set(self.open.get() - 1);
    }

    /// A reader for the responses of one connection.
    pub(super) fn reader(&self) -> ResponseReader {
        ResponseReader::new(self.settings.body_max, self.memory.clone())
    }

    pub(super) fn worker_io(&self) -> WorkerIo<'_> {
        WorkerIo { clock: self.clock, scratch: &self.scratch }
    }
}
