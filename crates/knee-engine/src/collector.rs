//! Merges what the workers report, interval by interval: writes the journal, tells listeners, sums the run up.
//!
//! An error of the journal or a listener never stops a run; an error of the journal is reported as a warning. Waits for
//! nothing and reads no clock, so simulated runs use it too.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use knee_core::clock::MonotonicClock;
use knee_core::event::Event;
use knee_core::generator::{GeneratorSample, LoopLag, WorkerSample, both};
use knee_core::interval::Interval;
use knee_core::metric::MetricSource;
use knee_core::observation::{Batch, Observer};
use knee_core::record::format::Note;
use knee_core::record::run::RunBuilder;
use knee_core::record::{Ending, Head, Lateness, Run, Tail};
use knee_core::unit::Nanos;
use knee_core::validity::diagnostics::Http2Offer;

use crate::control::{Control, Request};
use crate::endpoints::Registry;
use crate::http::origin::Origin;
use crate::http::sampling::copies::BodyCopy;
use crate::journal::Journal;
use crate::recorder::Share;
use crate::sampled::CollectedLooks;
use crate::worker::IntervalReport;

/// What receives intervals and events during the run.
pub struct Listeners {
    /// The journal, if the run is saved. Nothing is written after its first error.
    pub journal: Option<Box<dyn Journal>>,
    /// Screens. A full channel loses the event and never delays the run.
    pub events: Vec<SyncSender<Event>>,
    /// What watches sources beside the run, if anything does.
    pub observer: Option<Box<dyn Observer>>,
    /// What counts the metrics of scripts, if anything does.
    pub metrics: Option<Box<dyn MetricSource>>,
}

/// An interval of a worker.
pub struct WorkerInterval {
    /// What the worker recorded.
    pub report: IntervalReport,
    /// Its open connections.
    pub connections_open: u64,
    /// How late it noticed events.
    pub loop_lag: LoopLag,
    /// What its thread used; `None` if that is unknown.
    pub cpu: Option<WorkerSample>,
    /// Whether its connections lead to this machine; `None` without one.
    pub co_located: Option<bool>,
    /// Origins that TLS sessions were opened with; only in the last interval.
    pub secure_origins: Vec<Arc<Origin>>,
    /// Servers that its sampled responses came from for the first time, in the order of their numbers.
    pub new_servers: Vec<String>,
    /// The beginnings of some bodies of its sampled responses; only in the last interval.
    pub copies: Vec<BodyCopy>,
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
pub struct IntervalCollector {
    head: Arc<Head>,
    control: Control,
    journal: Option<Box<dyn Journal>>,
    events: Vec<SyncSender<Event>>,
    observer: Option<Box<dyn Observer>>,
    /// Batches of the observer that listeners were sent.
    batches: u64,
    metrics: Option<Box<dyn MetricSource>>,
    endpoints: Arc<Registry>,
    builder: RunBuilder,
    pending: BTreeMap<u64, Pending>,
    /// Number of intervals that each worker has reported.
    reported: Vec<u64>,
    /// Whether each worker has ended.
    ended: Vec<bool>,
    connections: Vec<u64>,
    /// Origins that TLS sessions were opened with, as far as workers have ended.
    secure_origins: Vec<Arc<Origin>>,
    /// How sampled responses looked.
    looks: CollectedLooks,
    from: Nanos,
    intervals: u64,
    stopping: bool,
    /// Published intervals. Their memory is reused once no listener holds them: allocated here and freed by another
    /// thread every second, it would fragment the heap more and more.
    published: VecDeque<Arc<Interval>>,
}

impl IntervalCollector {
    /// A run without intervals, of this number of workers.
    pub fn new(
        head: Head,
        control: &Control,
        listeners: Listeners,
        workers: usize,
        endpoints: Arc<Registry>,
    ) -> Self {
        Self {
            builder: RunBuilder::new(head.clone()),
            head: Arc::new(head),
            control: control.clone(),
            journal: listeners.journal,
            events: listeners.events,
            observer: listeners.observer,
            batches: 0,
            metrics: listeners.metrics,
            endpoints,
            pending: BTreeMap::new(),
            reported: vec![0; workers],
            ended: vec![false; workers],
            connections: vec![0; workers],
            secure_origins: Vec::new(),
            looks: CollectedLooks::new(workers),
            from: Nanos::ZERO,
            intervals: 0,
            stopping: false,
            published: VecDeque::new(),
        }
    }

    /// The load begins, at `started` by the wall clock.
    pub fn begin(&mut self, started: Nanos) {
        self.send_event(&Event::Started(self.head.clone()));
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.begin(started)
        {
            self.lose_journal(&error);
        }
        self.note(Nanos::ZERO);
    }

    /// The load has begun: `clock` reads the time since then.
    pub fn observe_from(&mut self, clock: MonotonicClock) {
        if let Some(observer) = &mut self.observer {
            observer.begin(clock);
        }
    }

    /// Whether all workers have ended and everything that they reported is published.
    pub fn is_done(&self) -> bool {
        self.ended.iter().all(|ended| *ended) && self.pending.is_empty()
    }

    /// Whether the run was asked to end at once.
    pub fn is_aborted(&self) -> bool {
        self.control.request() == Request::Abort
    }

    /// Goes on without the workers that have not ended: what they did since their last interval is missing.
    pub fn give_up(&mut self) {
        let stuck = self.ended.iter().filter(|ended| !**ended).count();
        let text = format!(
            "{stuck} of {} workers did not answer and were given up; their last requests are missing",
            self.ended.len()
        );
        self.ended.fill(true);
        self.control.note(&text);
        self.send_event(&Event::Warning(text));
    }

    /// Adds one worker's share to its interval. Returns the share, cleared, so that its memory can be used again.
    pub fn take(&mut self, worker: usize, interval: WorkerInterval) -> Share {
        let WorkerInterval { report, connections_open, loop_lag, cpu, co_located, .. } = interval;
        let WorkerInterval { secure_origins, new_servers, copies, .. } = interval;
        self.secure_origins.extend(secure_origins);
        if let Some(at) = report.stopped.filter(|_| !self.stopping) {
            self.stopping = true;
            self.builder.stop(at);
            self.send_event(&Event::Stopping { interrupted: true });
        }
        let published = &mut self.published;
        let cpus = vec![None; self.ended.len()];
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
        self.connections[worker] = connections_open;
        self.reported[worker] = report.index + 1;
        self.ended[worker] |= report.last;
        self.looks.add(worker, new_servers, &share.sampled);
        self.looks.keep(worker, copies);
        share.clear();
        share
    }

    /// Publishes all complete intervals in order. `sample` gets the end of an interval and the number of open
    /// connections, and returns what this machine reports about itself and about the collector's thread.
    pub fn publish_whole(&mut self, mut sample: impl FnMut(Nanos, u64) -> GeneratorSample) {
        while let Some(first) = self.pending.first_entry() {
            let index = *first.key();
            let by_worker = self.reported.iter().zip(&self.ended);
            let ended = by_worker.filter(|(reported, ended)| **ended && **reported <= index).count();
            if first.get().reported + ended < self.ended.len() {
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
            let sampled = sample(interval.to, interval.connections_open);
            interval.generator = GeneratorSample { loop_lag, workers, co_located, ..sampled };
            self.publish(interval);
        }
    }

    fn publish(&mut self, interval: Interval) {
        self.count(interval.to, false);
        self.intervals += 1;
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.interval(&interval)
        {
            self.lose_journal(&error);
        }
        self.note(interval.to);
        if let Some(batch) = self.observer.as_mut().map(|observer| observer.take()) {
            self.observed(&batch);
        }
        self.builder.add(&interval);
        let interval = Arc::new(interval);
        self.send_event(&Event::Interval(interval.clone()));
        self.published.push_back(interval);
        if self.published.len() > PUBLISHED_MAX {
            self.published.pop_front();
        }
    }

    /// Takes what scripts counted, and writes it down.
    fn count(&mut self, at: Nanos, last: bool) {
        let Some(metrics) = self.metrics.as_mut().map(|source| source.take(at, last)) else { return };
        self.builder.count(&metrics);
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.metrics(metrics)
        {
            self.lose_journal(&error);
        }
    }

    /// Writes down what observers read.
    fn observed(&mut self, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        self.builder.observe(batch);
        self.pass_on(batch);
    }

    /// Sends what observers read to the listeners, and writes it into the journal.
    fn pass_on(&mut self, batch: &Batch) {
        if !self.events.is_empty() {
            self.send_event(&Event::Observed { batch: Arc::new(batch.clone()), number: self.batches });
            self.batches += 1;
        }
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.observations(batch)
        {
            self.lose_journal(&error);
        }
    }

    /// Writes down what was noted and changed until `at`.
    fn note(&mut self, at: Nanos) {
        for amendment in self.control.steering().take_unwritten() {
            self.builder.amend(amendment);
            if let Some(journal) = &mut self.journal
                && let Err(error) = journal.amendment(&amendment)
            {
                self.lose_journal(&error);
            }
        }
        if let Some((low, high)) = self.control.take_late()
            && let Some(journal) = &mut self.journal
            && let Err(error) = journal.lateness(&Lateness { at, low, high })
        {
            self.lose_journal(&error);
        }
        for text in self.control.take_notes() {
            if let Some(journal) = &mut self.journal
                && let Err(error) = journal.note(&Note { at, text })
            {
                self.lose_journal(&error);
            }
        }
    }

    fn lose_journal(&mut self, error: &io::Error) {
        self.journal = None;
        self.send_event(&Event::Warning(format!("the record is incomplete: {error}")));
    }

    /// Origins that a completed run opened TLS sessions with, each once. Empty if the run was stopped.
    pub fn secure_origins(&mut self) -> Vec<Arc<Origin>> {
        if self.control.request() != Request::Run {
            return Vec::new();
        }
        self.secure_origins.sort_unstable();
        self.secure_origins.dedup();
        std::mem::take(&mut self.secure_origins)
    }

    /// Servers of this run offer HTTP/2.
    pub fn offered_http2(&mut self, offer: Http2Offer) {
        self.builder.offered_http2(offer);
    }

    /// Writes the end of the run, and returns the run.
    pub fn finish(mut self) -> Run {
        let ending = match self.control.request() {
            Request::Run => Ending::Completed,
            Request::Stop => Ending::Interrupted,
            Request::Abort => Ending::Aborted,
        };
        self.note(self.from);
        self.count(self.from, true);
        if let Some(batch) = self.observer.as_mut().map(|observer| observer.end()) {
            self.observed(&batch);
        }
        let mut builder = std::mem::replace(&mut self.builder, RunBuilder::new((*self.head).clone()));
        builder.sample(std::mem::take(&mut self.looks).finish());
        let mut run = builder.end(ending.clone());
        self.ask(&mut run);
        let (validity, sampled) = (run.validity.clone(), run.sampled.clone());
        let tail = Tail { ending, stopped: run.stopped, validity, intervals: self.intervals, sampled };
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.tail(&tail)
        {
            self.lose_journal(&error);
        }
        self.send_event(&Event::Ended);
        run
    }

    /// Lets observers ask about the whole run, unless it was asked to end at once.
    fn ask(&mut self, run: &mut Run) {
        let aborted = self.is_aborted();
        let Some(mut observer) = self.observer.take().filter(|_| !aborted) else { return };
        let batch = observer.ask(run);
        if !batch.is_empty() {
            run.observations.include(&batch);
            self.pass_on(&batch);
        }
    }

    fn send_event(&self, event: &Event) {
        for listener in &self.events {
            // A screen whose channel is full or closed misses this; the run does not wait for it.
            let _ = listener.try_send(event.clone());
        }
    }
}
