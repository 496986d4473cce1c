//! All sources of a run: starts their threads, collects what they report, turns it into batches on the run's clock.
//!
//! Reads nothing itself. Waits only in [`Observers::start`] and at the end, both for a bounded time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::observation::{
    Batch, Encoder, ObservationBuilder, Observations, Observer, PLANNED_INDEXES, PlannedIndex, Proposal,
    Source, SourceState,
};
use knee_core::record::Run;
use knee_core::unit::Nanos;

use crate::figures::Figures;
use crate::host::Host;
use crate::nginx::Nginx;
use crate::pgbouncer::PgBouncer;
use crate::plans;
use crate::postgres::Postgres;
use crate::process::Process;
use crate::profile::Profile;
use crate::prometheus::Prometheus;
use crate::proposals;
use crate::redis::Redis;
use crate::sampler::{About, Sampler};
use crate::sqlite::Sqlite;
use crate::target::Target;
use crate::watch::{Report, Watch};

/// How long the start waits until every source was read or refused: two seconds to connect, and one to read.
const START_WITHIN: Nanos = Nanos::from_secs(3);

/// How long the end waits for the last readings.
const END_WITHIN: Nanos = Nanos::from_secs(3);

/// Most reports that wait to be taken; further ones are lost.
const REPORTS_MAX: usize = 1_024;

/// Most gaps of a source that are reported one by one.
const GAPS_MAX: usize = 3;

/// What is known of a source's connection.
#[derive(Debug, Default)]
struct Connection {
    /// Whether it was ever read or refused.
    tried: bool,
    /// Since when it cannot be read, and why.
    unreadable: Option<(Nanos, String)>,
    /// Whether it was ever read.
    read: bool,
    /// When it could not be read, in words.
    gaps: Vec<String>,
    ended: bool,
}

/// Watches sources beside a run.
pub struct Observers {
    clock: MonotonicClock,
    /// When the run began, on `clock`.
    began: Option<Nanos>,
    encoder: Encoder,
    connections: Vec<Connection>,
    /// What each connection leads to.
    targets: Vec<Target>,
    /// The indexes that a run needs, if servers are asked about them.
    proposals: Option<fn(&Run) -> Vec<Proposal>>,
    reports: Receiver<(u32, Report)>,
    /// Dropping them stops the threads.
    stops: Vec<Sender<()>>,
}

impl Observers {
    /// Starts a thread for each target, and waits at most three seconds until each was read once or refused. Targets
    /// that are named twice are watched once. `planned` is the length of the run, as far as its plan bounds it: servers
    /// are looked at ten times per second in a short one, and down to twice in a long one.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(targets: &[Target], interval: Nanos, planned: Option<Nanos>) -> std::io::Result<Self> {
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let mut observers = Self {
            clock: MonotonicClock::start(),
            began: None,
            encoder: Encoder::default(),
            connections: Vec::new(),
            targets: Vec::new(),
            proposals: None,
            reports,
            stops: Vec::new(),
        };
        for (place, target) in targets.iter().enumerate() {
            if targets[..place].contains(target) {
                continue;
            }
            let source = Source {
                name: target.name(),
                kind: target.kind(),
                version: None,
                state: SourceState::Refused { reason: "it did not answer before the run began".to_owned() },
                without: Vec::new(),
                left_out: 0,
            };
            // There is room for more sources than a user names.
            let Some(index) = observers.encoder.add_source(source) else { break };
            let (stop, stopped) = channel();
            let watch = Watch {
                sampler: sampler(target, targets, observers.clock, interval),
                clock: observers.clock,
                interval,
                planned,
                secrets: target.secrets(),
                reports: sender.clone(),
                index,
                stop: stopped,
            };
            thread::Builder::new().name(format!("knee-observe-{index}")).spawn(move || watch.run())?;
            observers.stops.push(stop);
            observers.connections.push(Connection::default());
            observers.targets.push(target.clone());
        }
        observers.wait(START_WITHIN, |connection| connection.tried);
        Ok(observers)
    }

    /// After the run, servers are asked about the indexes that `proposals` makes of it, if they have HypoPG.
    #[must_use]
    pub fn with_proposals(mut self, proposals: fn(&Run) -> Vec<Proposal>) -> Self {
        self.proposals = Some(proposals);
        self
    }

    /// The sources that cannot be read by now, each with the reason: for a line before the run.
    pub fn refused(&self) -> Vec<(String, String)> {
        let sources = self.encoder.sources().iter();
        let refused = sources.filter_map(|source| match &source.state {
            SourceState::Refused { reason } | SourceState::Lost { reason, .. } => {
                Some((source.name.clone(), reason.clone()))
            }
            SourceState::Read => None,
        });
        refused.collect()
    }

    /// Stops, and returns what was observed since the last batch; everything if no batch was taken.
    pub fn stop(mut self) -> Observations {
        let mut builder = ObservationBuilder::default();
        builder.add(&self.end());
        builder.finish()
    }

    /// Takes reports until `done` is true of all sources, or the time is over.
    fn wait(&mut self, within: Nanos, done: fn(&Connection) -> bool) {
        let until = self.clock.now().saturating_add(within);
        while !self.connections.iter().all(done) {
            let left = until.since(self.clock.now());
            if left == Nanos::ZERO {
                return;
            }
            match self.reports.recv_timeout(Duration::from(left)) {
                Ok((index, report)) => self.include(index, report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn include(&mut self, index: u32, report: Report) {
        let Some(connection) = self.connections.get_mut(index as usize) else { return };
        match report {
            Report::Ended => {
                connection.ended = true;
                connection.tried = true;
            }
            Report::Unreadable(at, reason) => {
                connection.tried = true;
                let (since, _) = connection.unreadable.get_or_insert((at, reason.clone()));
                let at = on_the_run(self.began, *since);
                let read = connection.read;
                self.encoder.change_source(index, |source| {
                    source.state =
                        if read { SourceState::Lost { at, reason } } else { SourceState::Refused { reason } };
                });
            }
            Report::Read(at, figures, about) => {
                connection.tried = true;
                if let Some((since, reason)) = connection.unreadable.take() {
                    let since = on_the_run(self.began, since).as_secs_f64();
                    let until = on_the_run(self.began, at).as_secs_f64();
                    if connection.gaps.len() < GAPS_MAX {
                        connection.gaps.push(format!("not read from {since:.1} s to {until:.1} s: {reason}"));
                    }
                }
                connection.read = true;
                let gaps = connection.gaps.clone();
                self.encoder.change_source(index, |source| describe(source, about, gaps));
                self.encode(index, at, *figures);
            }
        }
    }

    fn encode(&mut self, index: u32, at: Nanos, figures: Figures) {
        for (earlier, figures) in figures.earlier {
            self.encoder.add(index, on_the_run(self.began, earlier), figures);
        }
        self.encoder.add(index, on_the_run(self.began, at), figures.now);
        for (name, label, text) in figures.texts {
            self.encoder.add_text(index, name, &label, &text);
        }
    }
}

impl Observer for Observers {
    fn begin(&mut self, clock: MonotonicClock) {
        // What waits was read before the load.
        while let Ok((index, report)) = self.reports.try_recv() {
            self.include(index, report);
        }
        self.began = Some(self.clock.now().since(clock.now()));
    }

    fn take(&mut self) -> Batch {
        // Without a run, times are since the start of the observers.
        self.began.get_or_insert(Nanos::ZERO);
        while let Ok((index, report)) = self.reports.try_recv() {
            self.include(index, report);
        }
        self.encoder.take()
    }

    fn end(&mut self) -> Batch {
        self.began.get_or_insert(Nanos::ZERO);
        self.stops.clear();
        self.wait(END_WITHIN, |connection| connection.ended);
        let now = on_the_run(self.began, self.clock.now());
        for (index, connection) in self.connections.iter().enumerate().filter(|(_, one)| !one.ended) {
            let read = connection.read;
            self.encoder.change_source(index as u32, |source| {
                let reason = "it did not answer at the end of the run".to_owned();
                source.state = if read {
                    SourceState::Lost { at: now, reason }
                } else {
                    SourceState::Refused { reason }
                };
            });
        }
        self.encoder.end()
    }

    fn ask(&mut self, run: &Run) -> Batch {
        let mut wanted = self.proposals.map_or_else(Vec::new, |proposals| proposals(run));
        let sources = self.encoder.sources();
        wanted.retain(|proposal| {
            sources.get(proposal.source).is_some_and(|source| source.state == SourceState::Read)
        });
        for (index, learned) in proposals::ask(&self.targets, &wanted, self.clock) {
            for (statement, planned) in &learned.planned {
                self.encoder.add_text(index, PLANNED_INDEXES, statement, &PlannedIndex::text(planned));
            }
            self.encoder.change_source(index, |source| source.without.extend(learned.without));
        }
        let planned = plans::ask(&self.targets, &run.observations, self.clock);
        for (page, statement, plan) in &planned.plans {
            self.encoder.add_text(*page, "statement.plan", statement, plan);
        }
        for (index, words) in planned.without {
            self.encoder.change_source(index, |source| source.without.push(words));
        }
        self.encoder.take()
    }
}

/// A time of the observers' clock on that of the run; zero before its begin.
fn on_the_run(began: Option<Nanos>, at: Nanos) -> Nanos {
    began.map_or(Nanos::ZERO, |began| at.since(began))
}

fn describe(source: &mut Source, about: About, gaps: Vec<String>) {
    let About { name, version, mut without, left_out } = about;
    without.extend(gaps);
    if let Some(name) = name {
        source.name = name;
    }
    source.version = version.or_else(|| source.version.take());
    source.state = SourceState::Read;
    source.without = without;
    source.left_out = source.left_out.max(left_out);
}

/// What reads a target, one of these.
fn sampler(target: &Target, targets: &[Target], clock: MonotonicClock, interval: Nanos) -> Box<dyn Sampler> {
    match target {
        Target::Host => Box::new(Host::new(processes(targets), clock, interval)),
        Target::Process(pid) => Box::new(Process::new(*pid)),
        Target::Profile(pid) => Box::new(Profile::new(*pid)),
        Target::Postgres(url) => Box::new(Postgres::new(url, clock, interval)),
        Target::Redis(url) => Box::new(Redis::new(url)),
        Target::Prometheus(url) => Box::new(Prometheus::new(url)),
        Target::Sqlite(path) => Box::new(Sqlite::new(path)),
        Target::PgBouncer(url) => Box::new(PgBouncer::new(url)),
        Target::Nginx(url) => Box::new(Nginx::new(url)),
    }
}

/// The processes among the targets.
fn processes(targets: &[Target]) -> Vec<u32> {
    let process = |target: &Target| match target {
        Target::Process(pid) | Target::Profile(pid) => Some(*pid),
        _ => None,
    };
    targets.iter().filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Nanos = Nanos::from_millis(20);

    #[test]
    fn a_source_that_is_refused_is_reported_and_the_others_are_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let own = std::process::id();
        let targets: Vec<Target> = [
            "host".to_owned(),
            format!("pid:{own}"),
            format!("redis://:hunter2@127.0.0.1:{port}"),
            format!("postgres://u:hunter2@127.0.0.1:{port}/x"),
            format!("prometheus:http://127.0.0.1:{port}/metrics"),
            "host".to_owned(),
        ]
        .iter()
        .map(|text| Target::parse(text).unwrap())
        .collect();
        let observers = Observers::start(&targets, PACE, None).unwrap();
        assert_eq!(observers.refused().len(), 3);
        let seen = observers.stop();
        assert_eq!(seen.sources.len(), 5, "one that is named twice is watched once");
        for source in &seen.sources[2..] {
            let SourceState::Refused { reason } = &source.state else { panic!("{source:?}") };
            assert!(!reason.is_empty() && !reason.contains("hunter2"), "{reason}");
        }
        assert!(
            seen.sources[..2].iter().all(|source| source.state == SourceState::Read),
            "{:?}",
            seen.sources
        );
        assert!(seen.series(0, "host.cpus", "").is_some());
        assert!(seen.series(1, "process.count", "").is_some());
    }

    #[test]
    fn a_page_that_drips_is_given_up_at_its_limit_and_the_other_sources_are_read() {
        let url = crate::http::tests::drip(Duration::from_secs(1));
        let targets = [Target::parse(&format!("prometheus:{url}")).unwrap(), Target::Host];
        let clock = MonotonicClock::start();
        let observers = Observers::start(&targets, PACE, None).unwrap();
        let refused = observers.refused();
        assert!(refused.len() == 1 && refused[0].1.contains("the page breaks off"), "{refused:?}");
        let seen = observers.stop();
        assert!(
            clock.now() < Nanos::from_secs(8),
            "a page has 2 s, and the end waits for one: {}",
            clock.now()
        );
        assert!(matches!(seen.sources[0].state, SourceState::Refused { .. }), "{:?}", seen.sources);
        assert_eq!(seen.sources[1].state, SourceState::Read);
        assert!(!seen.series(1, "host.runnable", "").unwrap().points.is_empty());
    }

    #[test]
    fn readings_before_the_load_are_at_its_beginning() {
        let mut observers = Observers::start(&[Target::Host], PACE, None).unwrap();
        observers.begin(MonotonicClock::start());
        let mut builder = ObservationBuilder::default();
        builder.add(&observers.take());
        builder.add(&observers.end());
        let seen = builder.finish();
        let points = &seen.series(0, "host.cpus", "").unwrap().points;
        assert_eq!(points[0].0, Nanos::ZERO);
        assert!(points.len() >= 2 && points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
