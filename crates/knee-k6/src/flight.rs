//! A request in the record, from its start to its one outcome.
//!
//! Does not send.

use std::cell::RefCell;

use knee_core::clock::MonotonicClock;
use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;
use knee_engine::recorder::{Finish, FlightId, Recorder};

/// How late a request is when the script asks for it: the first of an iteration as late as the iteration began, every
/// other one not at all. Time that the script waits or computes in between is no delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    /// Since it was due by the plan.
    pub due: Nanos,
    /// Since its earliest possible send; see [`knee_engine::executor::Iteration`].
    pub earliest: Nanos,
}

/// A request in the record. If it is given up before it has ended, as when the iteration ends that began it, it ends
/// here.
pub struct OpenFlight<'a> {
    recorder: &'a RefCell<Recorder>,
    clock: MonotonicClock,
    id: FlightId,
}

impl<'a> OpenFlight<'a> {
    /// A request that is sent at `now`.
    pub fn begin(
        recorder: &'a RefCell<Recorder>,
        clock: MonotonicClock,
        endpoint: EndpointId,
        late: Late,
        now: Nanos,
    ) -> Self {
        let [due, earliest] = [late.due, late.earliest].map(|late| now.since(late));
        let id = recorder.borrow_mut().begin(endpoint, due, earliest);
        Self { recorder, clock, id }
    }

    /// Its first byte was handed over at a time.
    pub fn sent(&self, at: Nanos) {
        self.recorder.borrow_mut().sent(self.id, at);
    }

    /// Its response is to be a stream of events.
    pub fn expect_events(&self) {
        self.recorder.borrow_mut().expect_events(self.id);
    }

    /// An event of its response arrived at a time.
    pub fn event(&self, at: Nanos) {
        self.recorder.borrow_mut().event(self.id, at);
    }

    /// It has ended.
    pub fn finish(self, finish: &Finish<'_>) {
        self.recorder.borrow_mut().finish(self.id, finish);
    }
}

impl Drop for OpenFlight<'_> {
    fn drop(&mut self) {
        self.recorder.borrow_mut().censor(self.id, self.clock.now());
    }
}
