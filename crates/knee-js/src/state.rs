//! The state of one VU, as used by the functions that its script calls.
//!
//! Shared by the script's stack and the VU around it, both on one thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use rquickjs::{Ctx, Object, Persistent, Value};

use crate::counter::Counter;
use crate::event_loop::EventLoop;
use crate::op::{Op, Reply};
use crate::program::{HttpDefaults, Program};
use crate::runtime::fiber::Link;
use crate::runtime::thrown::Thrown;
use knee_k6::account::{Account, Charge};
use knee_k6::grpc::streams::Streams;
use knee_k6::http::cookie::Jar;
use knee_k6::http::request::Expected;
use knee_k6::http::targets::Targets;
use knee_k6::inbox::Inbox;
use knee_k6::observe::system_tags::{SystemTag, SystemTags};
use knee_k6::observe::{Context, Nobody, Observer};
use knee_k6::sse::stream::EventStreams;
use knee_k6::websocket::sockets::Sockets;

/// Longest time a script runs before it yields to other VUs.
pub const SLICE: Nanos = Nanos::from_millis(2);

/// One VU as its script's functions see it.
pub struct State {
    /// The script.
    pub program: Arc<Program>,
    /// The VU's memory.
    pub account: Account,
    /// Passes control to the VU and back.
    pub link: Link<Reply, Op>,
    /// The run's clock; of the thread until the run begins.
    pub clock: Cell<MonotonicClock>,
    /// k6's view of the run.
    pub observer: RefCell<Rc<dyn Observer>>,
    /// URLs met by this worker.
    pub targets: Rc<Targets>,
    /// Defaults of requests.
    pub http: RefCell<Rc<HttpDefaults>>,
    /// Which statuses are expected unless a call says otherwise.
    pub expected: RefCell<Rc<Expected>>,
    /// The VU's cookies.
    pub jar: RefCell<Rc<RefCell<Jar>>>,
    /// Names of the groups that are open, each after `::`.
    pub group: RefCell<Rc<str>>,
    /// Tags of the VU.
    pub tags: RefCell<Rc<[(String, String)]>>,
    /// Which tags samples get by themselves.
    pub system_tags: Cell<SystemTags>,
    /// Metadata of the VU's samples, besides tags.
    pub metadata: RefCell<Rc<[(String, String)]>>,
    /// The memory of tags and metadata that the script has set.
    pub notes_memory: RefCell<Charge>,
    /// The memory of the metrics that the script has declared.
    pub metrics_memory: RefCell<Charge>,
    /// Numbers of the VU and of its iteration.
    pub place: RefCell<Place>,
    /// `__ENV` of the scenario besides the script's.
    pub environment: RefCell<Vec<(String, String)>>,
    /// Whether the VU was given to a scenario since its last iteration.
    pub activated: Cell<bool>,
    /// Whether the script is being loaded.
    pub init: Cell<bool>,
    /// Whether everything is to end at once.
    pub quitting: Cell<bool>,
    /// When the runtime first saw the script running since it last yielded; most scripts yield before that.
    pub since: Cell<Option<Nanos>>,
    /// Why the script wants the whole test to end.
    pub abort: RefCell<Option<String>>,
    /// Timers, requests, sockets and streams that are not waited for.
    pub events: EventLoop,
    /// What happened beside the script.
    pub inbox: Rc<Inbox>,
    /// The sockets.
    pub sockets: Sockets,
    /// The streams of gRPC.
    pub streams: Streams,
    /// The streams of server-sent events.
    pub event_streams: EventStreams,
    /// `CommonJS` files that have run, by name; while the script is loaded.
    pub required: RefCell<Option<Persistent<Object<'static>>>>,
    /// The run as a whole.
    execution_info: RefCell<Rc<ExecutionInfo>>,
    /// Rejected promises that were not caught.
    rejections: RefCell<Rejections>,
}

/// A value of the VU's runtime, kept between two steps of its script.
type Kept = Persistent<Value<'static>>;

/// Rejected promises that were not caught, with the reason of each and its place in their order.
#[derive(Default)]
struct Rejections {
    by_promise: HashMap<Kept, (u64, Kept)>,
    /// Promises rejected so far, caught ones included.
    count: u64,
}

/// Facts of the run and of the VU's scenario, as `k6/execution` shows them.
#[derive(Debug, Default)]
pub struct ExecutionInfo {
    /// Counts of all VUs.
    pub tally: Arc<Tally>,
    /// Counts of the scenario's iterations.
    pub count: Arc<Count>,
    /// JSON of the options the run was made with.
    pub options: Arc<str>,
    /// Wall-clock milliseconds at which the scenario began.
    pub scenario_started_ms: f64,
    /// Start of the scenario, on the run's clock.
    pub begins: Nanos,
    /// Its duration, if time ends it.
    pub lasts: Option<Nanos>,
    /// Its iterations, if their number ends it.
    pub iterations: Option<u64>,
}

impl ExecutionInfo {
    /// Progress of the scenario, 0 to 1.
    pub fn progress(&self, now: Nanos) -> f64 {
        match (self.iterations, self.lasts) {
            (Some(all), _) if all > 0 => (self.count.done() as f64 / all as f64).min(1.0),
            (_, Some(lasts)) if lasts > Nanos::ZERO => {
                (now.since(self.begins).as_secs_f64() / lasts.as_secs_f64()).min(1.0)
            }
            _ => 0.0,
        }
    }
}

/// Iterations of one scenario, counted by the VUs of all workers.
#[derive(Debug, Default)]
pub struct Count {
    /// The order of iterations is that of this number, so that all threads share it.
    begun: AtomicU64,
    done: Counter,
}

impl Count {
    /// Counts the start of an iteration; returns its index in the scenario, from 0.
    pub fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }

    /// An iteration has ended, by itself or cut off.
    pub fn end(&self) {
        self.done.add();
    }

    /// Iterations that were begun.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Iterations that have ended.
    pub fn done(&self) -> u64 {
        self.done.sum()
    }
}

/// Counts of all VUs of a run, shared by its workers.
#[derive(Debug, Default)]
pub struct Tally {
    completed: Counter,
    interrupted: Counter,
    active: AtomicU64,
    initialized: AtomicU64,
    failed: AtomicBool,
}

impl Tally {
    /// Iterations that ended by themselves.
    pub fn completed(&self) -> u64 {
        self.completed.sum()
    }

    /// Iterations that were cut off.
    pub fn interrupted(&self) -> u64 {
        self.interrupted.sum()
    }

    /// VUs at work: in closed scenarios those that belong to one, in open ones those within an iteration.
    pub fn active(&self) -> u64 {
        self.active.load(Ordering::Relaxed)
    }

    /// VUs that are ready.
    pub fn initialized(&self) -> u64 {
        self.initialized.load(Ordering::Relaxed)
    }

    /// Whether a script said that the test has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// A script says that the test has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// A VU begins to work for a scenario; in an open one, for an arrival.
    pub fn activate(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// A VU has done its work.
    pub fn deactivate(&self) {
        self.active.fetch_sub(1, Ordering::Relaxed);
    }

    /// A VU is ready.
    pub fn initialize(&self) {
        self.initialized.fetch_add(1, Ordering::Relaxed);
    }

    /// An iteration has ended; `whole` unless it was cut off.
    pub fn end(&self, whole: bool) {
        let count = if whole { &self.completed } else { &self.interrupted };
        count.add();
    }
}

/// Numbers of a VU and of its iteration, as `k6/execution` shows them.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// `vu.idInInstance`, from 1; 0 outside of scenarios.
    pub vu: u64,
    /// `vu.idInTest`: the same unless this machine has a part of the load.
    pub vu_in_test: u64,
    /// `vu.iterationInInstance`, from 0.
    pub iteration: u64,
    /// The scenario; empty outside of scenarios.
    pub scenario: Rc<str>,
    /// Its executor.
    pub executor: Rc<str>,
    /// `scenario.iterationInInstance`, from 0.
    pub iteration_in_instance: u64,
    /// `scenario.iterationInTest`: the same unless this machine has a part of the load.
    pub iteration_in_test: u64,
    /// `vu.iterationInScenario`.
    pub iteration_in_scenario: u64,
}

impl State {
    /// The state of a VU whose script has not been loaded.
    pub fn new(program: Arc<Program>, link: Link<Reply, Op>, targets: Rc<Targets>) -> Self {
        let clock = MonotonicClock::start();
        let account = Account::new(program.surroundings.limits.memory);
        let inbox = Rc::new(Inbox::default());
        Self {
            notes_memory: RefCell::new(account.empty()),
            metrics_memory: RefCell::new(account.empty()),
            jar: RefCell::new(Rc::new(RefCell::new(Jar::new(&account)))),
            account,
            program,
            link,
            clock: Cell::new(clock),
            observer: RefCell::new(Rc::new(Nobody)),
            targets,
            http: RefCell::default(),
            expected: RefCell::default(),
            group: RefCell::new("".into()),
            tags: RefCell::new(Rc::new([])),
            system_tags: Cell::new(SystemTags::default()),
            metadata: RefCell::new(Rc::new([])),
            place: RefCell::default(),
            environment: RefCell::default(),
            activated: Cell::new(false),
            init: Cell::new(true),
            quitting: Cell::new(false),
            since: Cell::new(None),
            abort: RefCell::default(),
            events: EventLoop::default(),
            sockets: Sockets::new(inbox.clone()),
            streams: Streams::default(),
            event_streams: EventStreams::default(),
            inbox,
            required: RefCell::default(),
            execution_info: RefCell::default(),
            rejections: RefCell::default(),
        }
    }

    /// A promise was rejected, or a rejection was caught after all. QuickJS calls this in the middle of a step of the
    /// script, so nothing is done here that could run more of it: the reason is not even read.
    pub fn rejected<'js>(&self, ctx: &Ctx<'js>, promise: &Value<'js>, reason: &Value<'js>, handled: bool) {
        let promise = Persistent::save(ctx, promise.clone());
        let mut rejections = self.rejections.borrow_mut();
        let before = if handled {
            rejections.by_promise.remove(&promise)
        } else {
            rejections.count += 1;
            let place = rejections.count;
            rejections.by_promise.insert(promise, (place, Persistent::save(ctx, reason.clone())))
        };
        drop(rejections);
        drop(before);
    }

    /// The first uncaught rejection.
    pub fn take_rejection(&self, ctx: &Ctx<'_>) -> Option<Thrown> {
        let rejections = std::mem::take(&mut self.rejections.borrow_mut().by_promise);
        let (_, reason) = rejections.into_values().min_by_key(|(place, _)| *place)?;
        let reason = reason.restore(ctx).ok()?;
        Some(Thrown::of(ctx, &reason).in_promise())
    }

    /// Number of rejections so far.
    pub fn count_rejections(&self) -> u64 {
        self.rejections.borrow().count
    }

    /// Forgets the rejections after the first `count`, because the caller got the error.
    pub fn forget_rejections(&self, count: u64) {
        self.rejections.borrow_mut().by_promise.retain(|_, (place, _)| *place <= count);
    }

    /// Forgets timers, promises and whatever else is a value of the runtime.
    pub fn forget_values(&self) {
        self.events.clear();
        let rejections = std::mem::take(&mut self.rejections.borrow_mut().by_promise);
        drop(rejections);
    }

    /// The run as a whole.
    pub fn execution_info(&self) -> Rc<ExecutionInfo> {
        self.execution_info.borrow().clone()
    }

    /// Sets the facts of the run.
    pub fn set_execution_info(&self, execution_info: Rc<ExecutionInfo>) {
        self.execution_info.replace(execution_info);
    }

    /// Puts the numbers of the VU and of its iteration into its metadata, if samples are to have them.
    pub fn number(&self, system: SystemTags, vu: Option<u64>, iteration: u64) {
        if !system.has(SystemTag::Vu) && !system.has(SystemTag::Iter) {
            return;
        }
        let mut metadata = self.metadata.borrow().to_vec();
        let mut put = |tag: SystemTag, name: &str, value: u64| {
            if system.has(tag) {
                metadata.retain(|(known, _)| known != name);
                metadata.push((name.to_owned(), value.to_string()));
            }
        };
        if let Some(vu) = vu {
            put(SystemTag::Vu, "vu", vu);
        }
        put(SystemTag::Iter, "iter", iteration);
        self.metadata.replace(metadata.into());
    }

    /// Enters a group, or leaves one for that around it. As in k6, a tag `group` that the script has set ends then.
    pub fn enter_group(&self, group: Rc<str>) {
        self.group.replace(group);
        let is_set = self.tags.borrow().iter().any(|(name, _)| name == "group");
        if is_set && self.system_tags.get().has(SystemTag::Group) {
            let others: Vec<_> =
                self.tags.borrow().iter().filter(|(name, _)| name != "group").cloned().collect();
            self.tags.replace(others.into());
        }
    }

    /// Time on the run's clock.
    pub fn now(&self) -> Nanos {
        self.clock.get().now()
    }

    /// Asks the VU for an operation; `None` if everything must end instead.
    pub fn ask(&self, op: Op) -> Option<Reply> {
        if self.quitting.get() {
            return None;
        }
        let is_waiting = !matches!(op, Op::Begin(..) | Op::Start(..));
        let reply = self.link.pause(op);
        if is_waiting {
            self.since.set(None);
        }
        match reply {
            Some(Reply::Quit) | None => {
                self.quitting.set(true);
                None
            }
            reply => reply,
        }
    }

    /// QuickJS calls it every few thousand steps: yields to other VUs after [`SLICE`]. Returns whether the
    /// script must end.
    pub fn breathe(&self) -> bool {
        if !self.quitting.get() && !self.init.get() {
            let now = self.now();
            match self.since.get() {
                None => self.since.set(Some(now)),
                Some(since) if now.since(since) >= SLICE => drop(self.ask(Op::Breathe)),
                Some(_) => {}
            }
        }
        self.must_end()
    }

    /// Whether the script must end.
    pub fn must_end(&self) -> bool {
        self.quitting.get() || self.abort.borrow().is_some()
    }

    /// Passes the tags of a sample taken now to `then`.
    pub fn observe(&self, extra: &[(String, String)], then: impl FnOnce(&dyn Observer, &Context<'_>)) {
        self.observe_at(self.now(), extra, then);
    }

    /// Passes the tags of a sample taken at `at` to `then`.
    pub fn observe_at(
        &self,
        at: Nanos,
        extra: &[(String, String)],
        then: impl FnOnce(&dyn Observer, &Context<'_>),
    ) {
        let observer = self.observer.borrow().clone();
        let (place, group, tags) = (self.place.borrow(), self.group.borrow(), self.tags.borrow());
        let joined: Vec<(String, String)>;
        let tags: &[(String, String)] = if extra.is_empty() {
            &tags
        } else if tags.is_empty() {
            extra
        } else {
            let own = tags.iter().filter(|(name, _)| !extra.iter().any(|(known, _)| known == name));
            joined = own.chain(extra).cloned().collect();
            &joined
        };
        let metadata = self.metadata.borrow();
        let context = Context { scenario: &place.scenario, group: &group, tags, metadata: &metadata, at };
        then(&*observer, &context);
    }
}
