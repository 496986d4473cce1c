//! The complete measurement of one run, as it is written and read back.
//!
//! Does not open files; [`mod@format`] turns a record into bytes and bytes into a record, [`run`]
//! folds its intervals into a [`Run`], [`mod@merge`] makes one record of those of several machines.

use serde::{Deserialize, Serialize};

pub mod compact;
pub mod format;
pub mod merge;
pub mod run;

use crate::amendment::Amendment;
use crate::generator::GeneratorSample;
use crate::metric::Metrics;
use crate::observation::Observations;
use crate::plan::{Endpoint, Plan};
use crate::sampled::Sampled;
use crate::share::Share;
use crate::tally::{Accounting, Concurrency, Tally};
use crate::unit::Nanos;
use crate::validity::diagnostics::Quantiles;
use crate::validity::{Validity, ValidityReport, Warning};

/// What is known before the first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// What is to be sent, and when.
    pub plan: Plan,
    /// Title of the target: the URL without credentials, or the script's name.
    pub title: String,
    /// Wall-clock time of the start, since the Unix epoch.
    pub started: Nanos,
    /// The program that measured.
    pub build: Build,
    /// The machine it ran on.
    pub machine: Machine,
    /// Whether the target runs on this machine; `None` if that is unknown.
    pub co_located: Option<bool>,
    /// The measured time begins here (end of the warm-up), on the run's clock.
    pub measured_from: Nanos,
    /// Which part of the load this is; the whole if `None`. The plan describes the whole, and what is counted is the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentOf>,
    /// The machines that made this load together, if their records were merged into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// Users that shared each connection, if all requests used HTTP/2; `None` for HTTP/1.1, and for scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2_streams: Option<u32>,
}

/// A part of a load, and all parts: texts as of the option `executionSegment` and `executionSegmentSequence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentOf {
    /// The part, such as `0:1/4`.
    pub segment: String,
    /// The ends of all parts, such as `0,1/4,1`.
    pub sequence: String,
    /// The agent of a fleet that made it, and its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOf>,
}

/// An agent of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOf {
    /// Its name.
    pub name: String,
    /// The run of the fleet.
    pub run: String,
}

/// When a part began, on the clock of the controller of a fleet: from `low` to `high` nanoseconds after the agreed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// When this was found, on the run's clock.
    pub at: Nanos,
    /// At least so long after the agreed time; negative before it.
    pub low: i64,
    /// At most.
    pub high: i64,
}

impl Lateness {
    /// What both say; the later one if they contradict each other.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let both = Self { low: self.low.max(later.low), high: self.high.min(later.high), ..later };
        if both.low <= both.high { both } else { later }
    }

    /// The middle, and how wrong it can be.
    pub const fn centre(self) -> (i64, Nanos) {
        let half = (self.high - self.low) / 2;
        (self.low + half, Nanos(half as u64))
    }
}

impl From<&Share> for SegmentOf {
    fn from(share: &Share) -> Self {
        Self { segment: share.segment().to_string(), sequence: share.sequence().to_string(), agent: None }
    }
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Version of `knee`.
    pub version: String,
    /// Git commit it was built from, if known.
    pub commit: Option<String>,
    /// Whether it was built with optimizations; results of a debug build are invalid.
    pub optimized: bool,
}

/// The machine a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and kernel release.
    pub system: String,
    /// Architecture, as in `x86_64`.
    pub arch: String,
    /// Model of the CPU, if the system reports it.
    pub cpu: Option<String>,
    /// CPUs this process can use.
    pub cores: u32,
    /// Memory in bytes, if the system reports it.
    pub memory_bytes: Option<u64>,
}

/// The machines that made a load together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// The ends of all parts of the load, such as `0,1/4,1`.
    pub sequence: String,
    /// Those whose records were merged, in the order of their parts.
    pub members: Vec<Member>,
}

/// One machine of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its part of the load, such as `0:1/4`.
    pub segment: String,
    /// The agent of a fleet that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began, by its own clock, since the Unix epoch.
    pub started: Nanos,
    /// The program that measured.
    pub build: Build,
    /// The machine.
    pub machine: Machine,
}

/// What one machine of several contributed to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// Its part of the load, such as `0:1/4`.
    pub segment: String,
    /// The agent of a fleet that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it began, on the clock of the fleet's controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Lateness>,
    /// Its measured requests.
    pub requests: Accounting,
    /// Response times of its measured requests; `None` without any.
    pub response: Option<Quantiles>,
    /// Its generator lag.
    pub generator_lag: Option<Quantiles>,
    /// Highest share of a CPU that any of its workers used, 0 to 1; `None` if it is unknown.
    pub worker_cpu_max: Option<f64>,
    /// End of its last interval, on its clock.
    pub ended: Nanos,
    /// How it ended.
    pub ending: Ending,
    /// Requests of its plan that it did not send because it ended early; `None` if the plan does not number them.
    pub lost: Option<u64>,
    /// The share of its load that it did not make because it ended early, 0 to 1: of its requests if `lost` has them,
    /// otherwise of the time of its users. `None` if iterations end its load, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_share: Option<f64>,
    /// Whether its own figures can be trusted.
    pub validity: Validity,
    /// Why not, worst first.
    pub warnings: Vec<Warning>,
}

impl Contribution {
    /// That of a machine of which there is no record.
    pub fn missing(segment: String, lost: Option<u64>) -> Self {
        Self {
            segment,
            agent: None,
            late: None,
            requests: Accounting::default(),
            response: None,
            generator_lag: None,
            worker_cpu_max: None,
            ended: Nanos::ZERO,
            ending: Ending::Truncated,
            lost,
            lost_share: Some(1.0),
            validity: Validity::Invalid,
            warnings: Vec::new(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By its plan.
    Completed,
    /// By a signal or a key; requests in flight had their grace period.
    Interrupted,
    /// By a second signal; requests in flight had no grace period.
    Aborted,
    /// The record has no tail: its writer was killed, could not write, or the file is damaged. Occurs only when
    /// reading.
    Truncated,
}

/// What is known after the last request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// How the run ended.
    pub ending: Ending,
    /// When arrivals were stopped early, on the run's clock. Absent in records of earlier versions.
    #[serde(default)]
    pub stopped: Option<Nanos>,
    /// The validity check at the end of the run.
    #[serde(rename = "truth")]
    pub validity: ValidityReport,
    /// Number of intervals written before this; if a reader found fewer, some are lost.
    pub intervals: u64,
    /// How sampled responses looked. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Sampled::is_empty")]
    pub sampled: Sampled,
}

/// A finished (or truncated) run, summed up: what every report is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What was known before.
    pub head: Head,
    /// All endpoints, by id: those of the plan and those that appeared during the run.
    pub endpoints: Vec<Endpoint>,
    /// Requests due during the warm-up, without those of `from_warm_up`.
    pub warm_up: Tally,
    /// All other requests.
    pub measured: Tally,
    /// How many of the measured requests came due in the warm-up and were open until after the last planned arrival.
    /// Only in a closed load, whose users sent nothing else during that time.
    pub from_warm_up: u64,
    /// Requests in flight over the measured part.
    pub concurrency: Concurrency,
    /// End of the last interval on the run's clock. Includes the used part of the grace period.
    pub ended: Nanos,
    /// One point per interval, for charts over time. In a very long run neighbouring intervals share a point; see
    /// [`run::POINTS_MAX`].
    pub series: Vec<Point>,
    /// How it ended.
    pub ending: Ending,
    /// When arrivals were ended before their plan, on the run's clock.
    pub stopped: Option<Nanos>,
    /// The validity check.
    pub validity: ValidityReport,
    /// What observers saw beside the run.
    pub observations: Observations,
    /// What scripts counted; empty for the load of a URL.
    pub metrics: Metrics,
    /// How sampled responses looked; empty if the record has no tail.
    pub sampled: Sampled,
    /// What each of several machines contributed; empty in the run of one machine.
    pub contributions: Vec<Contribution>,
    /// When it began, on the clock of the controller of a fleet; `None` without one.
    pub late: Option<Lateness>,
    /// Changes of the planned rate during the run, in order.
    pub amendments: Vec<Amendment>,
}

impl Run {
    /// The span over which rates are computed: from the end of the warm-up to the last planned
    /// arrival, or to the last response where the plan sets no time. A run that was stopped early ends where it was
    /// stopped: the grace period is not part of it.
    pub fn window(&self) -> Nanos {
        let arrivals_end = self.head.plan.arrivals_end().min(self.stopped.unwrap_or(Nanos::MAX));
        arrivals_end.min(self.ended).since(self.head.measured_from)
    }
}

/// Summary of one interval, for charts over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Start of the interval.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Whether the interval began within the warm-up.
    pub warm_up: bool,
    /// Requests that came due, taken up within the interval or not.
    pub planned: u64,
    /// Requests that ended, by outcome, in the order of [`crate::outcome::Outcome::ALL`].
    pub by_outcome: [u64; 6],
    /// Requests that ended in a way that this version does not know.
    pub unknown: u64,
    /// Response time at 50, 90, 99 % and the maximum, over all that ended; `None` without any.
    pub response: Option<[Nanos; 4]>,
    /// Service time, likewise.
    pub service: Option<[Nanos; 4]>,
    /// Generator lag at 99 %.
    pub generator_lag_p99: Option<Nanos>,
    /// In flight at the end.
    pub in_flight: u64,
    /// Waiting for a connection at the end.
    pub backlog: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes sent, of requests that ended. Zero in summed records of earlier versions.
    #[serde(default)]
    pub bytes_sent: u64,
    /// What the load generator saw of itself.
    pub generator: GeneratorPoint,
}

/// What the load generator saw of itself in one interval, as far as charts over time need it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorPoint {
    /// Worker threads whose CPU use is known.
    pub workers: usize,
    /// The highest share of a CPU that any worker used, 0 to 1; `None` if it is unknown.
    pub worker_cpu: Option<f64>,
    /// Share of all CPUs of this machine, 0 to 1, that was busy with anything at all.
    pub host_busy: Option<f64>,
    /// Share of the interval, 0 to 1, that a hypervisor took from this machine's CPUs.
    pub steal: Option<f64>,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
}

impl From<&GeneratorSample> for GeneratorPoint {
    fn from(sample: &GeneratorSample) -> Self {
        Self {
            workers: sample.workers.len(),
            worker_cpu: sample.busiest(),
            host_busy: sample.host_busy,
            steal: sample.steal,
            resident_bytes: sample.resident_bytes,
        }
    }
}

impl Point {
    /// Requests that ended.
    pub fn ended(&self) -> u64 {
        self.by_outcome.iter().fold(self.unknown, |sum, count| count.saturating_add(sum))
    }

    /// `count` per second over this interval; `None` if it has no width.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        let seconds = self.to.since(self.from).as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
}
