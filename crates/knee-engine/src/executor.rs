//! When each user sends: after its last response (closed model) or at scheduled arrivals (open model).
//!
//! Generic over the timer and over what a user does, so that the same code runs on real sockets
//! and on simulated time. Does not know HTTP and does not count requests. It hands back arrivals
//! that no user could take, to be recorded as unsent.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use knee_core::unit::Nanos;

pub mod budget;
pub mod closed;
pub mod open;
pub mod pool;

/// One iteration to be done by a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// When the request is scheduled to be sent.
    pub due: Nanos,
    /// Earliest possible send: `due`, or the moment at which a user became free.
    pub earliest: Nanos,
    /// When it must be over; `MAX` for no limit. A user whose iterations can last long must end them
    /// itself at this time. At the end of the run, the worker censors requests in flight.
    pub cut: Nanos,
}

/// Sends requests in sequence: a connection of the one-liner, a VU of a script.
pub trait User {
    /// Does one iteration, records its requests, and returns the time at which it ended.
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = Nanos>;

    /// Records an iteration that was due at `due` and dropped at `at` before any user took it.
    fn give_up(&mut self, due: Nanos, at: Nanos);

    /// Notes, once in a scenario, that an arrival found all of its `users` busy and that it can have no more.
    fn exhausted(&mut self, users: u32) {
        let _ = users;
    }
}

/// Whether new requests can start; shared by everything on one worker.
#[derive(Clone, Debug)]
pub struct Gate {
    closes: Rc<Cell<Nanos>>,
    exhausted: Rc<Cell<bool>>,
}

impl Gate {
    /// A gate that is open until `closes`.
    pub fn new(closes: Nanos) -> Self {
        Self { closes: Rc::new(Cell::new(closes)), exhausted: Rc::default() }
    }

    /// Closes the gate for arrivals due at `at` or later. A gate never opens again.
    pub fn close(&self, at: Nanos) {
        self.closes.set(self.closes.get().min(at));
    }

    /// Marks the request budget as used up. Requests in flight continue.
    pub fn exhaust(&self) {
        self.exhausted.set(true);
    }

    /// Whether the request budget is used up.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    /// When the gate closes.
    pub fn closes(&self) -> Nanos {
        self.closes.get()
    }
}
