//! The truth block: the instrument's check of itself.
//!
//! Holds what was observed about the instrument and the verdict over it: [`collect`] sums the
//! observations up as figures, the rules of [`judge`] lead from figures to a verdict. Does not
//! sample anything; `knee-engine` does.

use serde::{Deserialize, Serialize};

use crate::tally::Books;
use crate::unit::Nanos;

pub mod collect;
pub mod judge;
mod note;

/// What the instrument saw of itself during one interval. `None` means that this platform
/// cannot tell, never "zero".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstrumentSample {
    /// One entry a worker thread.
    pub workers: Vec<WorkerSample>,
    /// Scheduling periods in which a CPU quota (cgroup) stopped this process, and all periods.
    pub throttled: Option<(u64, u64)>,
    /// Share of the interval, 0 to 1, that a hypervisor took from this machine's CPUs.
    pub steal: Option<f64>,
    /// Share of all CPUs of this machine, 0 to 1, that was busy with anything at all.
    pub host_busy: Option<f64>,
    /// File descriptors open and the limit on them.
    pub descriptors: Option<(u64, u64)>,
    /// Local ports taken towards one address (open and in `TIME_WAIT`), at the most, and how many there are. While all
    /// sockets of the machine are few, it is those.
    pub ports: Option<(u64, u64)>,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Wall-clock time minus the run's clock, in nanoseconds, relative to the start of the run;
    /// moves when the wall clock is stepped.
    pub wall_drift_ns: i64,
    /// Time the machine was suspended since the start of the run.
    pub suspended: Option<Nanos>,
}

impl InstrumentSample {
    /// The highest share of a CPU that any worker used, 0 to 1; `None` without workers.
    pub fn busiest(&self) -> Option<f64> {
        self.workers.iter().map(|worker| worker.cpu).reduce(f64::max)
    }
}

/// What one worker thread used during an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSample {
    /// Share of the interval, 0 to 1, that the thread ran.
    pub cpu: f64,
    /// Share of the interval, 0 to 1, that the thread was ready to run and had no CPU.
    pub run_delay: Option<f64>,
}

/// Whether a result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing speaks against it.
    Valid,
    /// Something may have bent it; the reasons say what.
    Suspect,
    /// The numbers describe the instrument, or do not add up. Not to be used.
    Invalid,
}

impl State {
    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// One reason why a result is not plainly valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Short, stable name of the rule, for machines: `lag`, `worker_cpu`, `books`, …
    pub code: String,
    /// What this reason alone makes of the result: suspect or invalid.
    pub state: State,
    /// What was seen, with its figure, in plain words.
    pub text: String,
    /// What to do about it.
    pub advice: String,
}

/// The verdict over a run: the worst of its reasons, or valid when there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TruthBlock {
    /// The verdict.
    pub state: State,
    /// Why, worst first.
    pub reasons: Vec<Reason>,
    /// Facts worth knowing that do not touch the verdict (co-location, resent requests, …).
    pub notes: Vec<String>,
    /// The figures that were judged.
    pub figures: Figures,
}

/// The figures that the rules look at, computed once over the measured part of the run.
///
/// "Steady" is said of the whole intervals between the end of the warm-up and the last planned
/// arrival: without the grace period, and without the shorter intervals at the ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, stored by its name")]
pub struct Figures {
    /// The account of the measured requests.
    pub books: Books,
    /// How many of the measured requests came due in the warm-up and were open all through the measured time.
    pub from_warm_up: u64,
    /// Requests, of all endpoints and of the warm-up too, that came due and never ended or ended
    /// without having come due; anything above zero is a fault of this program.
    pub books_off: u64,
    /// Measured requests that failed for a fault whose blame is the generator's.
    pub generator_faults: u64,
    /// Response time at the median and the 99th percentile, over all outcomes; what the lag is
    /// held against.
    pub response: Option<(Nanos, Nanos)>,
    /// Service time at the 99th percentile of the requests that were answered.
    pub answered_p99: Option<Nanos>,
    /// Own lag at the median, the 99th percentile and its maximum; `None` without a request.
    pub own_lag: Option<(Nanos, Nanos, Nanos)>,
    /// Relative difference between the integral of requests in flight and the sum of their
    /// service times: an internal check, 0 up to rounding.
    pub area_residual: Option<f64>,
    /// Little's law over the steady part: |X R - N| / N. `None` where it says nothing: the plan
    /// is not steady, or too little ended.
    pub little_residual: Option<f64>,
    /// How much of that the requests explain that were in flight at the edges of the steady part.
    pub little_allowance: f64,
    /// Open mode: requests sent in the steady part per request that came due in it.
    pub sent_share: Option<f64>,
    /// Mean number in flight.
    pub in_flight_mean: Option<f64>,
    /// Most in flight.
    pub in_flight_max: u64,
    /// Whole intervals in the steady part.
    pub intervals: u64,
    /// Intervals that were written and have not been read back.
    pub intervals_lost: u64,
    /// By how much the longest interval was longer than planned: for that long the instrument
    /// stood still.
    pub stall: Nanos,
    /// Highest share of a CPU that any worker used in any whole interval.
    pub worker_cpu_max: Option<f64>,
    /// Share of the intervals in which a worker used over 90 % of its CPU.
    pub worker_cpu_saturated: Option<f64>,
    /// Highest share of the run that a worker waited for a CPU.
    pub run_delay: Option<f64>,
    /// Periods throttled and all periods.
    pub throttled: Option<(u64, u64)>,
    /// Share of the run stolen by a hypervisor.
    pub steal: Option<f64>,
    /// Most descriptors open, and the limit.
    pub descriptors: Option<(u64, u64)>,
    /// Most ports taken towards one address, and how many there are.
    pub ports: Option<(u64, u64)>,
    /// Connections opened in the measured part.
    pub connections_opened: u64,
    /// The most connections that the plan keeps open at once.
    pub users_max: u64,
    /// Requests sent once more because the server had closed an idle connection.
    pub resent: u64,
    /// Answers with bytes behind their end.
    pub surplus: u64,
    /// Requests still open at the end, and the age of the oldest.
    pub censored: Option<(u64, Nanos)>,
    /// How many of those were open for longer than twice `answered_p99`: not slow but stuck.
    pub censored_stuck: u64,
    /// Different bodies; the flag says that there were more than can be told apart.
    pub bodies: (u64, bool),
    /// Endpoints that answered with bodies of different lengths.
    pub endpoints_of_many_lengths: u64,
    /// Endpoints that answered with an empty body at least once.
    pub endpoints_of_empty_bodies: u64,
    /// Largest step of the wall clock against the run's clock, in nanoseconds.
    pub wall_drift_ns: i64,
    /// Time suspended.
    pub suspended: Option<Nanos>,
    /// Whether the target runs on this machine.
    pub co_located: Option<bool>,
    /// Whether every user waits for its answer before it sends again.
    pub closed: bool,
    /// Whether the program was built without optimizations.
    pub debug_build: bool,
    /// Whether a person or a signal ended the run before its plan did.
    pub interrupted: bool,
    /// Whether the record has no tail.
    pub truncated: bool,
}
