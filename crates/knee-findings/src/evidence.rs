//! What the rules look at: a run, what observers saw beside it, and the figures of both that many rules need.
//!
//! Calculates, and judges nothing. Times are in seconds here, because observers report seconds.

use knee_core::histogram::Histogram;
use knee_core::metric::{Key, Sink};
use knee_core::observation::{Observations, SourceKind, SourceState};
use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;
use knee_core::record::{Point, Run};
use knee_core::sampled::Sampled;
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

use crate::lack::Lack;
use crate::watched::{Index, Rise, Watched};

/// The metric of scripts that counts sockets.
const SOCKETS: &str = "ws_sessions";
/// An interval counts as whole from this share of the planned width on.
const WHOLE: f64 = 0.9;

/// The evidence about one run.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The run.
    pub run: &'a Run,
    /// What observers saw beside it; empty if nothing was observed.
    pub observations: &'a Observations,
    all: EndpointTally,
    index: Index<'a>,
}

impl<'a> Evidence<'a> {
    /// The evidence about `run`. Merges its histograms once, for all rules.
    pub fn of(run: &'a Run, observations: &'a Observations) -> Self {
        Self { run, observations, all: run.measured.all(), index: Index::of(observations) }
    }

    /// All endpoints together.
    pub(crate) fn all(&self) -> &EndpointTally {
        &self.all
    }

    /// Begin and end of the measured time.
    pub(crate) fn window(&self) -> (Nanos, Nanos) {
        let from = self.run.head.measured_from;
        (from, from.saturating_add(self.run.window()))
    }

    /// Its length in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.run.window().as_secs_f64()
    }

    /// Measured requests with a complete response, of any status.
    pub(crate) fn answered(&self) -> u64 {
        self.all.count(Outcome::Ok).saturating_add(self.all.count(Outcome::HttpError))
    }

    /// Mean bytes received per complete response; `None` without one.
    pub(crate) fn bytes_per_response(&self) -> Option<f64> {
        let answered = self.answered();
        (answered > 0).then(|| self.all.bytes_received as f64 / answered as f64)
    }

    /// Complete responses per second of the measured time; `None` if it has no length.
    pub(crate) fn throughput(&self) -> Option<f64> {
        let (from, to) = self.window();
        let seconds = self.seconds();
        (seconds > 0.0).then(|| self.answered_within(from, to) / seconds)
    }

    /// Complete responses between two moments, by the intervals of the run; warm-up included.
    pub(crate) fn answered_within(&self, from: Nanos, to: Nanos) -> f64 {
        self.counted_within(from, to, answered)
    }

    /// What `count` counts between two moments, by the intervals of the run; warm-up included.
    pub(crate) fn counted_within(&self, from: Nanos, to: Nanos, count: impl Fn(&Point) -> u64) -> f64 {
        let part = |point: &Point| {
            let width = point.to.since(point.from).as_secs_f64();
            let common = point.to.min(to).since(point.from.max(from)).as_secs_f64();
            if width > 0.0 { count(point) as f64 * common / width } else { 0.0 }
        };
        self.run.series.iter().map(part).sum()
    }

    /// How much a counter rose per complete response of the same time; `None` without a response.
    pub(crate) fn per_request(&self, rise: Rise) -> Option<f64> {
        let requests = self.answered_within(rise.from, rise.to);
        (requests >= 1.0).then(|| rise.amount / requests)
    }

    /// Mean response time of complete responses, in seconds.
    pub(crate) fn response_mean(&self) -> Option<f64> {
        mean_of(
            [Outcome::Ok, Outcome::HttpError].map(|outcome| &self.all.outcomes[outcome as usize].response),
        )
    }

    /// Mean service time of complete responses, in seconds.
    pub(crate) fn service_mean(&self) -> Option<f64> {
        mean_of([Outcome::Ok, Outcome::HttpError].map(|outcome| &self.all.outcomes[outcome as usize].service))
    }

    /// The times of one phase.
    pub(crate) fn phase(&self, phase: Phase) -> &Histogram {
        &self.all.phases[phase as usize]
    }

    /// The shortest time in which a TCP connection opened, in seconds: about a round trip. `None` if none was opened.
    pub(crate) fn round_trip(&self) -> Option<f64> {
        let tallies = [&self.run.warm_up, &self.run.measured].into_iter().flat_map(|tally| &tally.endpoints);
        let shortest = tallies.filter_map(|tally| tally.phases[Phase::Connect as usize].min()).min();
        shortest.map(Nanos::as_secs_f64)
    }

    /// How sampled responses looked.
    ///
    /// # Errors
    /// The record has none.
    pub(crate) fn sampled(&self) -> Result<&'a Sampled, Lack> {
        let run: &'a Run = self.run;
        let lack = || Lack::of("sampled responses: this record has none");
        (!run.sampled.is_empty()).then_some(&run.sampled).ok_or_else(lack)
    }

    /// The name of an endpoint; empty if it has none.
    pub(crate) fn endpoint_name(&self, id: EndpointId) -> &'a str {
        let run: &'a Run = self.run;
        run.endpoints.get(id.0 as usize).map_or("", |endpoint| endpoint.name.as_str())
    }

    /// Whether the load is that of a URL and not of a script, which has metrics.
    pub(crate) fn is_of_url(&self) -> bool {
        self.run.metrics.is_empty()
    }

    /// Sockets that scripts opened.
    pub(crate) fn sockets(&self) -> u64 {
        let all = Key { metric: SOCKETS.to_owned(), ..Key::default() };
        match self.run.metrics.series.get(&all).map(|series| &series.sink) {
            Some(Sink::Counter(counter)) => counter.sum() as u64,
            _ => 0,
        }
    }

    /// The whole intervals of the measured time, in order.
    pub(crate) fn steady(&self) -> Vec<&'a Point> {
        let (from, to) = self.window();
        let least = WHOLE * self.run.head.plan.interval.as_secs_f64();
        let run: &'a Run = self.run;
        let points = run.series.iter().filter(|point| !point.warm_up && point.from >= from && point.to <= to);
        points.filter(|point| point.to.since(point.from).as_secs_f64() >= least).collect()
    }

    /// Whether the validity check found that the load generator paused or waited for a CPU: then the slowest responses
    /// say nothing about the service.
    pub(crate) fn generator_paused(&self) -> bool {
        let codes =
            ["stall", "lag", "loop_lag", "run_delay", "worker_cpu", "throttled", "steal", "suspended"];
        self.run.validity.warnings.iter().any(|warning| codes.contains(&warning.code.as_str()))
    }

    /// The observed sources of this kind.
    pub(crate) fn sources(&self, kind: SourceKind) -> Vec<Watched<'_>> {
        Watched::all(self.observations, &self.index, kind, self.window())
    }

    /// The observed sources of this kind, at least one.
    ///
    /// # Errors
    /// The kind of source that is missing, with the flag that observes one.
    pub(crate) fn needed(&self, kind: SourceKind) -> Result<Vec<Watched<'_>>, Lack> {
        let (refused, read): (Vec<_>, Vec<_>) = self
            .sources(kind)
            .into_iter()
            .partition(|source| matches!(source.source.state, SourceState::Refused { .. }));
        match refused.first() {
            _ if !read.is_empty() => Ok(read),
            Some(refused) => {
                Err(Lack::of(format!("{} to be read: it refused the observer", refused.source.name)))
            }
            None => Err(Lack::of(missing(kind))),
        }
    }

    /// CPUs of the machine that `host` observes, or of this machine if the target runs here; `None` if unknown.
    pub(crate) fn cpus(&self) -> Option<f64> {
        let observed = self.sources(SourceKind::Host).first().and_then(|host| host.most("host.cpus", ""));
        let here =
            || (self.run.head.co_located == Some(true)).then_some(f64::from(self.run.head.machine.cores));
        observed.or_else(here).filter(|cpus| *cpus >= 1.0)
    }

    /// Share of its CPU time, 0 to 1, that a hypervisor gave to other machines; 0 if unknown.
    pub(crate) fn stolen(&self) -> f64 {
        let hosts = self.sources(SourceKind::Host);
        let modes = hosts.first().map_or_else(Vec::new, |host| host.rises("host.cpu.time"));
        let sum = |is_it: fn(&str) -> bool| {
            modes.iter().filter(|(mode, _)| is_it(mode)).map(|(_, rise)| rise.amount).sum::<f64>()
        };
        let all = sum(|_| true);
        if all > 0.0 { sum(|mode| mode == STOLEN) / all } else { 0.0 }
    }

    /// Share of all CPUs, 0 to 1, that was busy with anything; `None` if unknown.
    pub(crate) fn host_busy(&self) -> Option<f64> {
        let observed = self.sources(SourceKind::Host).first().and_then(busy_by_mode);
        let points = || {
            let shares: Vec<f64> =
                self.steady().iter().filter_map(|point| point.generator.host_busy).collect();
            let here = self.run.head.co_located == Some(true) && !shares.is_empty();
            here.then(|| shares.iter().sum::<f64>() / shares.len() as f64)
        };
        observed.or_else(points)
    }
}

/// OK responses of an interval.
pub(crate) fn ok(point: &Point) -> u64 {
    point.by_outcome[Outcome::Ok as usize]
}

/// Complete responses of an interval.
pub(crate) fn answered(point: &Point) -> u64 {
    let of = |outcome: Outcome| point.by_outcome[outcome as usize];
    of(Outcome::Ok).saturating_add(of(Outcome::HttpError))
}

/// Whether a CPU works in a mode of its time. One that waits for a disk does not, and neither does one that the
/// hypervisor gives to another machine meanwhile.
pub(crate) fn is_work(mode: &str) -> bool {
    !matches!(mode, "idle" | "iowait" | STOLEN)
}

/// The mode of time that a hypervisor gives to other machines.
pub(crate) const STOLEN: &str = "steal";

/// The share of the CPU time that a host got in which it worked.
fn busy_by_mode(host: &Watched<'_>) -> Option<f64> {
    let modes = host.rises("host.cpu.time");
    let sum = |is_it: fn(&str) -> bool| {
        modes.iter().filter(|(mode, _)| is_it(mode)).map(|(_, rise)| rise.amount).sum::<f64>()
    };
    let got = sum(|mode| mode != STOLEN);
    (got > 0.0).then(|| sum(is_work) / got)
}

/// The mean of several histograms together, in seconds.
fn mean_of(histograms: [&Histogram; 2]) -> Option<f64> {
    let count: u64 = histograms.iter().fold(0, |sum, one| one.count().saturating_add(sum));
    let sum: f64 = histograms.iter().map(|one| one.sum() as f64).sum();
    (count > 0).then(|| sum / count as f64 / 1e9)
}

const fn missing(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Host => "figures of the machine (`--observe host`)",
        SourceKind::Process => "a process of the service (`--observe pid:PID`)",
        SourceKind::Postgres => "a PostgreSQL server (`--observe postgres://...`)",
        SourceKind::Redis => "a Redis or Valkey server (`--observe redis://...`)",
        SourceKind::Sqlite => "a SQLite file (`--observe sqlite:PATH`)",
        SourceKind::PgBouncer => "a PgBouncer (`--observe pgbouncer://...`)",
        SourceKind::Nginx => "the status page of an nginx (`--observe nginx:http://...`)",
        SourceKind::Prometheus => "a page of metrics (`--observe prometheus:http://...`)",
        SourceKind::Profile => "a profile of a process (`--observe profile:PID`)",
    }
}
