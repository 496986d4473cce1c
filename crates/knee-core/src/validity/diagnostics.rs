//! The figures that the rules look at, computed once over the measured part of a run.
//!
//! "Steady" means the whole intervals between the end of the warm-up and the last planned arrival: without the grace
//! period, and without the shorter intervals at the ends. In a record all figures are in one object under their
//! original names; the groups exist only in this code.

use serde::{Deserialize, Serialize};

use crate::tally::Accounting;
use crate::unit::Nanos;

/// Everything that a rule can look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnostics {
    /// What became of the requests.
    #[serde(flatten)]
    pub requests: Requests,
    /// How the load came about.
    #[serde(flatten)]
    pub load: Load,
    /// What the load generator saw of itself.
    #[serde(flatten)]
    pub generator: Generator,
    /// How the run was made and how it ended.
    #[serde(flatten)]
    pub run: Circumstances,
}

/// What became of the requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// The request accounting of the measured requests.
    #[serde(rename = "books")]
    pub accounting: Accounting,
    /// How many of the measured requests came due in the warm-up and stayed open throughout the measured time.
    pub from_warm_up: u64,
    /// Requests that came due and never ended, or ended without having come due, over all endpoints and including the
    /// warm-up. Any such request is a fault of this program.
    #[serde(rename = "books_off")]
    pub unaccounted: u64,
    /// Measured requests that failed because of the generator.
    pub generator_faults: u64,
    /// Response times over all outcomes.
    pub response: Option<Quantiles>,
    /// Service times over all requests that were sent.
    pub service: Option<Quantiles>,
    /// Service time at the 99th percentile of the requests that were answered.
    pub answered_p99: Option<Nanos>,
    /// Connections opened in the measured part.
    pub connections_opened: u64,
    /// Requests sent once more because the server had closed an idle connection.
    pub resent: u64,
    /// Redirects not followed because they lead to a host or port that is not under load.
    pub redirects_refused: u64,
    /// Responses followed by bytes that no request asked for.
    pub surplus: u64,
    /// Responses that can belong to other requests, because such bytes came on their connection.
    pub doubtful: u64,
    /// Requests still open at the end, and the age of the oldest.
    pub censored: Option<(u64, Nanos)>,
    /// How many of those were open for longer than twice `answered_p99`: not slow but stuck.
    pub censored_stuck: u64,
    /// Different bodies; the flag says that there were more than can be counted separately.
    pub bodies: (u64, bool),
    /// Endpoints that answered with bodies of different lengths.
    pub endpoints_of_many_lengths: u64,
    /// Endpoints that answered with an empty body at least once.
    pub endpoints_of_empty_bodies: u64,
}

/// How the load came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Whether every user waits for its response before it sends again.
    pub closed: bool,
    /// Whether an arrival that finds every user busy is dropped at once.
    pub drops: bool,
    /// The most connections or VUs that the plan keeps busy at once.
    #[serde(rename = "users_max")]
    pub vus_max: u64,
    /// Open mode: requests sent in the steady part per request that came due in it.
    pub sent_share: Option<f64>,
    /// Open mode: requests per second that came due in the steady part.
    pub due_per_s: Option<f64>,
    /// Open mode: requests per second that the server answered or failed in the steady part.
    pub taken_per_s: Option<f64>,
    /// Mean number in flight.
    pub in_flight_mean: Option<f64>,
    /// Most in flight.
    pub in_flight_max: u64,
    /// Relative difference between the integral of requests in flight and the sum of their
    /// service times: an internal check, 0 up to rounding.
    pub area_residual: Option<f64>,
    /// Little's law over the steady part: |X R - N| / N. `None` if it does not apply: the plan is not steady, or too
    /// few requests ended.
    pub little_residual: Option<f64>,
    /// The part of that residual that requests in flight at the edges of the steady part explain.
    pub little_allowance: f64,
}

/// What the load generator saw of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Generator {
    /// Generator lag: how late requests were sent because of the generator; `None` without a request.
    #[serde(rename = "own_lag")]
    pub lag: Option<Quantiles>,
    /// How late the workers noticed events: lower confidence bounds, because a short run has few tries.
    pub loop_lag: Option<Quantiles>,
    /// How late this platform's timers are by construction.
    pub timer_slack: Nanos,
    /// Measured time, as far as intervals cover it.
    pub measured: Nanos,
    /// For how much of it a worker stood still.
    pub paused: Nanos,
    /// How much longer than planned the longest interval was: the program stood still for that time.
    pub stall: Nanos,
    /// Highest share of a CPU that any worker used in any whole interval.
    pub worker_cpu_max: Option<f64>,
    /// The same of the collector, which merges the workers' intervals and writes the record.
    pub collector_cpu_max: Option<f64>,
    /// Share of the intervals in which a worker used over 90 % of its CPU, or workers and collector together over 90 %
    /// of the CPUs that they can use.
    pub worker_cpu_saturated: Option<f64>,
    /// Highest share of the run that a worker waited for a CPU.
    pub run_delay: Option<f64>,
    /// Periods throttled and all periods.
    pub throttled: Option<(u64, u64)>,
    /// Share of the run stolen by a hypervisor.
    pub steal: Option<f64>,
    /// Most descriptors open, and the limit.
    pub descriptors: Option<(u64, u64)>,
    /// Most local ports in use towards one address, and the number of local ports.
    pub ports: Option<(u64, u64)>,
    /// Largest step of the wall clock against the run's clock, in nanoseconds.
    pub wall_drift_ns: i64,
    /// Time suspended.
    pub suspended: Option<Nanos>,
}

/// How the run was made and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, stored by its name")]
pub struct Circumstances {
    /// Whole intervals in the steady part.
    pub intervals: u64,
    /// Intervals that were written and have not been read back.
    pub intervals_lost: u64,
    /// Whether the target runs on this machine.
    pub co_located: Option<bool>,
    /// Whether a target offers HTTP/2, which the load generator does not speak; `None` if not, or if it was not asked.
    pub http2: Option<Http2Offer>,
    /// Whether the program was built without optimizations.
    pub debug_build: bool,
    /// How often the planned rate was changed during the run.
    #[serde(skip_serializing_if = "is_zero")]
    pub changes_of_rate: u64,
    /// Whether a person or a signal ended the run before its plan did.
    pub interrupted: bool,
    /// Whether the record has no tail.
    pub truncated: bool,
    /// How complete the parts are that were merged; `None` in the run of one machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsFigures>,
    /// Where the record is damaged. Only a reader finds that.
    #[serde(skip)]
    pub damaged: Option<Damage>,
    /// Why the writer of a record without a tail gave up, if it could say so. Only a reader finds that.
    #[serde(skip)]
    pub gave_up: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How complete the parts of a load are whose records were merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartsFigures {
    /// Parts of the whole load.
    pub of: u64,
    /// Parts whose records were given.
    pub given: u64,
    /// Given parts that ended before the others.
    pub ended_early: u64,
    /// Share of the load, 0 to 1, that missing parts and those that ended early did not send.
    pub lost_share: f64,
    /// Arrivals that complete parts have more or less than their plans.
    pub arrivals_off: u64,
    /// Time between the first start and the last: by the clock of a fleet's controller if `start_bound` is there, else by
    /// the clocks of the machines.
    pub started_apart: Nanos,
    /// How wrong each start can be on the clock of a fleet's controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_bound: Option<Nanos>,
    /// Different builds of the program.
    pub builds: u64,
}

/// What a target's offer of HTTP/2 means for a load over HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Http2Offer {
    /// Tools for the same load use HTTP/1.1 unless they are asked for HTTP/2.
    OnRequest,
    /// k6 would use HTTP/2 for the same script.
    TakenByK6,
}

/// Bytes of a record that are not as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the first of them begin: the offset of their frame in the file.
    pub first: u64,
    /// How many frames or gaps between frames are damaged.
    pub places: u64,
}

/// Four points of a distribution, whatever the sample size: they state what the generator did, not what the sample
/// proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredQuantiles")]
pub struct Quantiles {
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// Maximum.
    pub max: Nanos,
}

/// The forms in records: by name, or as in the first versions: median, p99 and maximum, or only the first two.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredQuantiles {
    Named { p50: Nanos, p90: Nanos, p99: Nanos, max: Nanos },
    Three(Nanos, Nanos, Nanos),
    Two(Nanos, Nanos),
}

impl From<StoredQuantiles> for Quantiles {
    fn from(stored: StoredQuantiles) -> Self {
        let (p50, p90, p99, max) = match stored {
            StoredQuantiles::Named { p50, p90, p99, max } => (p50, p90, p99, max),
            StoredQuantiles::Three(p50, p99, max) => (p50, p99, p99, max),
            StoredQuantiles::Two(p50, p99) => (p50, p99, p99, p99),
        };
        Self { p50, p90, p99, max }
    }
}
