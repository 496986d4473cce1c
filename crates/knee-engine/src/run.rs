//! A whole run: starts the workers, merges their intervals, writes the journal, returns the result.
//!
//! The calling thread becomes the collector and returns with the finished run. An error of the
//! journal or a listener never stops a run; an error of the journal is reported as a warning.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use knee_core::clock::MonotonicClock;
use knee_core::event::Event;
use knee_core::generator::{GeneratorSample, LoopLag, WorkerSample, both};
use knee_core::interval::Interval;
use knee_core::record::run::RunBuilder;
use knee_core::record::{Ending, Head, Run, Tail};
use knee_core::unit::Nanos;
use knee_core::validity::diagnostics::Http2Offer;
use rustls::ClientConfig;

use crate::control::{Control, Request};
use crate::deadline::Deadlines;
use crate::endpoints::{Endpoints, Registry};
use crate::host::{self, Sampler, ThreadSampler};
use crate::http::client::Network;
use crate::http::http2;
use crate::http::origin::{Origin, Resolver};
use crate::http::request::Defaults;
use crate::http::settings::Settings;
use crate::loop_probe::LoopProbe;
use crate::recorder::{Recorder, Share};
use crate::timer::{Timer, WorkerTimer};
use crate::worker::{Assignment, IntervalReport, Shared, Spawn, UserContext, Workload, conduct};

/// Why a run failed. Failures of the target are not errors here: they are data.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A worker could not get a thread, a runtime or a timer.
    #[error("cannot start a worker: {0}")]
    Worker(#[from] io::Error),
    /// A worker ended too early: a bug in this program.
    #[error("a worker ended unexpectedly; this is a bug")]
    WorkerLost,
}

/// Receives the intervals of a run, to keep them.
pub trait Journal {
    /// Writes one complete interval.
    fn interval(&mut self, interval: &Interval) -> io::Result<()>;

    /// Writes the end of the run.
    fn tail(&mut self, tail: &Tail) -> io::Result<()>;
}

/// HTTP settings, the same for all workers.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// How connections are opened and responses are read.
    pub settings: Arc<Settings>,
    /// What all requests have in common.
    pub defaults: Defaults,
    /// TLS, if any URL needs it.
    pub tls: Option<Arc<ClientConfig>>,
    /// What it means for this load if a server offers HTTP/2. If it means something, servers are asked after the load.
    pub http2: Option<Http2Offer>,
}

/// What receives intervals and events during the run.
pub struct Listeners {
    /// The journal, if the run is saved. Nothing is written after its first error.
    pub journal: Option<Box<dyn Journal>>,
    /// Screens. A full channel loses the event and never delays the run.
    pub events: Vec<SyncSender<Event>>,
}

/// Makes one run and returns its result.
pub fn run<W: Workload>(
    head: Head,
    workload: &Arc<W>,
    http: &HttpConfig,
    control: &Control,
    listeners: Listeners,
) -> Result<Run, RunError> {
    host::raise_descriptor_limit();
    let shared = Shared::new(head.plan.clone(), control.clone());
    let plan = shared.plan.clone();
    let (messages, inbox) = mpsc::channel();
    let resolver = Arc::new(Resolver::default());
    let endpoints = Arc::new(Registry::new(&plan.endpoints));
    let start =
        Arc::new(StartBarrier { ready: Barrier::new(usize::from(plan.workers) + 1), clock: OnceLock::new() });
    let mut spares = Vec::new();
    for index in 0..u32::from(plan.workers) {
        let (spare, returned) = mpsc::channel();
        spares.push(spare);
        let assignment = Assignment { shared: shared.clone(), index };
        let worker_thread = WorkerThread {
            assignment,
            http: http.clone(),
            resolver: resolver.clone(),
            endpoints: endpoints.clone(),
            start: start.clone(),
            messages: messages.clone(),
            returned,
            measured_from: head.measured_from,
        };
        let workload = workload.clone();
        thread::Builder::new()
            .name(format!("knee-worker-{index}"))
            .stack_size(1 << 20)
            .spawn(move || worker_thread.work(&workload))?;
    }
    drop(messages);
    let http2 = Http2Question { http: http.clone(), resolver };
    let collector = IntervalCollector::new(head, control, listeners, spares, endpoints);
    let run = collector.collect(&inbox, &start, &http2);
    if run.is_err() {
        // Workers that did start must not send load that nothing records.
        control.abort();
    }
    run
}

/// Asks servers whether they offer HTTP/2, once per run.
struct Http2Question {
    http: HttpConfig,
    resolver: Arc<Resolver>,
}

impl Http2Question {
    /// What the offer of any of `origins` means for this load; `None` if none offers HTTP/2.
    fn ask(&self, origins: &[Arc<Origin>]) -> Option<Http2Offer> {
        let HttpConfig { settings, tls, http2, .. } = &self.http;
        let (offer, config) = ((*http2)?, tls.as_ref()?);
        http2::is_offered(origins, settings, config, self.resolver.clone()).then_some(offer)
    }
}

/// Starts all workers at the same time.
struct StartBarrier {
    ready: Barrier,
    clock: OnceLock<MonotonicClock>,
}

impl StartBarrier {
    /// Waits for all others and returns a clock that reads zero at that time.
    fn clock(&self) -> MonotonicClock {
        self.ready.wait();
        *self.clock.get_or_init(MonotonicClock::start)
    }
}

/// A message of a worker to the collector.
enum WorkerMessage {
    /// The worker has begun.
    Begun,
    /// The worker cannot start.
    Failed(io::Error),
    /// An interval of this worker.
    Interval(u32, Box<WorkerInterval>),
}

/// An interval of a worker.
struct WorkerInterval {
    report: IntervalReport,
    connections_open: u64,
    loop_lag: LoopLag,
    cpu: Option<WorkerSample>,
    co_located: Option<bool>,
    /// Origins that TLS sessions were opened with; only in the last interval.
    secure_origins: Vec<Arc<Origin>>,
}

/// What a worker's thread needs.
struct WorkerThread {
    assignment: Assignment,
    http: HttpConfig,
    resolver: Arc<Resolver>,
    endpoints: Arc<Registry>,
    start: Arc<StartBarrier>,
    messages: Sender<WorkerMessage>,
    returned: Receiver<Share>,
    measured_from: Nanos,
}

impl WorkerThread {
    fn work<W: Workload>(self, workload: &Arc<W>) {
        // The collector waits for this message first, so it still exists.
        let _ = self.messages.send(WorkerMessage::Begun);
        let runtime = WorkerTimer::runtime();
        let prepared = workload.prepare(&self.assignment.vus());
        let clock = self.start.clock();
        self.assignment.shared.control.begin(clock);
        let messages = self.messages.clone();
        let worked =
            runtime.and_then(|runtime| runtime.block_on(self.conduct(workload.clone(), prepared, clock)));
        if let Err(error) = worked {
            let _ = messages.send(WorkerMessage::Failed(error));
        }
    }

    async fn conduct<W: Workload>(
        self,
        workload: Arc<W>,
        prepared: W::Prepared,
        clock: MonotonicClock,
    ) -> io::Result<()> {
        let timer = WorkerTimer::new(clock)?;
        tokio::task::spawn_local(timer.clone().drive());
        let deadlines = Rc::new(Deadlines::default());
        let HttpConfig { settings, defaults, tls, http2: _ } = self.http;
        let pace = watch_pace(&settings);
        let watch = (deadlines.clone(), timer.clone());
        tokio::task::spawn_local(async move { watch.0.watch(watch.1, pace).await });
        let network = Network::new(clock, settings, defaults, self.resolver, tls, deadlines);
        let recorder = Rc::new(std::cell::RefCell::new(Recorder::new(self.measured_from)));
        let probe = Rc::new(LoopProbe::new(recorder.clone()));
        let watch = (probe.clone(), timer.clone());
        tokio::task::spawn_local(async move { watch.0.watch(watch.1).await });
        let endpoints = Endpoints::new(self.endpoints);
        let context = UserContext {
            network: Rc::new(network),
            recorder: recorder.clone(),
            endpoints,
            timer: timer.clone(),
        };
        let (index, network) = (self.assignment.index, context.network.clone());
        let connections = network.clone();
        let (messages, returned) = (self.messages, self.returned);
        let mut sampler = ThreadSampler::start(timer.now());
        let roll = move |report: IntervalReport| {
            let (loop_lag, cpu) = (probe.take(report.to), sampler.sample(report.to));
            let connections_open = network.connections_open();
            let co_located = network.co_located();
            let secure_origins = if report.last { network.secure_origins() } else { Vec::new() };
            let interval =
                WorkerInterval { report, connections_open, loop_lag, cpu, co_located, secure_origins };
            let message = WorkerMessage::Interval(index, Box::new(interval));
            // Without a collector the run has failed: the report is of no use.
            let _ = messages.send(message);
            returned.try_recv().unwrap_or_default()
        };
        let spawn: Spawn = Rc::new(|task| drop(tokio::task::spawn_local(task)));
        let user = move |id| workload.user(&context, &prepared, id);
        conduct(&self.assignment, timer, recorder, spawn, user, roll, Some(&connections)).await;
        Ok(())
    }
}

/// How often time limits are checked: a hundredth of the shortest, between 1 ms and 20 ms.
fn watch_pace(settings: &Settings) -> Nanos {
    let shortest = settings.request_timeout.unwrap_or(Nanos::MAX).min(settings.connect_timeout);
    Nanos(shortest.0 / 100).clamp(Nanos::from_millis(1), Nanos::from_millis(20))
}

/// An interval that some workers have not reported yet.
struct Pending {
    interval: Interval,
    /// By worker.
    cpu: Vec<Option<WorkerSample>>,
    /// Whether all connections lead to this machine, as far as workers have any.
    co_located: Option<bool>,
    reported: usize,
}

/// The samples of all workers in their order. A worker that has ended counts as idle. The value is unknown if no
/// worker reported one.
fn workers(seen: &[Option<WorkerSample>]) -> Vec<WorkerSample> {
    let ended = WorkerSample { cpu: 0.0, run_delay: Some(0.0) };
    if seen.iter().all(Option::is_none) {
        return Vec::new();
    }
    seen.iter().map(|sample| sample.unwrap_or(ended)).collect()
}

/// Number of published intervals kept for their memory: a listener can hold one while the next is merged.
const PUBLISHED_MAX: usize = 3;

/// An empty interval. Reuses the memory of a published one that no listener holds, if there is one.
fn empty_interval(published: &mut VecDeque<Arc<Interval>>) -> Interval {
    let free = published.iter_mut().position(|interval| Arc::get_mut(interval).is_some());
    let taken = free.and_then(|place| published.remove(place)).and_then(Arc::into_inner);
    taken.map_or_else(Interval::default, |mut interval| {
        interval.clear();
        interval
    })
}

/// Merges the workers' shares, interval by interval.
struct IntervalCollector {
    head: Arc<Head>,
    control: Control,
    journal: Option<Box<dyn Journal>>,
    events: Vec<SyncSender<Event>>,
    spares: Vec<Sender<Share>>,
    endpoints: Arc<Registry>,
    builder: RunBuilder,
    pending: BTreeMap<u64, Pending>,
    /// Number of the last interval of each worker; `None` while the worker runs.
    finished: Vec<Option<u64>>,
    connections: Vec<u64>,
    /// Origins that TLS sessions were opened with, as far as workers have ended.
    secure_origins: Vec<Arc<Origin>>,
    from: Nanos,
    intervals: u64,
    stopping: bool,
    /// Published intervals. Their memory is reused once no listener holds them: allocated here and freed by another
    /// thread every second, it would fragment the heap more and more.
    published: VecDeque<Arc<Interval>>,
}

impl IntervalCollector {
    fn new(
        head: Head,
        control: &Control,
        listeners: Listeners,
        spares: Vec<Sender<Share>>,
        endpoints: Arc<Registry>,
    ) -> Self {
        let workers = spares.len();
        Self {
            builder: RunBuilder::new(head.clone()),
            head: Arc::new(head),
            control: control.clone(),
            journal: listeners.journal,
            events: listeners.events,
            spares,
            endpoints,
            pending: BTreeMap::new(),
            finished: vec![None; workers],
            connections: vec![0; workers],
            secure_origins: Vec::new(),
            from: Nanos::ZERO,
            intervals: 0,
            stopping: false,
            published: VecDeque::new(),
        }
    }

    fn collect(
        mut self,
        inbox: &Receiver<WorkerMessage>,
        start: &StartBarrier,
        http2: &Http2Question,
    ) -> Result<Run, RunError> {
        for _ in 0..self.spares.len() {
            match inbox.recv() {
                Ok(WorkerMessage::Begun) => {}
                Ok(WorkerMessage::Failed(error)) => return Err(error.into()),
                Ok(WorkerMessage::Interval(..)) | Err(_) => return Err(RunError::WorkerLost),
            }
        }
        let mut sampler = Sampler::start();
        self.send_event(&Event::Started(self.head.clone()));
        start.clock();
        while self.finished.iter().any(Option::is_none) || !self.pending.is_empty() {
            match inbox.recv() {
                Ok(WorkerMessage::Interval(worker, interval)) => {
                    self.take(worker as usize, *interval);
                    self.flush(&mut sampler);
                }
                Ok(WorkerMessage::Failed(error)) => return Err(error.into()),
                Ok(WorkerMessage::Begun) | Err(_) => return Err(RunError::WorkerLost),
            }
        }
        self.ask(http2);
        Ok(self.finish())
    }

    /// Asks the servers of a completed run whether they offer HTTP/2.
    fn ask(&mut self, http2: &Http2Question) {
        self.secure_origins.sort_unstable();
        self.secure_origins.dedup();
        let completed = self.control.request() == Request::Run;
        if completed && let Some(offer) = http2.ask(&self.secure_origins) {
            self.builder.offered_http2(offer);
        }
    }

    /// Adds one worker's share to its interval.
    fn take(&mut self, worker: usize, interval: WorkerInterval) {
        let WorkerInterval { report, connections_open, loop_lag, cpu, co_located, secure_origins } = interval;
        self.secure_origins.extend(secure_origins);
        if let Some(at) = report.stopped.filter(|_| !self.stopping) {
            self.stopping = true;
            self.builder.stop(at);
            self.send_event(&Event::Stopping { interrupted: true });
        }
        let published = &mut self.published;
        let cpus = vec![None; self.spares.len()];
        let empty_interval =
            || Pending { interval: empty_interval(published), cpu: cpus, co_located: None, reported: 0 };
        let pending = self.pending.entry(report.index).or_insert_with(empty_interval);
        pending.reported += 1;
        pending.cpu[worker] = cpu;
        pending.co_located = both(pending.co_located, co_located);
        let interval = &mut pending.interval;
        interval.to = interval.to.max(report.to);
        interval.backlog += report.backlog;
        let mut share = report.share;
        interval.warm_up.merge(&share.warm_up);
        interval.measured.merge(&share.measured);
        interval.concurrency.merge_beside(&share.concurrency);
        interval.generator.loop_lag.get_or_insert_default().merge_beside(&loop_lag);
        share.clear();
        // A worker that has ended does not need it.
        let _ = self.spares[worker].send(share);
        self.connections[worker] = connections_open;
        if report.last {
            self.finished[worker] = Some(report.index);
        }
    }

    /// Publishes all complete intervals in order.
    fn flush(&mut self, sampler: &mut Sampler) {
        while let Some(first) = self.pending.first_entry() {
            let index = *first.key();
            let ended = self.finished.iter().flatten().filter(|last| **last < index).count();
            if first.get().reported + ended < self.spares.len() {
                return;
            }
            let Pending { mut interval, cpu, co_located, .. } = first.remove();
            interval.from = self.from;
            // Workers notice the end of an interval at slightly different moments.
            interval.to = interval.to.max(self.from);
            self.from = interval.to;
            interval.connections_open = self.connections.iter().sum();
            interval.endpoints_met = self.endpoints.take_new();
            let loop_lag = interval.generator.loop_lag.take();
            let workers = workers(&cpu);
            interval.generator = GeneratorSample {
                loop_lag,
                workers,
                co_located,
                ..sampler.sample(interval.connections_open)
            };
            self.publish(interval);
        }
    }

    fn publish(&mut self, interval: Interval) {
        self.intervals += 1;
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.interval(&interval)
        {
            self.lose_journal(&error);
        }
        self.builder.add(&interval);
        let interval = Arc::new(interval);
        self.send_event(&Event::Interval(interval.clone()));
        self.published.push_back(interval);
        if self.published.len() > PUBLISHED_MAX {
            self.published.pop_front();
        }
    }

    fn lose_journal(&mut self, error: &io::Error) {
        self.journal = None;
        self.send_event(&Event::Warning(format!("the record is incomplete: {error}")));
    }

    fn finish(mut self) -> Run {
        let ending = match self.control.request() {
            Request::Run => Ending::Completed,
            Request::Stop => Ending::Interrupted,
            Request::Abort => Ending::Aborted,
        };
        let builder = std::mem::replace(&mut self.builder, RunBuilder::new((*self.head).clone()));
        let run = builder.end(ending.clone());
        let tail =
            Tail { ending, stopped: run.stopped, validity: run.validity.clone(), intervals: self.intervals };
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.tail(&tail)
        {
            self.lose_journal(&error);
        }
        self.send_event(&Event::Ended(Arc::new(run.clone())));
        run
    }

    fn send_event(&self, event: &Event) {
        for listener in &self.events {
            // A screen whose channel is full or closed misses this; the run does not wait for it.
            let _ = listener.try_send(event.clone());
        }
    }
}
