//! A whole run: starts the workers, passes on what they report, returns the result.
//!
//! The calling thread becomes the collector and returns with the finished run. Does not merge; see
//! [`crate::collector`].

use std::io;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use knee_core::clock::{self, MonotonicClock};
use knee_core::generator::GeneratorSample;
use knee_core::record::{Head, Run};
use knee_core::unit::Nanos;
use knee_core::validity::diagnostics::Http2Offer;
use rustls::ClientConfig;

use crate::collector::{IntervalCollector, WorkerInterval};
use crate::control::{Control, Gate};
use crate::deadline::Deadlines;
use crate::endpoints::{Endpoints, Registry};
use crate::host::{self, Sampler, ThreadSampler};
use crate::http::client::Network;
use crate::http::offer as http2_offer;
use crate::http::origin::{Origin, Resolver};
use crate::http::request::Defaults;
use crate::http::settings::Settings;
use crate::http::transport::PoolSharing;
use crate::loop_probe::LoopProbe;
use crate::recorder::{Recorder, Share};
use crate::timer::{Timer, WorkerTimer};
use crate::worker::{Assignment, IntervalReport, Shared, Spawn, UserContext, Workload, conduct};

pub use crate::collector::Listeners;
pub use crate::journal::Journal;

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
    let start = Arc::new(StartBarrier::new(usize::from(plan.workers) + 1, control.gate()));
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
    let collector = IntervalCollector::new(head, control, listeners, spares.len(), endpoints);
    let run = collect(collector, &spares, &inbox, &start, &http2);
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
        http2_offer::is_offered(origins, settings, config, self.resolver.clone()).then_some(offer)
    }
}

/// How often the collector looks whether workers still answer, and how often in a row it finds that a run that was
/// aborted has not ended. In this time a worker answers unless code that it calls does not return. Counted in looks, so
/// that a suspended process does not give up its workers when it goes on.
const PACE: Duration = Duration::from_millis(100);
const PATIENCE: u32 = 50;

/// Takes what the workers report, until all have ended or an aborted run gives up those that do not answer.
fn collect(
    mut collector: IntervalCollector,
    spares: &[Sender<Share>],
    inbox: &Receiver<WorkerMessage>,
    start: &StartBarrier,
    http2: &Http2Question,
) -> Result<Run, RunError> {
    for _ in spares {
        match inbox.recv() {
            Ok(WorkerMessage::Begun) => {}
            Ok(WorkerMessage::Failed(error)) => return Err(error.into()),
            Ok(WorkerMessage::Interval(..)) | Err(_) => return Err(RunError::WorkerLost),
        }
    }
    start.ready();
    let mut sampler = Sampler::start();
    let mut own = ThreadSampler::start(Nanos::ZERO);
    collector.begin(clock::wall());
    collector.observe_from(start.clock());
    let mut sample =
        |to, connections| GeneratorSample { collector: own.sample(to), ..sampler.sample(connections) };
    let mut patience = PATIENCE;
    while !collector.is_done() {
        match inbox.recv_timeout(PACE) {
            Ok(WorkerMessage::Interval(worker, interval)) => {
                patience = PATIENCE;
                let spare = collector.take(worker as usize, *interval);
                // A worker that has ended does not need it.
                let _ = spares[worker as usize].send(spare);
                collector.publish_whole(&mut sample);
            }
            Ok(WorkerMessage::Failed(error)) => return Err(error.into()),
            Err(RecvTimeoutError::Timeout) if !collector.is_aborted() => {}
            Err(RecvTimeoutError::Timeout) if patience > 0 => patience -= 1,
            Err(RecvTimeoutError::Timeout) => {
                collector.give_up();
                collector.publish_whole(&mut sample);
            }
            Ok(WorkerMessage::Begun) | Err(RecvTimeoutError::Disconnected) => {
                return Err(RunError::WorkerLost);
            }
        }
    }
    if let Some(offer) = http2.ask(&collector.secure_origins()) {
        collector.offered_http2(offer);
    }
    Ok(collector.finish())
}

/// Starts all workers at the same time.
struct StartBarrier {
    /// Where workers meet when they are ready, if there is a gate behind it.
    ready: Option<(Barrier, Arc<dyn Gate>)>,
    start: Barrier,
    clock: OnceLock<MonotonicClock>,
}

impl StartBarrier {
    fn new(threads: usize, gate: Option<Arc<dyn Gate>>) -> Self {
        let ready = gate.map(|gate| (Barrier::new(threads), gate));
        Self { ready, start: Barrier::new(threads), clock: OnceLock::new() }
    }

    /// For the collector: waits until all workers are ready and the gate opens, if there is one.
    fn ready(&self) {
        if let Some((ready, gate)) = &self.ready {
            ready.wait();
            gate.ready();
        }
    }

    /// For workers: says that this one is ready, and waits for the start.
    fn clock_of_worker(&self) -> MonotonicClock {
        if let Some((ready, _)) = &self.ready {
            ready.wait();
        }
        self.clock()
    }

    /// Waits for all others and returns a clock that reads zero at that time.
    fn clock(&self) -> MonotonicClock {
        self.start.wait();
        let gate = self.ready.as_ref().map(|(_, gate)| gate);
        *self.clock.get_or_init(|| gate.map_or_else(MonotonicClock::start, |gate| gate.start()))
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
        let clock = self.start.clock_of_worker();
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
        network.copy_bodies_from(self.measured_from);
        let recorder = Rc::new(std::cell::RefCell::new(Recorder::new(self.measured_from)));
        let probe = Rc::new(LoopProbe::new(recorder.clone()));
        let watch = (probe.clone(), timer.clone());
        tokio::task::spawn_local(async move { watch.0.watch(watch.1).await });
        let endpoints = Endpoints::new(self.endpoints);
        let context = UserContext {
            sharing: PoolSharing::default(),
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
            let new_servers = network.take_new_servers();
            let secure_origins = if report.last { network.secure_origins() } else { Vec::new() };
            let copies = if report.last { network.take_copies() } else { Vec::new() };
            let interval = WorkerInterval {
                report,
                connections_open,
                loop_lag,
                cpu,
                co_located,
                secure_origins,
                new_servers,
                copies,
            };
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
