//! k6's options: from what a script exports, variables, flags and a configuration file to the scenarios
//! that run.
//!
//! As lenient as k6. Does not evaluate a script, read the environment or open files: it is handed values.

use std::collections::{BTreeMap, BTreeSet};

pub mod describe;
pub mod exported;
pub mod layer;
pub mod plan;
pub mod read;
pub mod resolve;
pub mod scenario;
pub mod span;
pub mod stage;

pub use layer::{Layer, Level};
pub use resolve::{Layers, resolve};
pub use scenario::{ExecutorSpec, ScenarioSpec, StageSpec};
pub use span::Span;

use crate::threshold::ThresholdTexts;

#[cfg(test)]
mod tests;

/// The exit code of every [`ConfigError`], k6's for an invalid configuration.
pub const EXIT_CODE: u8 = 104;

/// Why options cannot be used. Reads as k6 says it, where k6 says it well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The trend figures that a summary shows unless options say otherwise.
pub const TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];

/// The system tags that samples have unless options say otherwise, sorted.
pub const SYSTEM_TAGS: [&str; 14] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "method",
    "name",
    "proto",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
];

/// System tags that samples have only when options ask for them.
pub const OPTIONAL_SYSTEM_TAGS: [&str; 4] = ["ip", "iter", "ocsp_status", "vu"];

/// What a run does, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What runs, sorted by name; never empty.
    pub scenarios: Vec<ScenarioSpec>,
    /// What has to hold, not yet parsed; see [`crate::threshold::compile`].
    pub thresholds: ThresholdTexts,
    /// Tags of every sample.
    pub tags: BTreeMap<String, String>,
    /// Names of the tags that samples get by themselves.
    pub system_tags: BTreeSet<String>,
    /// Trend figures shown in the summary.
    pub summary_trend_stats: Vec<String>,
    /// Unit of times in the summary: `s`, `ms` or `us`; chosen to fit each value if `None`.
    pub summary_time_unit: Option<String>,
    /// What concerns requests.
    pub http: HttpOptions,
    /// What concerns the course of the run.
    pub run: RunOptions,
    /// What the user should be told, one sentence each.
    pub warnings: Vec<String>,
    /// All options as a script sees them in `exec.test.options`.
    pub exported: serde_json::Value,
}

/// Options of requests.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "these are k6's switches, each independent")]
pub struct HttpOptions {
    /// Most redirects that are followed.
    pub max_redirects: u32,
    /// The `User-Agent` header; `None` for the program's own, an empty text for none.
    pub user_agent: Option<String>,
    /// Most requests of one `http.batch` at once.
    pub batch: u32,
    /// Most requests of one `http.batch` at once to one host.
    pub batch_per_host: u32,
    /// Most requests per second of the whole run; `None` for no limit.
    pub rps: Option<u32>,
    /// Log every request: `headers` or `full`.
    pub debug: Option<String>,
    /// Accept any certificate.
    pub insecure_skip_tls_verify: bool,
    /// A connection for every request.
    pub no_connection_reuse: bool,
    /// New connections in every iteration.
    pub no_vu_connection_reuse: bool,
    /// Keep cookies from one iteration to the next.
    pub no_cookies_reset: bool,
    /// Drop bodies unless a request says otherwise.
    pub discard_response_bodies: bool,
    /// Failed requests throw.
    pub throw: bool,
    /// Addresses by host, `host` or `host:port` to `address` or `address:port`.
    pub hosts: BTreeMap<String, String>,
    /// Hosts that may not be called, with an optional leading `*`.
    pub block_hostnames: Vec<String>,
    /// Networks that may not be called.
    pub blacklist_ips: Vec<String>,
    /// Addresses to send from.
    pub local_ips: Option<String>,
    /// Name resolution, as written: `{ttl, select, policy}`.
    pub dns: Option<serde_json::Value>,
    /// TLS versions, as written: a text or `{min, max}`.
    pub tls_version: Option<serde_json::Value>,
    /// TLS cipher suites, as written.
    pub tls_cipher_suites: Option<serde_json::Value>,
    /// Client certificates, as written: `[{cert, key, domains, password}]`.
    pub tls_auth: Option<serde_json::Value>,
}

/// Options of the course of a run.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "these are k6's switches, each independent")]
pub struct RunOptions {
    /// Time limit of `setup`.
    pub setup_timeout: Span,
    /// Time limit of `teardown`.
    pub teardown_timeout: Span,
    /// Time limit of `handleSummary`.
    pub handle_summary_timeout: Span,
    /// Leave out `setup`.
    pub no_setup: bool,
    /// Leave out `teardown`.
    pub no_teardown: bool,
    /// Wait to be told to start.
    pub paused: bool,
    /// Shortest time of an iteration.
    pub min_iteration_duration: Span,
    /// The part of the load that this machine takes, as written.
    pub execution_segment: Option<String>,
}
