//! Resources that service, stores and generator use while a trial is measured: CPU time, memory, work of databases.
//!
//! Creating ten thousand users, warming up and waiting for the last responses also use CPU time, which is not part of
//! the cost of a request. So resources are sampled several times per second, and only samples within the measured
//! window count. Does not divide by requests.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::host;
use knee_fixture::{Activity, ActivityProbe, Executions, StatementId, StatementProbe, StatementText};

use crate::process::Snapshot;

/// Interval of the samples. One sample reads a line and a clock for each process of the machine, which takes about a
/// millisecond of CPU time.
const PERIOD: Duration = Duration::from_millis(200);

/// Every third sample asks the databases. An answer takes some milliseconds of CPU time, and their own figures change
/// about once a second.
const ASKED_EVERY: usize = 3;

/// CPU time of the parts: service, stores, generator. `None` where it is unknown.
pub type Parts = [Option<Nanos>; 3];

/// What each part had used at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The moment, on the clock of the watch.
    at: Nanos,
    used: Parts,
    /// Memory of the service in bytes; `None` where it is unknown.
    memory: Option<u64>,
}

/// What is watched.
pub struct Watched {
    /// Processes of the service, whose descendants count too.
    pub service: Vec<u32>,
    /// Processes of the stores.
    pub stores: Vec<u32>,
    /// How the databases are asked.
    pub probes: Probes,
}

/// How databases are asked for what they did; `None` if the study does not want to know it.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// For the work of all statements.
    pub activity: Option<ActivityProbe>,
    /// For each statement.
    pub statements: Option<StatementProbe>,
}

/// Samples on its own thread until it is ended.
pub struct Watch {
    clock: MonotonicClock,
    end: Sender<()>,
    looks: JoinHandle<Looks>,
}

/// The samples of a watch, in order.
#[derive(Clone, Debug, Default)]
struct Looks {
    samples: Vec<Sample>,
    /// The work of the databases until a moment.
    activities: Vec<(Nanos, Activity)>,
    /// The executions of each statement until a moment.
    executions: Vec<(Nanos, BTreeMap<StatementId, Executions>)>,
    /// The statements, after the last look.
    texts: Vec<StatementText>,
}

impl Watch {
    /// Starts to sample the processes of service and stores, and this one.
    pub fn start(watched: Watched) -> Self {
        let clock = MonotonicClock::start();
        let (end, ended) = mpsc::channel();
        let mut looks = Looks::default();
        looks.look(clock, &watched);
        let looks = thread::spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                looks.look(clock, &watched);
            }
            looks.look(clock, &watched);
            looks.texts =
                watched.probes.statements.as_ref().and_then(StatementProbe::texts).unwrap_or_default();
            looks
        });
        Self { clock, end, looks }
    }

    /// Ends, and returns its samples, on the clock of `run`.
    pub fn end(self, run: Option<MonotonicClock>) -> Observed {
        let began = run.map(|run| {
            let run = run.now();
            Nanos(self.clock.now().as_nanos().saturating_sub(run.as_nanos()))
        });
        drop(self.end);
        Observed { looks: self.looks.join().unwrap_or_default(), began }
    }
}

impl Looks {
    fn look(&mut self, clock: MonotonicClock, watched: &Watched) {
        let snapshot = Snapshot::now();
        let used = [snapshot.cpu(&watched.service), snapshot.cpu(&watched.stores), Some(host::cpu_time())];
        self.samples.push(Sample { at: clock.now(), used, memory: snapshot.memory(&watched.service) });
        if !(self.samples.len() - 1).is_multiple_of(ASKED_EVERY) {
            return;
        }
        let Probes { activity, statements } = &watched.probes;
        if let Some(activity) = activity.as_ref().and_then(ActivityProbe::read) {
            self.activities.push((clock.now(), activity));
        }
        if let Some(executions) = statements.as_ref().and_then(StatementProbe::read) {
            self.executions.push((clock.now(), executions));
        }
    }
}

/// The samples of a watch, and when the run began.
#[derive(Clone, Debug)]
pub struct Observed {
    looks: Looks,
    /// When the run's clock read zero, if it ever did.
    began: Option<Nanos>,
}

impl Observed {
    /// CPU time spent between two moments on the run's clock, computed from the samples between them; `None` if these
    /// span less than half of the time.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<Parts> {
        let began = self.began?;
        let inside = |look: &&Sample| (began + from..=began + to).contains(&look.at);
        let first = self.looks.samples.iter().find(inside)?;
        let last = self.looks.samples.iter().rfind(inside)?;
        let scale = scale(last.at.since(first.at), to.since(from))?;
        Some(difference(first, last).map(|cpu| Some(Nanos((cpu?.as_nanos() as f64 * scale) as u64))))
    }

    /// The work of the databases between two moments on the run's clock, in the same way.
    pub fn activity(&self, from: Nanos, to: Nanos) -> Option<Activity> {
        let began = self.began?;
        let inside = |(at, _): &&(Nanos, Activity)| (began + from..=began + to).contains(at);
        let (first, before) = self.looks.activities.iter().find(inside)?;
        let (last, after) = self.looks.activities.iter().rfind(inside)?;
        let scale = scale(last.since(*first), to.since(from))?;
        let scaled = |after: u64, before: u64| (after.saturating_sub(before) as f64 * scale) as u64;
        Some(Activity {
            blocks: scaled(after.blocks, before.blocks),
            wal_bytes: scaled(after.wal_bytes, before.wal_bytes),
        })
    }

    /// What the databases executed between two moments on the run's clock: that between the first and the last look
    /// inside, with the share of the time that these span; `None` if that is less than half.
    pub fn executed(&self, from: Nanos, to: Nanos) -> Option<Executed<'_>> {
        let began = self.began?;
        let inside =
            |(at, _): &&(Nanos, BTreeMap<StatementId, Executions>)| (began + from..=began + to).contains(at);
        let (first, before) = self.looks.executions.iter().find(inside)?;
        let (last, after) = self.looks.executions.iter().rfind(inside)?;
        let share = scale(last.since(*first), to.since(from))?.recip();
        let statements = self.looks.texts.iter().filter_map(|known| {
            let after = *after.get(&known.id)?;
            let before = before.get(&known.id).copied().unwrap_or_default();
            // A server that has forgotten a statement counts it from zero again.
            let before = if before.calls > after.calls { Executions::default() } else { before };
            let calls = after.calls - before.calls;
            Some((known, Executions { calls, time: after.time.since(before.time) }))
        });
        Some(Executed { statements: statements.collect(), share })
    }

    /// The highest memory use of the service, in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.looks.samples.iter().filter_map(|sample| sample.memory).max()
    }

    /// CPU time spent from the first sample to the last.
    pub fn whole(&self) -> Parts {
        match (self.looks.samples.first(), self.looks.samples.last()) {
            (Some(first), Some(last)) => difference(first, last),
            _ => Parts::default(),
        }
    }
}

/// What databases executed for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed<'a> {
    /// Every statement that the servers knew in the end, with its executions meanwhile.
    pub statements: Vec<(&'a StatementText, Executions)>,
    /// The while, as a share of the time that was asked for, 0.5 to 1.
    pub share: f64,
}

/// How many times as long `whole` is as the part that was `seen`; `None` if that is less than half.
fn scale(seen: Nanos, whole: Nanos) -> Option<f64> {
    let (seen, whole) = (seen.as_nanos(), whole.as_nanos());
    (seen > 0 && seen * 2 >= whole).then(|| whole as f64 / seen as f64)
}

fn difference(first: &Sample, last: &Sample) -> Parts {
    std::array::from_fn(|part| Some(last.used[part]?.since(first.used[part]?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten looks a second; the service uses 2 s a second for a second, then half of that, the generator 1 s in the
    /// first second only. The run began after a second.
    fn observed() -> Observed {
        let looks = (0..=40_u64).map(|tenth| {
            let at = Nanos::from_millis(tenth * 100);
            let service = Nanos::from_millis(tenth.min(10) * 200 + tenth.saturating_sub(10) * 100);
            let generator = Nanos::from_millis(tenth.min(10) * 100);
            // It needs most in the middle.
            let memory = Some(1_000 - tenth.abs_diff(20));
            Sample { at, used: [Some(service), None, Some(generator)], memory }
        });
        let activity = |second: u64| Activity { blocks: 300 * second, wal_bytes: 7_000 * second };
        let activities = (0..=4).map(|second| (Nanos::from_secs(second), activity(second)));
        let looks = Looks { samples: looks.collect(), activities: activities.collect(), ..Looks::default() };
        Observed { looks, began: Some(Nanos::from_secs(1)) }
    }

    #[test]
    fn what_was_spent_before_the_window_is_not_counted() {
        let [service, stores, generator] =
            observed().between(Nanos::from_secs(1), Nanos::from_secs(3)).unwrap();
        assert_eq!((service, stores), (Some(Nanos::from_secs(2)), None));
        assert_eq!(generator, Some(Nanos::ZERO), "users were made before the run began");
        assert_eq!(observed().whole()[2], Some(Nanos::from_secs(1)));
    }

    #[test]
    fn memory_is_the_highest_of_the_trial_and_not_that_at_its_end() {
        assert_eq!(observed().memory(), Some(1_000));
        let service = vec![std::process::id()];
        let watch = Watch::start(Watched { service, stores: Vec::new(), probes: Probes::default() });
        assert!(!cfg!(target_os = "linux") || watch.end(None).memory() > Some(0));
    }

    #[test]
    fn work_of_databases_is_that_of_the_window() {
        let window =
            |from: u64, to: u64| observed().activity(Nanos::from_millis(from), Nanos::from_millis(to));
        assert_eq!(window(1_000, 3_000), Some(Activity { blocks: 600, wal_bytes: 14_000 }));
        assert_eq!(window(500, 3_500).map(|activity| activity.blocks), Some(900), "the edges are drawn out");
        assert_eq!(window(100, 900), None);
    }

    #[test]
    fn executions_are_those_between_the_looks_within_the_window() {
        let id = |query| StatementId { server: 0, query };
        let executions = |calls: u64| Executions { calls, time: Nanos::from_millis(2 * calls) };
        let mut observed = observed();
        observed.looks.executions = (0..=4_u64)
            .map(|second| {
                // 1 grows, 2 begins in the window, and the server forgets 3.
                let mut known = BTreeMap::from([(id(1), executions(10 * second))]);
                if second >= 3 {
                    known.insert(id(2), executions(second));
                }
                known.insert(id(3), executions(if second < 4 { 100 + second } else { 5 }));
                (Nanos::from_secs(second), known)
            })
            .collect();
        let text = |query: i64| StatementText {
            id: id(query),
            store: "db".to_owned(),
            text: format!("select {query}"),
        };
        observed.looks.texts = (1..=4).map(text).collect();
        let window = observed.executed(Nanos::from_millis(500), Nanos::from_millis(3_500)).unwrap();
        assert!(
            (window.share - 2.0 / 3.0).abs() < 1e-9,
            "looks at 2, 3 and 4 s, of 1.5 to 4.5 s: {window:?}"
        );
        let found: Vec<_> = window.statements.iter().map(|(known, work)| (known.id.query, *work)).collect();
        assert_eq!(found, [(1, executions(20)), (2, executions(4)), (3, executions(5))]);
        assert!(observed.executed(Nanos::from_millis(100), Nanos::from_millis(900)).is_none());
    }

    #[test]
    fn edges_between_looks_are_drawn_out() {
        let window = (Nanos::from_millis(1_050), Nanos::from_millis(2_050));
        assert_eq!(observed().between(window.0, window.1).unwrap()[0], Some(Nanos::from_secs(1)));
    }

    #[test]
    fn too_few_looks_tell_nothing() {
        assert!(observed().between(Nanos::from_millis(1_010), Nanos::from_millis(1_290)).is_none());
        assert!(observed().between(Nanos::from_secs(2), Nanos::from_secs(9)).is_none());
        assert!(Observed { began: None, ..observed() }.between(Nanos::ZERO, Nanos::from_secs(2)).is_none());
    }

    #[test]
    fn a_watch_sees_this_process_work() {
        let watch =
            Watch::start(Watched { service: Vec::new(), stores: Vec::new(), probes: Probes::default() });
        let worked = host::cpu_time();
        while host::cpu_time().since(worked) < Nanos::from_millis(20) {}
        let observed = watch.end(Some(MonotonicClock::start()));
        let [service, _, generator] = observed.whole();
        assert!(
            service.is_none() && generator.is_some_and(|cpu| cpu >= Nanos::from_millis(20)),
            "{observed:?}"
        );
    }
}
