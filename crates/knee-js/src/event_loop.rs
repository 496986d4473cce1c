//! Timers, requests, sockets and streams that a script does not wait for, and the functions behind them.
//!
//! Keeps the callbacks and their times; the script's stack calls them between two jobs of the runtime. Does not wait;
//! reports the time until which nothing is due.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};

use knee_core::unit::Nanos;
use knee_k6::account::Charge;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, Persistent, Value};

/// A function that is kept between two calls.
pub type Kept = Persistent<Function<'static>>;

/// What a timer calls.
#[derive(Clone)]
pub struct Callback {
    function: Kept,
    arguments: Vec<Persistent<Value<'static>>>,
}

impl Callback {
    /// A function, and what it is called with.
    pub fn new<'js>(ctx: &Ctx<'js>, function: Function<'js>, arguments: Vec<Value<'js>>) -> Self {
        let keep = |argument| Persistent::save(ctx, argument);
        Self {
            function: Persistent::save(ctx, function),
            arguments: arguments.into_iter().map(keep).collect(),
        }
    }

    /// Calls it.
    pub fn call(self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let arguments = self.arguments.into_iter().map(|argument| argument.restore(ctx));
        let arguments: Vec<Value<'_>> = arguments.collect::<rquickjs::Result<_>>()?;
        self.function.restore(ctx)?.call((Rest(arguments),))
    }
}

/// A timer.
pub struct Timer {
    /// The interval at which it repeats, if it does.
    pub every: Option<Nanos>,
    /// What it calls.
    pub callback: Callback,
    /// The memory that it takes.
    pub memory: Charge,
}

/// The timers, in the order in which they are due.
#[derive(Default)]
struct Timers {
    by_time: BTreeMap<(Nanos, u32), Timer>,
    /// When each is due.
    at: HashMap<u32, Nanos>,
}

/// A request that was begun: how its promise is settled.
pub struct Promised {
    /// Number of the request.
    pub id: u64,
    /// Fulfils the promise.
    pub resolve: Kept,
    /// Rejects it.
    pub reject: Kept,
    /// The memory of the task that waits for the response.
    pub memory: Charge,
}

/// A socket or a stream that the script has opened, or a call that it has begun.
pub struct Listener {
    /// What stands for its handlers; `None` if the script waits for it.
    pub deliver: Option<Kept>,
    /// The memory that it takes.
    pub memory: Charge,
}

/// Timers, open promises, sockets and streams of one VU.
#[derive(Default)]
pub struct EventLoop {
    timers: RefCell<Timers>,
    promised: RefCell<HashMap<u64, Promised>>,
    listeners: RefCell<HashMap<u64, Listener>>,
    /// What is called at the next turn, in this order, each with the memory that it takes.
    ready: RefCell<VecDeque<(Callback, Charge)>>,
    last_timer: Cell<u32>,
}

impl EventLoop {
    /// Adds a timer that is due at `at`; its number.
    pub fn add_timer(&self, at: Nanos, timer: Timer) -> u32 {
        let id = self.last_timer.get().wrapping_add(1);
        self.last_timer.set(id);
        let mut timers = self.timers.borrow_mut();
        timers.at.insert(id, at);
        timers.by_time.insert((at, id), timer);
        id
    }

    /// Forgets a timer, if it is still there.
    pub fn clear_timer(&self, id: u32) {
        let mut timers = self.timers.borrow_mut();
        let timer = timers.at.remove(&id).and_then(|at| timers.by_time.remove(&(at, id)));
        drop(timers);
        drop(timer);
    }

    /// Calls a function at the next turn.
    pub fn call_later(&self, callback: Callback, memory: Charge) {
        self.ready.borrow_mut().push_back((callback, memory));
    }

    /// Expects the response to a request that was begun.
    pub fn promise(&self, promised: Promised) {
        self.promised.borrow_mut().insert(promised.id, promised);
    }

    /// The promise behind a request that is done.
    pub fn take_promise(&self, id: u64) -> Option<Promised> {
        self.promised.borrow_mut().remove(&id)
    }

    /// A socket or a stream is about to be opened, or a call to be begun.
    pub fn listen(&self, id: u64, listener: Listener) {
        self.listeners.borrow_mut().insert(id, listener);
    }

    /// What stands for its handlers.
    pub fn listener(&self, id: u64) -> Option<Kept> {
        self.listeners.borrow().get(&id)?.deliver.clone()
    }

    /// Whether there are any.
    pub fn has_listeners(&self) -> bool {
        !self.listeners.borrow().is_empty()
    }

    /// It has ended.
    pub fn unlisten(&self, id: u64) {
        let listener = self.listeners.borrow_mut().remove(&id);
        drop(listener);
    }

    /// The time until which nothing is due; `MAX` if only the network can change that, `None` if nothing is waited
    /// for.
    pub fn idle_until(&self) -> Option<Nanos> {
        let first = self.timers.borrow().by_time.keys().next().map(|(at, _)| *at);
        let waits = || !self.promised.borrow().is_empty() || !self.listeners.borrow().is_empty();
        first.or_else(|| waits().then_some(Nanos::MAX))
    }

    /// Takes what is called at this turn; otherwise the timer that is due first, if one is due now; a repeated one stays.
    /// Does not read the time where there are no timers.
    pub fn take_due(&self, now: impl FnOnce() -> Nanos) -> Option<Callback> {
        let ready = self.ready.borrow_mut().pop_front();
        if let Some((callback, _)) = ready {
            return Some(callback);
        }
        let mut timers = self.timers.borrow_mut();
        let first = timers.by_time.first_entry()?;
        let now = now();
        let (at, id) = *first.key();
        if at > now {
            return None;
        }
        let timer = first.remove();
        let Some(every) = timer.every else {
            timers.at.remove(&id);
            return Some(timer.callback);
        };
        let next = now.saturating_add(every);
        let callback = timer.callback.clone();
        timers.at.insert(id, next);
        timers.by_time.insert((next, id), timer);
        Some(callback)
    }

    /// Forgets everything. To be called before the runtime ends, and when an iteration does.
    pub fn clear(&self) {
        drop(self.timers.take());
        drop(self.promised.take());
        drop(self.listeners.take());
        drop(self.ready.take());
    }
}
