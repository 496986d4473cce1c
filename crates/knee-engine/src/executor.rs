//! Who sends next: users that wait for their answers (closed), or arrivals that do not (open).
//!
//! Generic over the timer and over what a user does, so that the same code runs on real sockets
//! and on simulated time. Does not know HTTP and does not keep books, except for arrivals that
//! no user could take, which it hands back to be recorded as unsent.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use knee_core::unit::Nanos;

pub mod budget;
pub mod closed;
pub mod open;

/// One call on a user to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// When the request should be sent.
    pub due: Nanos,
    /// When it could be sent at the soonest: `due`, or when a user became free for it.
    pub earliest: Nanos,
    /// When it must be over; `MAX` if the user may take as long as it needs. A user of turns that
    /// can last for long ends them itself then; requests in flight when a whole run ends are
    /// censored by its conductor.
    pub cut: Nanos,
}

/// Somebody who sends requests one after the other: a connection of the one-liner, a VU of a script.
pub trait User {
    /// Acts once, records what came of it, and returns when it was done.
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = Nanos>;

    /// Records a iteration that was due at `due` and given up at `at` without being taken.
    fn give_up(&mut self, due: Nanos, at: Nanos);
}

/// Whether new arrivals are still wanted; shared by everything on one worker.
#[derive(Clone, Debug)]
pub struct Gate {
    closes: Rc<Cell<Nanos>>,
    exhausted: Rc<Cell<bool>>,
}

impl Gate {
    /// A gate that lets arrivals through until `closes`.
    pub fn new(closes: Nanos) -> Self {
        Self { closes: Rc::new(Cell::new(closes)), exhausted: Rc::default() }
    }

    /// No arrival due at `at` or later will be let through; a gate never opens again.
    pub fn close(&self, at: Nanos) {
        self.closes.set(self.closes.get().min(at));
    }

    /// No request is left to be handed out. Those under way may take as long as they need.
    pub fn exhaust(&self) {
        self.exhausted.set(true);
    }

    /// Whether no request is left.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    /// The moment from which no arrival is let through.
    pub fn closes(&self) -> Nanos {
        self.closes.get()
    }
}
