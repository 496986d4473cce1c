//! A simulated network: the engine's own clients, over streams of bytes that arrive late, in pieces, or not at all.
//!
//! `stream` is one connection. `http1` and `http2` are its servers, and `behaviour` says how they treat requests. `laws`
//! has what must hold.

mod behaviour;
mod http1;
mod http2;
mod laws;
mod stream;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::channel::OtherStream;
use knee_engine::http::network::{Dialer, Dialing};
use knee_engine::timer::Timer;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::world::SimTimer;
use behaviour::{Behaviour, PATHS};
use stream::{End, pair};

/// How the network and its server are.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Shortest time that bytes take in one direction.
    pub one_way: Nanos,
    /// Most that is added to it, by chance.
    pub jitter: Nanos,
    /// Most bytes that travel in one piece.
    pub piece_max: usize,
    /// Most bytes that wait in one direction before the sender must wait.
    pub window: usize,
    /// Whether a reset takes away what has arrived and was not read, as some systems do.
    pub reset_discards: bool,
    /// When the server refuses connections.
    pub refuses: Option<Range<Nanos>>,
    /// When packets that open a connection vanish.
    pub vanishes: Option<Range<Nanos>>,
    /// Longest time that the server takes for an answer.
    pub serves_in: Nanos,
    /// How the server treats some requests.
    pub behaviours: Vec<Behaviour>,
    /// One request in so many is treated so.
    pub rarity: u32,
    /// Whether it speaks HTTP/2.
    pub is_http2: bool,
    pub seed: u64,
}

/// What the server of a network counted.
#[derive(Debug, Default)]
pub struct Counted {
    pub connections: Cell<u64>,
    /// Whole requests, by path.
    pub requests: [Cell<u64>; PATHS],
    /// Responses that were written to their end.
    pub responses: Cell<u64>,
    /// Bytes that clients wrote, and that they read.
    pub sent: Rc<Cell<u64>>,
    pub read: Rc<Cell<u64>>,
}

impl Counted {
    fn request(&self, path: usize) {
        self.requests[path].set(self.requests[path].get() + 1);
    }

    pub fn all_requests(&self) -> u64 {
        self.requests.iter().map(Cell::get).sum()
    }
}

pub struct SimNetwork {
    conditions: Rc<Conditions>,
    timer: SimTimer,
    random: RefCell<SmallRng>,
    pub counted: Rc<Counted>,
}

impl SimNetwork {
    pub fn new(conditions: Conditions, timer: SimTimer) -> Self {
        let random = RefCell::new(SmallRng::seed_from_u64(conditions.seed));
        Self { conditions: Rc::new(conditions), timer, random, counted: Rc::default() }
    }

    /// Makes a connection, serves its far end and returns the near one.
    fn accept(&self) -> End {
        let counted = &self.counted;
        counted.connections.set(counted.connections.get() + 1);
        let seed = self.random.borrow_mut().random();
        let (near, far) = pair(&self.timer, &self.conditions, seed);
        let (timer, conditions, counted) = (self.timer.clone(), self.conditions.clone(), counted.clone());
        if conditions.is_http2 {
            tokio::task::spawn_local(http2::serve(far, timer, conditions, counted.clone(), seed));
        } else {
            tokio::task::spawn_local(http1::serve(far, timer, conditions, counted.clone(), seed));
        }
        near.counting(self.counted.sent.clone(), self.counted.read.clone())
    }
}

/// The network as a worker sees it.
pub struct SimDialer(pub Rc<SimNetwork>);

impl Dialer for SimDialer {
    fn dial(&self, _: SocketAddr) -> Dialing {
        let network = self.0.clone();
        Box::pin(async move {
            let Conditions { one_way, refuses, vanishes, .. } = &*network.conditions;
            let timer = &network.timer;
            timer.sleep_until(timer.now() + *one_way).await;
            let is_within =
                |span: &Option<Range<Nanos>>| span.as_ref().is_some_and(|span| span.contains(&timer.now()));
            if is_within(vanishes) {
                std::future::pending::<()>().await;
            }
            let refused = is_within(refuses);
            // A server accepts when the packet arrives, whatever the client does until it knows.
            let end = (!refused).then(|| network.accept());
            timer.sleep_until(timer.now() + *one_way).await;
            let end = end.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            Ok(Box::new(end) as Box<dyn OtherStream>)
        })
    }
}
