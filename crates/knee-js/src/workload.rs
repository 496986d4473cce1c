//! A script as the engine's workload: its VUs, made before the run begins.
//!
//! Does not read options; callers pass in the function that each scenario calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::endpoints::Endpoints;
use knee_engine::executor::{Iteration, User};
use knee_engine::recorder::Recorder;
use knee_engine::timer::Timer;
use knee_engine::worker::{UserContext, Workload};

use crate::op::{Call, Ended, Stage};
use crate::program::{HttpDefaults, Program};
use crate::state::{Count, ExecutionInfo, Place, Tally};
use crate::vu::{LoadError, Vu};
use crate::world;
use knee_k6::http::cookie::Jar;
use knee_k6::http::send::{RequestSender, Targets};
use knee_k6::observe::tags::SystemTags;
use knee_k6::observe::{Context, Observer, Observers};

/// Longest wait of a VU that ended the run until the engine stops it.
const ABORT_PAUSE: Nanos = Nanos::from_secs(1);

/// The function that a scenario calls, and the facts that its VUs can read.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its executor, by k6's name.
    pub executor: String,
    /// The exported function.
    pub export: String,
    /// Tags of all its samples.
    pub tags: Vec<(String, String)>,
    /// `__ENV` besides the script's.
    pub environment: Vec<(String, String)>,
    /// Most VUs it has.
    pub users_max: u32,
    /// Start time.
    pub begins: Nanos,
    /// Its duration, if time ends it.
    pub lasts: Option<Nanos>,
    /// Its iterations, if their number ends it.
    pub iterations: Option<u64>,
}

/// A script under load.
pub struct Load {
    /// The script.
    pub program: Arc<Program>,
    /// Its scenarios, in the plan's order.
    pub parts: Vec<Part>,
    /// Tags of all samples, also of those that no VU takes.
    pub tags: Vec<(String, String)>,
    /// JSON of what `setup` returned.
    pub data: Option<Arc<str>>,
    /// Defaults of requests.
    pub http: HttpDefaults,
    /// JSON of the options, for scripts that ask.
    pub options: Arc<str>,
    /// Counts of all VUs.
    pub tally: Arc<Tally>,
    /// Makes the observer of each worker.
    pub observers: Observers,
    /// To end the run when a script asks for it.
    pub control: Control,
    /// Why the run was ended by the script, or could not go on.
    pub stopped: Mutex<Option<Stop>>,
    /// Minimum duration of an iteration; its VU waits for the rest.
    pub min_iteration: Nanos,
    /// Which tags samples get by themselves; VUs set those that are metadata.
    pub system_tags: SystemTags,
    /// Counts of iterations, by scenario.
    pub counts: Vec<Arc<Count>>,
}

/// Why a run was ended from inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The script asked for it.
    Asked(String),
    /// The script threw while a VU was made.
    Threw(String),
    /// A VU could not be made.
    Failed(String),
}

impl From<LoadError> for Stop {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Aborted(words) => Self::Asked(words),
            LoadError::Script(thrown) => Self::Threw(thrown.to_string()),
            LoadError::Stack(_) => Self::Failed(error.to_string()),
        }
    }
}

impl Load {
    fn stop(&self, why: Stop) {
        // The first reason counts.
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.control.abort();
    }

    /// Why the run was ended from inside, if it was.
    pub fn why_stopped(&self) -> Option<Stop> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports to k6's view iterations of a scenario that never began.
    fn dropped(&self, observer: &dyn Observer, scenario: usize, count: u64, at: Nanos) {
        let part = &self.parts[scenario];
        let context = Context { scenario: &part.name, group: "", tags: &self.tags, metadata: &[], at };
        observer.dropped(count, &context);
    }

    /// Reports planned iterations for which there was no time to k6's view. To be called when the plan has ended.
    pub fn drop_rest(&self, observer: &dyn Observer, at: Nanos) {
        for (scenario, (part, count)) in self.parts.iter().zip(&self.counts).enumerate() {
            let rest = part.iterations.map_or(0, |all| all.saturating_sub(count.begun()));
            if rest > 0 {
                self.dropped(observer, scenario, rest, at);
            }
        }
    }

    /// `vu.idInTest` of a user: scenarios one after the other.
    fn id(&self, scenario: usize, user: u64) -> u64 {
        self.parts[..scenario].iter().map(|part| u64::from(part.users_max)).sum::<u64>() + user + 1
    }
}

/// Objects that a worker's thread prepares before the run.
#[derive(Default)]
struct Ready {
    targets: Rc<Targets>,
    vus: RefCell<HashMap<u64, Vu>>,
    sender: RefCell<Option<Rc<RequestSender>>>,
}

thread_local! {
    static READY: Ready = Ready::default();
}

impl Workload for Load {
    type User = ScriptUser;

    fn prepare(self: &Arc<Self>, numbers: &[u64]) {
        READY.with(|ready| {
            for number in numbers {
                let (scenario, user) = ((number >> 32) as usize, number & u64::from(u32::MAX));
                match Vu::load(&self.program, &ready.targets, self.id(scenario, user)) {
                    Ok((vu, _)) => {
                        self.tally.initialize();
                        ready.vus.borrow_mut().insert(*number, vu);
                    }
                    Err(error) => {
                        self.stop(error.into());
                        return;
                    }
                }
            }
        });
    }

    fn user(self: &Arc<Self>, context: &UserContext, number: u64) -> ScriptUser {
        READY.with(|ready| {
            let sender = ready.sender.borrow_mut().get_or_insert_with(|| self.sender(context)).clone();
            let vu = ready.vus.borrow_mut().remove(&number);
            let scenario = (number >> 32) as usize;
            if vu.is_none() {
                return ScriptUser { scenario, ..ScriptUser::clerk(self, context, sender) };
            }
            ScriptUser::new(self, context, sender, vu, scenario, number & u64::from(u32::MAX))
        })
    }
}

impl Load {
    fn sender(&self, context: &UserContext) -> Rc<RequestSender> {
        Rc::new(RequestSender {
            network: context.network.clone(),
            recorder: context.recorder.clone(),
            endpoints: context.endpoints.clone(),
            timer: context.timer.clone(),
            observer: (self.observers)(),
            user_agent: self.http.user_agent.as_str().into(),
            pace: self.http.pace.clone(),
        })
    }
}

/// A VU as the engine's user.
pub struct ScriptUser {
    load: Arc<Load>,
    vu: Option<Vu>,
    scenario: usize,
    export: Rc<str>,
    data: Option<Rc<str>>,
    iteration: Cell<u64>,
    sender: Rc<RequestSender>,
    recorder: Rc<RefCell<Recorder>>,
    endpoints: Endpoints,
}

impl ScriptUser {
    /// A user without a VU: it only records dropped iterations.
    fn clerk(load: &Arc<Load>, context: &UserContext, sender: Rc<RequestSender>) -> Self {
        Self {
            load: load.clone(),
            vu: None,
            scenario: 0,
            export: "".into(),
            data: None,
            iteration: Cell::new(0),
            sender,
            recorder: context.recorder.clone(),
            endpoints: context.endpoints.clone(),
        }
    }

    fn new(
        load: &Arc<Load>,
        context: &UserContext,
        sender: Rc<RequestSender>,
        mut vu: Option<Vu>,
        scenario: usize,
        user: u64,
    ) -> Self {
        let part = &load.parts[scenario];
        if let Some(vu) = &mut vu {
            vu.join(sender.clone());
            let state = vu.state();
            state.http.replace(Rc::new(load.http.clone()));
            state.tags.replace(part.tags.as_slice().into());
            state.environment.replace(part.environment.clone());
            state.place.replace(Place {
                vu: load.id(scenario, user),
                scenario: part.name.as_str().into(),
                executor: part.executor.as_str().into(),
                ..Place::default()
            });
            let wall = knee_core::clock::wall().since(state.now()).saturating_add(part.begins);
            state.set_execution_info(Rc::new(ExecutionInfo {
                tally: load.tally.clone(),
                count: load.counts[scenario].clone(),
                options: load.options.clone(),
                scenario_started_ms: wall.as_millis_f64().floor(),
                begins: part.begins,
                lasts: part.lasts,
                iterations: part.iterations,
            }));
        }
        let mut user = Self::clerk(load, context, sender);
        user.vu = vu;
        user.scenario = scenario;
        user.export = part.export.as_str().into();
        user.data = load.data.as_deref().map(Into::into);
        user
    }
}

impl User for ScriptUser {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        let Some(vu) = &mut self.vu else { return iteration.due };
        let state = vu.state().clone();
        let number = self.iteration.get();
        self.iteration.set(number + 1);
        {
            let mut place = state.place.borrow_mut();
            place.iteration = number;
            place.iteration_in_scenario = number;
            place.iteration_in_test = self.load.counts[self.scenario].begin();
            state.number(self.load.system_tags, Some(place.vu), number);
        }
        if !self.load.http.keep_cookies && !state.jar.borrow().borrow().is_empty() {
            state.jar.replace(Rc::new(RefCell::new(Jar::default())));
        }
        if self.load.http.fresh_connections {
            vu.close_idle();
        }
        let begun = self.sender.network.clock.now();
        self.load.tally.begin();
        let call = Call { export: self.export.clone(), stage: Stage::Iteration, argument: self.data.clone() };
        let ended = vu.call(call, iteration).await;
        let done = self.sender.network.clock.now();
        let whole = !matches!(ended, Ended::Cut);
        self.load.tally.end(whole);
        self.load.counts[self.scenario].end();
        state.group.replace("".into());
        let span = done.since(begun);
        state.observe_at(done, &[], |observer, context| observer.iteration(span, whole, context));
        match ended {
            Ended::Thrown(thrown) => world::tell(&self.load.program, &thrown),
            Ended::Aborted(words) => {
                self.load.stop(Stop::Asked(words));
                // Until the engine has heard of it, this VU begins nothing more.
                self.sender.timer.sleep_until(done.saturating_add(ABORT_PAUSE)).await;
            }
            Ended::Returned(_) | Ended::Cut => {}
        }
        let rested = begun.saturating_add(self.load.min_iteration).min(iteration.cut);
        if whole && rested > done {
            self.sender.timer.sleep_until(rested).await;
            return self.sender.network.clock.now();
        }
        if span < Nanos::from_micros(20) {
            // An iteration that never waited must yield to other VUs.
            tokio::task::yield_now().await;
        }
        done
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        let endpoint = self.endpoints.id("(iterations that no VU was free for)");
        self.recorder.borrow_mut().unsent(endpoint, due, at);
        self.load.dropped(&*self.sender.observer, self.scenario, 1, at);
    }
}
