//! Scripted targets: arithmetic decides when and how each request ends.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;

/// A server without its own clock.
pub struct Target {
    serves_in: Nanos,
    /// Extra time of the first response; the second takes half of it, and so on.
    slow_start: Nanos,
    stalls: Vec<Range<Nanos>>,
    /// Every n-th request is reset half-way.
    resets_every: Option<u64>,
    /// Every n-th request gets no response.
    hangs_every: Option<u64>,
    /// Number of requests served at the same time; `None` for no limit.
    workers: Option<usize>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    received: u64,
    free: BinaryHeap<Reverse<Nanos>>,
}

/// What a target does with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    At(Nanos, Outcome, Option<Fault>),
    Never,
}

impl Target {
    pub fn serves_in(span: Nanos) -> Self {
        Self {
            serves_in: span,
            slow_start: Nanos::ZERO,
            stalls: Vec::new(),
            resets_every: None,
            hangs_every: None,
            workers: None,
            state: RefCell::default(),
        }
    }

    pub fn starts_slowly(mut self, span: Nanos) -> Self {
        self.slow_start = span;
        self
    }

    pub fn stalls(mut self, span: Range<Nanos>) -> Self {
        self.stalls.push(span);
        self
    }

    pub fn resets_every(mut self, n: u64) -> Self {
        self.resets_every = Some(n);
        self
    }

    pub fn hangs_every(mut self, n: u64) -> Self {
        self.hangs_every = Some(n);
        self
    }

    pub fn with_workers(mut self, count: usize) -> Self {
        self.workers = Some(count);
        self
    }

    /// The response to a request that arrives at `at`.
    pub fn respond(&self, at: Nanos) -> Response {
        let mut state = self.state.borrow_mut();
        state.received += 1;
        let nth = |every: Option<u64>| every.is_some_and(|every| state.received.is_multiple_of(every));
        if nth(self.hangs_every) {
            return Response::Never;
        }
        let reset = nth(self.resets_every);
        let slower = Nanos(self.slow_start.0 >> (state.received - 1).min(63));
        let mut begins = at;
        if self.workers.is_some_and(|workers| state.free.len() >= workers) {
            let Reverse(free) = state.free.pop().expect("not empty");
            begins = begins.max(free);
        }
        for stall in &self.stalls {
            begins = if stall.contains(&begins) { stall.end } else { begins };
        }
        let ends = begins + self.serves_in + slower;
        if self.workers.is_some() {
            state.free.push(Reverse(ends));
        }
        if reset {
            return Response::At(ends, Outcome::TransportError, Some(Fault::Reset));
        }
        Response::At(ends, Outcome::Ok, None)
    }
}
