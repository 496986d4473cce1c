//! Timers and requests that a script does not wait for, and the promises behind them.
//!
//! Keeps the callbacks and their times; the script's stack calls them between two jobs of the runtime. Does not wait;
//! reports the time until which nothing is due.

use std::cell::{Cell, RefCell};

use knee_core::unit::Nanos;
use rquickjs::{Ctx, Function, Persistent};

use knee_k6::http::answer::Answer;

/// A function that is kept between two calls.
pub type Kept = Persistent<Function<'static>>;

/// A timer.
struct Timer {
    id: u32,
    at: Nanos,
    every: Option<Nanos>,
    callback: Kept,
}

/// A request that was begun: how its promise is settled.
pub struct Promised {
    /// Number of the request.
    pub id: u64,
    /// Fulfils the promise.
    pub resolve: Kept,
    /// Rejects it.
    pub reject: Kept,
}

/// Timers and open promises of one VU.
#[derive(Default)]
pub struct EventLoop {
    timers: RefCell<Vec<Timer>>,
    promised: RefCell<Vec<Promised>>,
    last_timer: Cell<u32>,
    last_request: Cell<u64>,
}

impl EventLoop {
    /// Calls `callback` at `at`, and again at the interval `every`.
    pub fn add_timer(&self, at: Nanos, every: Option<Nanos>, callback: Kept) -> u32 {
        let id = self.last_timer.get() + 1;
        self.last_timer.set(id);
        self.timers.borrow_mut().push(Timer { id, at, every, callback });
        id
    }

    /// Forgets a timer, if it is still there.
    pub fn clear_timer(&self, id: u32) {
        self.timers.borrow_mut().retain(|timer| timer.id != id);
    }

    /// A number for a request to be begun.
    pub fn next_request(&self) -> u64 {
        self.last_request.set(self.last_request.get() + 1);
        self.last_request.get()
    }

    /// Expects the response to a request that was begun.
    pub fn promise(&self, promised: Promised) {
        self.promised.borrow_mut().push(promised);
    }

    /// The promise behind a request that is done.
    pub fn take_promise(&self, id: u64) -> Option<Promised> {
        let mut promised = self.promised.borrow_mut();
        let place = promised.iter().position(|one| one.id == id)?;
        Some(promised.swap_remove(place))
    }

    /// The time until which nothing is due; `MAX` if only a request can change that, `None` without timers and
    /// requests.
    pub fn idle_until(&self) -> Option<Nanos> {
        let timer = self.timers.borrow().iter().map(|timer| timer.at).min();
        timer.or_else(|| (!self.promised.borrow().is_empty()).then_some(Nanos::MAX))
    }

    /// Takes the timer that is due first, if one is due now; a repeated one stays. Does not read the time where there
    /// are no timers.
    pub fn take_due<'js>(
        &self,
        ctx: &Ctx<'js>,
        now: impl FnOnce() -> Nanos,
    ) -> Option<rquickjs::Result<Function<'js>>> {
        let mut timers = self.timers.borrow_mut();
        if timers.is_empty() {
            return None;
        }
        let now = now();
        let due = timers.iter().enumerate().filter(|(_, timer)| timer.at <= now);
        let (place, _) = due.min_by_key(|(_, timer)| (timer.at, timer.id))?;
        let callback = match timers[place].every {
            Some(every) => {
                timers[place].at = now.saturating_add(every);
                timers[place].callback.clone()
            }
            None => timers.remove(place).callback,
        };
        Some(callback.restore(ctx))
    }

    /// Forgets everything. To be called before the runtime ends, and when an iteration does.
    pub fn clear(&self) {
        self.timers.borrow_mut().clear();
        self.promised.borrow_mut().clear();
    }
}

/// A response to a request that was begun.
pub type Settled = (u64, Answer);
