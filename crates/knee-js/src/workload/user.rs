//! A VU at work for one scenario, as the engine's user.
//!
//! Does not decide when an iteration is due.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::share::Stripe;
use knee_core::unit::Nanos;
use knee_engine::endpoints::Endpoints;
use knee_engine::executor::{Iteration, User};
use knee_engine::recorder::Recorder;
use knee_engine::timer::Timer;
use knee_engine::worker::{UserContext, UserId};

use super::load::{Load, Stop};
use super::store::{KeptVu, Store};
use crate::op::{Call, Ended, Stage};
use crate::program::LogLevel;
use crate::state::{ExecutionInfo, Place};
use crate::world;
use knee_k6::flight::Late;
use knee_k6::http::cookie::Jar;
use knee_k6::http::send::RequestSender;

/// Longest wait of a VU whose run was ended until the engine stops it.
const ABORT_PAUSE: Nanos = Nanos::from_secs(1);

/// A VU at work for a scenario.
pub struct ScriptUser {
    load: Arc<Load>,
    store: Rc<Store>,
    id: UserId,
    /// The VU, from its first iteration on.
    active: Option<KeptVu>,
    /// Whether the VU is within an iteration; if the user is dropped then, so is the VU.
    busy: bool,
    export: Rc<str>,
    data: Option<Rc<str>>,
    sender: Rc<RequestSender>,
    recorder: Rc<RefCell<Recorder>>,
    endpoints: Endpoints,
}

impl ScriptUser {
    /// A user that takes its VU from `store` when its first iteration begins.
    pub(super) fn new(
        load: &Arc<Load>,
        store: &Rc<Store>,
        context: &UserContext,
        sender: Rc<RequestSender>,
        id: UserId,
    ) -> Self {
        Self {
            load: load.clone(),
            store: store.clone(),
            id,
            active: None,
            busy: false,
            export: load.parts[id.scenario].export.as_str().into(),
            data: load.data.as_deref().map(Into::into),
            sender,
            recorder: context.recorder.clone(),
            endpoints: context.endpoints.clone(),
        }
    }

    /// Gives the VU to the scenario: its variables, tags and numbers.
    fn activate(&self, kept: &mut KeptVu, number: u32) {
        let (load, part) = (&self.load, &self.load.parts[self.id.scenario]);
        kept.vu.join(self.sender.clone());
        let state = kept.vu.state();
        state.http.replace(Rc::new(load.http.clone()));
        state.tags.replace(load.system_tags.above(&part.tags).into());
        state.system_tags.set(load.system_tags);
        state.metadata.replace(Rc::new([]));
        state.environment.replace(part.environment.clone());
        state.activated.set(true);
        state.place.replace(Place {
            vu: u64::from(number) + 1,
            vu_in_test: in_whole(load.vus.as_ref(), u64::from(number)) + 1,
            scenario: self.store.name(self.id.scenario, &part.name),
            executor: part.executor.name().into(),
            ..Place::default()
        });
        let wall = knee_core::clock::wall().since(state.now()).saturating_add(part.begins);
        state.set_execution_info(Rc::new(ExecutionInfo {
            tally: load.tally.clone(),
            count: load.counts[self.id.scenario].clone(),
            options: load.options.clone(),
            scenario_started_ms: wall.as_millis_f64().floor(),
            begins: part.begins,
            lasts: part.lasts,
            iterations: part.iterations,
        }));
        if !part.is_open() {
            load.tally.activate();
        }
    }

    /// Prepares the VU for one more iteration.
    fn begin(&self, kept: &mut KeptVu) {
        let (in_all, in_scenario) = kept.count(self.id.scenario);
        let state = kept.vu.state().clone();
        {
            let mut place = state.place.borrow_mut();
            place.iteration = in_all;
            place.iteration_in_scenario = in_scenario;
            place.iteration_in_instance = self.load.counts[self.id.scenario].begin();
            let turns = self.load.parts[self.id.scenario].turns.as_ref();
            place.iteration_in_test = in_whole(turns, place.iteration_in_instance);
            state.number(self.load.system_tags, Some(place.vu), in_all);
        }
        if !self.load.http.keep_cookies && !state.jar.borrow().borrow().is_empty() {
            state.jar.replace(Rc::new(RefCell::new(Jar::new(&state.account))));
        }
    }

    async fn run(&self, kept: &mut KeptVu, iteration: Iteration) -> Nanos {
        self.begin(kept);
        let open = self.load.parts[self.id.scenario].is_open();
        let begun = self.sender.network.clock.now();
        if open {
            self.load.tally.activate();
        }
        let call = Call { export: self.export.clone(), stage: Stage::Iteration, argument: self.data.clone() };
        let late = Late { due: begun.since(iteration.due), earliest: begun.since(iteration.earliest) };
        let ended = kept.vu.call(call, late, iteration.cut).await;
        let done = self.sender.network.clock.now();
        if open {
            self.load.tally.deactivate();
        }
        let whole = self.account(kept, ended, begun, done);
        if self.load.http.fresh_connections {
            // Now and not before the next iteration: a VU that waits or has ended must hold no descriptor.
            kept.vu.close_idle();
        }
        let span = done.since(begun);
        let rested = begun.saturating_add(self.load.min_iteration).min(iteration.cut);
        if self.load.is_aborted() {
            self.wait_for_the_end().await;
        } else if whole && rested > done {
            self.sender.timer.sleep_until(rested).await;
            return self.sender.network.clock.now();
        } else if span < Nanos::from_micros(20) {
            // An iteration that never waited must yield to other VUs.
            tokio::task::yield_now().await;
        }
        done
    }

    /// Counts an iteration that has ended; returns whether it ended by itself.
    fn account(&self, kept: &KeptVu, ended: Ended, begun: Nanos, done: Nanos) -> bool {
        let state = kept.vu.state();
        // Of several VUs that end the run, one is the first. Its iteration is measured, and those of all others are cut.
        let (whole, measured) = match ended {
            Ended::Aborted(words) => (false, self.load.stop(Stop::Asked(words))),
            Ended::Cut => (false, false),
            Ended::Returned(_) | Ended::Thrown(_) if self.load.is_aborted() => (false, false),
            Ended::Thrown(thrown) => {
                world::tell(&self.load.program, &thrown);
                (true, true)
            }
            Ended::Returned(_) => (true, true),
        };
        self.load.tally.end(whole);
        self.load.counts[self.id.scenario].end();
        state.group.replace("".into());
        let span = done.since(begun);
        state.observe_at(done, &[], |observer, context| observer.iteration(span, measured, context));
        whole
    }

    /// Until the engine has heard that the run is over, the VU begins nothing more.
    async fn wait_for_the_end(&self) {
        let now = self.sender.network.clock.now();
        self.sender.timer.sleep_until(now.saturating_add(ABORT_PAUSE)).await;
    }
}

impl User for ScriptUser {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        let Some(number) = self.id.vu else { return iteration.due };
        if self.load.is_aborted() {
            self.wait_for_the_end().await;
            return self.sender.network.clock.now();
        }
        let mut kept = if let Some(kept) = self.active.take() {
            kept
        } else {
            let mut kept = self.store.take(number).await;
            self.activate(&mut kept, number);
            kept
        };
        self.busy = true;
        let done = self.run(&mut kept, iteration).await;
        self.busy = false;
        self.active = Some(kept);
        done
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        let endpoint = self.endpoints.id("(iterations for which no VU was free)");
        self.recorder.borrow_mut().unsent(endpoint, due, at);
        self.load.dropped(&*self.sender.observer, self.id.scenario, 1, at);
    }

    fn exhausted(&mut self, users: u32) {
        let part = &self.load.parts[self.id.scenario];
        let words = format!("Insufficient VUs, reached {users} active VUs and cannot initialize more");
        let fields = [("executor", part.executor.name()), ("scenario", part.name.as_str())];
        self.load.program.say_with(LogLevel::Warn, &words, &fields);
    }
}

/// Where the index of this machine stands among those of all machines.
fn in_whole(stripe: Option<&Stripe>, index: u64) -> u64 {
    stripe.map_or(index, |stripe| stripe.index(index))
}

impl Drop for ScriptUser {
    fn drop(&mut self) {
        let counted = (self.busy || self.active.is_some()) && !self.load.parts[self.id.scenario].is_open();
        if counted {
            self.load.tally.deactivate();
        }
        if let (Some(kept), Some(number)) = (self.active.take(), self.id.vu) {
            self.store.put(number, kept);
        }
    }
}
