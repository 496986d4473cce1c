//! The VUs of one worker that no scenario uses at the moment.
//!
//! Does not decide which VU a scenario gets; the plan's allocation does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::vu::Vu;
use knee_k6::http::send::RequestSender;
use knee_k6::http::targets::Targets;

/// A VU and what it has done so far.
pub struct KeptVu {
    /// The VU.
    pub vu: Vu,
    /// Its iterations in the whole run.
    pub iterations: u64,
    /// Its iterations by scenario.
    pub by_scenario: HashMap<usize, u64>,
}

impl KeptVu {
    /// A VU that has done nothing.
    pub fn new(vu: Vu) -> Self {
        Self { vu, iterations: 0, by_scenario: HashMap::new() }
    }

    /// Counts an iteration; returns its index for the VU and for the VU in the scenario, both from 0.
    pub fn count(&mut self, scenario: usize) -> (u64, u64) {
        let in_scenario = self.by_scenario.entry(scenario).or_default();
        let counted = (self.iterations, *in_scenario);
        self.iterations += 1;
        *in_scenario += 1;
        counted
    }
}

/// What a worker's VUs share, and those that are idle.
#[derive(Default)]
pub struct Store {
    /// URLs that this worker has met.
    pub targets: Rc<Targets>,
    /// Sends the worker's requests.
    pub sender: RefCell<Option<Rc<RequestSender>>>,
    /// The highest number of a VU that was made before the run.
    pub last: Option<u32>,
    /// Names of scenarios, by their number.
    names: RefCell<HashMap<usize, Rc<str>>>,
    idle: RefCell<HashMap<u32, KeptVu>>,
    waiting: RefCell<HashMap<u32, Waker>>,
}

impl Store {
    /// A store whose VUs, to be put in, have numbers up to `last`.
    pub fn new(last: Option<u32>) -> Self {
        Self { last, ..Self::default() }
    }

    /// The name of a scenario. All VUs share it: outputs compare it with each sample, and a copy that only one VU uses is
    /// in no cache.
    pub fn name(&self, scenario: usize, name: &str) -> Rc<str> {
        self.names.borrow_mut().entry(scenario).or_insert_with(|| name.into()).clone()
    }

    /// Puts a VU back, or in for the first time.
    pub fn put(&self, number: u32, vu: KeptVu) {
        self.idle.borrow_mut().insert(number, vu);
        let waiting = self.waiting.borrow_mut().remove(&number);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Takes a VU out; waits while another scenario still uses it.
    pub async fn take(&self, number: u32) -> KeptVu {
        poll_fn(|ctx| {
            if let Some(vu) = self.idle.borrow_mut().remove(&number) {
                return Poll::Ready(vu);
            }
            self.waiting.borrow_mut().insert(number, ctx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
