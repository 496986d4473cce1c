//! One layer of options: the command line, the variables `K6_*`, the script, or the configuration file.
//!
//! Knows the name and the kind of every option. Does not fill in defaults or check combinations; the resolve module
//! does that on all layers together.

use std::collections::BTreeMap;

use serde_json::Value;

use super::scenario::Scenarios;
use super::stage::Stage;
use crate::duration::SignedDuration;
use crate::read::{ConfigError, Read, ReadError};
use crate::threshold::ThresholdTexts;

/// A source of options; later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The configuration file.
    File,
    /// The script's exports.
    Script,
    /// Variables `K6_*`.
    Env,
    /// Flags.
    Cli,
}

impl Source {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Script => "script",
            Self::Env => "env",
            Self::Cli => "cli",
        }
    }
}

/// A flag whose value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagError {
    /// The option that the flag is for, by its name in a script.
    pub option: &'static str,
    /// The text as typed.
    pub text: String,
    /// Why it does not fit.
    pub error: ReadError,
}

/// Options that are only read and kept, because they concern k6's own services.
const IGNORED: [&str; 4] = ["cloud", "ext", "metricSamplesBufferSize", "features"];

/// Defines the struct of all options, with the name of each in scripts and in the environment.
macro_rules! layer {
    ($($(#[$doc:meta])* $field:ident: $kind:ty, $name:literal, $variable:expr;)*) => {
        /// The options of one layer; `None` means "not set here".
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Layer {
            $($(#[$doc])* pub $field: Option<$kind>,)*
        }

        impl Layer {
            /// Reads one option of a script; `Ok(false)` if there is none of this name.
            fn read(&mut self, name: &str, value: &Value) -> Result<bool, ReadError> {
                match name {
                    $($name => self.$field = <$kind as Read>::read(value)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// The variables that set options.
            pub fn variables() -> Vec<&'static str> {
                let all: &[Option<&'static str>] = &[$($variable),*];
                all.iter().copied().flatten().collect()
            }

            /// The options that variables set. `lookup` knows the environment.
            pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
                let mut layer = Self::default();
                $(
                    let variable: Option<&str> = $variable;
                    if let Some((variable, text)) = variable.and_then(|name| Some((name, lookup(name)?))) {
                        layer.$field = <$kind as Read>::read_text(&text)
                            .map_err(|error| ConfigError::new(format!("{variable}: {error}")))?;
                    }
                )*
                Ok(layer)
            }

            /// The options that flags set. `lookup` knows what was typed by the name of the option in
            /// a script.
            pub fn from_flags(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, FlagError> {
                let mut layer = Self::default();
                $(
                    if let Some(text) = lookup($name) {
                        layer.$field = <$kind as Read>::read_flag(&text)
                            .map_err(|error| FlagError { option: $name, text, error })?;
                    }
                )*
                Ok(layer)
            }

            /// Takes over everything that `over` sets, except options that replace each other as a group; see
            /// [`Self::lay`].
            fn take(&mut self, over: Self) {
                $(if over.$field.is_some() { self.$field = over.$field; })*
            }
        }
    };
}

layer! {
    /// Start only when resumed.
    paused: bool, "paused", Some("K6_PAUSED");
    /// Number of VUs.
    vus: i64, "vus", Some("K6_VUS");
    /// Duration of the run.
    duration: SignedDuration, "duration", Some("K6_DURATION");
    /// Iterations of all VUs together.
    iterations: i64, "iterations", Some("K6_ITERATIONS");
    /// VUs over time.
    stages: Vec<Stage>, "stages", Some("K6_STAGES");
    /// Scenarios by name.
    scenarios: Scenarios, "scenarios", None;
    /// The part of the load for this machine.
    execution_segment: String, "executionSegment", Some("K6_EXECUTION_SEGMENT");
    /// All parts of the load.
    execution_segment_sequence: String, "executionSegmentSequence", Some("K6_EXECUTION_SEGMENT_SEQUENCE");
    /// Leave out `setup`.
    no_setup: bool, "noSetup", Some("K6_NO_SETUP");
    /// Time limit of `setup`.
    setup_timeout: SignedDuration, "setupTimeout", Some("K6_SETUP_TIMEOUT");
    /// Leave out `teardown`.
    no_teardown: bool, "noTeardown", Some("K6_NO_TEARDOWN");
    /// Time limit of `teardown`.
    teardown_timeout: SignedDuration, "teardownTimeout", Some("K6_TEARDOWN_TIMEOUT");
    /// Time limit of `handleSummary`.
    handle_summary_timeout: SignedDuration, "handleSummaryTimeout", Some("K6_HANDLE_SUMMARY_TIMEOUT");
    /// Most requests per second.
    rps: i64, "rps", Some("K6_RPS");
    /// Name resolution.
    dns: Value, "dns", Some("K6_DNS");
    /// Most redirects.
    max_redirects: i64, "maxRedirects", Some("K6_MAX_REDIRECTS");
    /// The `User-Agent` header.
    user_agent: String, "userAgent", Some("K6_USER_AGENT");
    /// Most requests of a batch at once.
    batch: i64, "batch", Some("K6_BATCH");
    /// Most requests of a batch at once to one host.
    batch_per_host: i64, "batchPerHost", Some("K6_BATCH_PER_HOST");
    /// Log requests.
    http_debug: String, "httpDebug", Some("K6_HTTP_DEBUG");
    /// Accept any certificate.
    insecure_skip_tls_verify: bool, "insecureSkipTLSVerify", Some("K6_INSECURE_SKIP_TLS_VERIFY");
    /// TLS cipher suites.
    tls_cipher_suites: Value, "tlsCipherSuites", Some("K6_TLS_CIPHER_SUITES");
    /// TLS versions.
    tls_version: Value, "tlsVersion", Some("K6_TLS_VERSION");
    /// Client certificates.
    tls_auth: Value, "tlsAuth", Some("K6_TLSAUTH");
    /// Failed requests throw.
    throw: bool, "throw", Some("K6_THROW");
    /// Pass criteria.
    thresholds: ThresholdTexts, "thresholds", None;
    /// Networks that must not be called.
    blacklist_ips: Vec<String>, "blacklistIPs", Some("K6_BLACKLIST_IPS");
    /// Hosts that must not be called.
    block_hostnames: Vec<String>, "blockHostnames", Some("K6_BLOCK_HOSTNAMES");
    /// Addresses by host.
    hosts: BTreeMap<String, String>, "hosts", None;
    /// A connection for every request.
    no_connection_reuse: bool, "noConnectionReuse", Some("K6_NO_CONNECTION_REUSE");
    /// New connections in every iteration.
    no_vu_connection_reuse: bool, "noVUConnectionReuse", Some("K6_NO_VU_CONNECTION_REUSE");
    /// Shortest time of an iteration.
    min_iteration_duration: SignedDuration, "minIterationDuration", Some("K6_MIN_ITERATION_DURATION");
    /// Trend figures of the summary.
    summary_trend_stats: Vec<String>, "summaryTrendStats", Some("K6_SUMMARY_TREND_STATS");
    /// Unit of times in the summary.
    summary_time_unit: String, "summaryTimeUnit", Some("K6_SUMMARY_TIME_UNIT");
    /// Tags that samples get by themselves.
    system_tags: Vec<String>, "systemTags", Some("K6_SYSTEM_TAGS");
    /// Tags of every sample.
    tags: BTreeMap<String, String>, "tags", Some("K6_TAGS");
    /// Keep cookies from one iteration to the next.
    no_cookies_reset: bool, "noCookiesReset", Some("K6_NO_COOKIES_RESET");
    /// Drop bodies.
    discard_response_bodies: bool, "discardResponseBodies", Some("K6_DISCARD_RESPONSE_BODIES");
    /// Addresses to send from.
    local_ips: String, "localIPs", Some("K6_LOCAL_IPS");
}

impl Layer {
    /// Reads what a script exports as `options`, or a configuration file. Returns with it the names that
    /// k6 does not know either.
    pub fn from_value(value: &Value) -> Result<(Self, Vec<String>), ConfigError> {
        let mut layer = Self::default();
        let entries = match value {
            Value::Null => return Ok((layer, Vec::new())),
            Value::Object(entries) => entries,
            _ => return Err(ConfigError::new(ReadError::kind("options to be an object", value).to_string())),
        };
        let mut unknown = Vec::new();
        for (name, value) in entries {
            let known = layer.read(name, value).map_err(|error| error_of(name, &error))?;
            if !known && !IGNORED.contains(&name.as_str()) {
                unknown.push(name.clone());
            }
        }
        Ok((layer, unknown))
    }

    /// Whether it sets the amount of load, and so replaces that of lower layers.
    pub const fn decides_execution(&self) -> bool {
        self.duration.is_some()
            || self.iterations.is_some()
            || self.stages.is_some()
            || self.scenarios.is_some()
    }

    /// Lays `over` on top. If `over` sets the amount of load, the lower layers' duration, iterations, stages and
    /// scenarios are dropped; `vus` remains, as in k6.
    pub fn lay(&mut self, over: Self) {
        if over.decides_execution() {
            self.duration = None;
            self.iterations = None;
            self.stages = None;
            self.scenarios = None;
        }
        self.take(over);
    }
}

/// Messages of scenarios do not contain the name of the option, as in k6.
fn error_of(name: &str, error: &ReadError) -> ConfigError {
    match name {
        "scenarios" => ConfigError::new(error.to_string()),
        _ => ConfigError::new(format!("option `{name}`: {error}")),
    }
}
