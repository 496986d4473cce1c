//! All options of a run, with every default filled in.
//!
//! Plain data; the resolve module makes it.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::share::Share;

use super::scenario::ScenarioSpec;
use crate::duration::SignedDuration;
use crate::threshold::ThresholdTexts;

/// All options of a run, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The scenarios, sorted by name; never empty.
    pub scenarios: Vec<ScenarioSpec>,
    /// Pass criteria, not yet parsed; see [`crate::threshold::compile`].
    pub thresholds: ThresholdTexts,
    /// Tags of every sample.
    pub tags: BTreeMap<String, String>,
    /// Names of the tags that samples get by themselves.
    pub system_tags: BTreeSet<String>,
    /// Trend figures shown in the summary.
    pub summary_trend_stats: Vec<String>,
    /// Unit of times in the summary: `s`, `ms` or `us`; chosen to fit each value if `None`.
    pub summary_time_unit: Option<String>,
    /// Options of requests.
    pub http: HttpOptions,
    /// Options of the run's course.
    pub run: RunOptions,
    /// This machine's share of the load; all of it if `None`.
    pub share: Option<Share>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    /// All options as a script sees them in `exec.test.options`.
    pub exported: serde_json::Value,
    /// All options as k6 writes them into archives.
    pub plain: serde_json::Value,
    /// The same with everything that a run fills in, as `k6 inspect` shows them.
    pub inspected: serde_json::Value,
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
    /// Hosts that must not be called, with an optional leading `*`.
    pub block_hostnames: Vec<String>,
    /// Networks that must not be called.
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
    pub setup_timeout: SignedDuration,
    /// Time limit of `teardown`.
    pub teardown_timeout: SignedDuration,
    /// Time limit of `handleSummary`.
    pub handle_summary_timeout: SignedDuration,
    /// Leave out `setup`.
    pub no_setup: bool,
    /// Leave out `teardown`.
    pub no_teardown: bool,
    /// Wait for a signal to start.
    pub paused: bool,
    /// Shortest time of an iteration.
    pub min_iteration_duration: SignedDuration,
}
