//! The flags of `knee run`: those of `k6 run`, and a few of our own.
//!
//! As typed; `settings::script` says what they mean, and which of k6's make no sense here. A switch
//! takes a value as k6's do (`--no-setup=false`).

use std::path::PathBuf;

use clap::Args;
use knee_k6::read::Read;
use serde::{Deserialize, Serialize};

use super::fleet::FleetFlags;
use super::observe::ObserveFlags;
use super::web::WebFlags;
use super::{Format, HelpFlag};

/// `knee run`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, args_override_self = true)]
pub struct RunArgs {
    /// The script: a file, an https:// URL, an archive, or `-` for standard input
    #[arg(value_name = "SCRIPT")]
    pub script: String,
    /// How much, and when.
    #[command(flatten)]
    pub load: RunLoadFlags,
    /// What the script is given.
    #[command(flatten)]
    pub script_flags: RunScriptFlags,
    /// Where its modules come from.
    #[command(flatten)]
    pub modules: ModuleFlags,
    /// How requests are made.
    #[command(flatten)]
    pub http: RunHttpFlags,
    /// What is watched beside the load.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub report: RunReportFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    /// Which machines make the load.
    #[command(flatten)]
    pub fleet: FleetFlags,
    /// k6 flags that knee does not support.
    #[command(flatten)]
    pub foreign: RunForeignFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

impl RunArgs {
    /// The script alone, every flag at its default.
    pub fn of(script: &str) -> Self {
        Self { script: script.to_owned(), ..Self::default() }
    }
}

/// How much load, and when. Any of the first four replaces the script's scenarios.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Load")]
pub struct RunLoadFlags {
    /// Virtual users (VUs)
    #[arg(short = 'u', long, value_name = "N", allow_hyphen_values = true)]
    pub vus: Option<String>,
    /// Duration, with a unit, as in 10s
    #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Iterations, shared by all VUs
    #[arg(short = 'i', long, value_name = "N", allow_hyphen_values = true)]
    pub iterations: Option<String>,
    /// Ramp to TARGET VUs within TIME; repeat, or separate with commas
    #[arg(short = 's', long = "stage", value_name = "TIME:TARGET")]
    pub stages: Vec<String>,
    /// Skip `setup()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_setup: Option<String>,
    /// Skip `teardown()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_teardown: Option<String>,
    /// Minimum duration of an iteration; after a shorter one, the VU waits
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub min_iteration_duration: Option<String>,
    /// Do only this part of the load, such as `0:1/4`; other machines do the others
    #[arg(long, value_name = "FROM:TO")]
    pub execution_segment: Option<String>,
    /// The ends of all parts, such as `0,1/4,1/2,1`
    #[arg(long, value_name = "POINTS")]
    pub execution_segment_sequence: Option<String>,
    /// Ignore thresholds
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_thresholds: Option<String>,
    /// Worker threads [default: one per CPU, at most one per VU]
    #[arg(long, value_name = "N")]
    pub workers: Option<std::num::NonZeroU8>,
}

/// What the script is given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Script")]
pub struct RunScriptFlags {
    /// Variable for `__ENV`; NAME alone takes the value from the environment
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Copy the environment to `__ENV` [default: true]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub include_system_env_vars: Option<String>,
    /// File or folder outside the root that the script can read
    #[arg(long, value_name = "PATH")]
    pub allow_read: Vec<PathBuf>,
    /// Folder that the script can read, with its subfolders [default: its repository and the working directory]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Source of secrets for k6/secrets, as in file=FILE or mock=NAME=VALUE; repeatable
    #[arg(long = "secret-source", value_name = "KIND=SETTINGS")]
    pub secret_sources: Vec<String>,
    /// Options from a JSON file; the script, `K6_*` and flags override it
    #[arg(short = 'c', long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How requests are made.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "HTTP")]
pub struct RunHttpFlags {
    /// Redirects to follow [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_redirects: Option<String>,
    /// Parallel requests per batch [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// Parallel requests per batch and host [default: 6]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch_per_host: Option<String>,
    /// Limit of requests per second, whole run
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub rps: Option<String>,
    /// Header `user-agent`
    #[arg(long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// Log requests and responses; =full includes bodies
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "headers", value_name = "KIND")]
    pub http_debug: Option<String>,
    /// Do not verify the server's certificate
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub insecure_skip_tls_verify: Option<String>,
    /// Open a new connection for each request
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_connection_reuse: Option<String>,
    /// Open new connections in every iteration
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_vu_connection_reuse: Option<String>,
    /// Throw when a request fails
    #[arg(short = 'w', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub throw: Option<String>,
    /// Discard response bodies unless a request asks for its body
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub discard_response_bodies: Option<String>,
    /// Block a network, as in 10.0.0.0/8; repeatable
    #[arg(long = "blacklist-ip", value_name = "CIDR")]
    pub blacklist_ips: Vec<String>,
    /// Block a host, as in '*.example.com'; repeatable
    #[arg(long = "block-hostnames", value_name = "HOST")]
    pub block_hostnames: Vec<String>,
    /// Source addresses
    #[arg(long, value_name = "IPS")]
    pub local_ips: Option<String>,
    /// Name resolution, as in ttl=5m,select=random,policy=preferIPv4
    #[arg(long, value_name = "SETTINGS")]
    pub dns: Option<String>,
}

/// What is shown and saved, and where.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct RunReportFlags {
    /// Result format [default: k6's summary, then knee's]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<Format>,
    /// Save the run to this file [default: where `knee report` finds it]
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Name of the saved run, for `knee history` and `knee compare --baseline` [default: script]
    #[arg(long, value_name = "NAME", conflicts_with = "record")]
    pub name: Option<String>,
    /// k6's samples as json=FILE or csv=FILE (.gz compresses), as points to influxdb=URL/DATABASE, or sums as
    /// experimental-prometheus-rw or opentelemetry; repeatable
    #[arg(short = 'o', long = "out", value_name = "KIND=FILE")]
    pub out: Vec<String>,
    /// k6's summary: compact, full or disabled [default: compact]
    #[arg(long, value_name = "MODE")]
    pub summary_mode: Option<String>,
    /// Statistics of trends [default: avg,min,med,max,p(90),p(95)]
    #[arg(long, value_name = "LIST")]
    pub summary_trend_stats: Option<String>,
    /// Unit of times: s, ms or us [default: chosen to fit]
    #[arg(long, value_name = "UNIT")]
    pub summary_time_unit: Option<String>,
    /// Write k6's summary to a JSON file
    #[arg(long, value_name = "FILE")]
    pub summary_export: Option<PathBuf>,
    /// Use k6's newer format for the file of --summary-export
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub new_machine_readable_summary: Option<String>,
    /// Skip the summary and `handleSummary()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_summary: Option<String>,
    /// System tags of samples, separated by commas
    #[arg(long, value_name = "LIST")]
    pub system_tags: Option<String>,
    /// Tag for every sample; repeatable
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    pub tags: Vec<String>,
    /// Write the script's console output to a file
    #[arg(long, value_name = "FILE")]
    pub console_output: Option<PathBuf>,
    /// Log to stderr, stdout, none or file=FILE [default: stderr]
    #[arg(long, value_name = "WHERE")]
    pub log_output: Option<String>,
    /// Log format: text, raw or json [default: text]
    #[arg(long, value_name = "FORM")]
    pub log_format: Option<String>,
    /// Print a line per second instead of the live screen
    #[arg(long)]
    pub no_tui: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_color: Option<String>,
    /// Also print `console.debug()`
    #[arg(short = 'v', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    #[arg(value_parser = truth, default_value = "false", hide_default_value = true)]
    pub verbose: bool,
    /// Print no progress
    #[arg(short = 'q', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    #[arg(value_parser = truth, default_value = "false", hide_default_value = true)]
    pub quiet: bool,
    /// Exit with code 120 if the result is invalid; without this flag, only k6's exit codes occur
    #[arg(long)]
    pub require_valid: bool,
}

/// k6 flags, read to explain what to use instead. Hidden from the help.
#[derive(Args, Clone, Debug, Default)]
#[allow(missing_docs, reason = "explained where they are refused or noted")]
pub struct RunForeignFlags {
    #[arg(short = 'p', long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub paused: Option<String>,
    #[arg(long, hide = true)]
    pub traces_output: Option<String>,
    #[arg(short = 'l', long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub linger: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub no_usage_report: Option<String>,
    #[arg(long, hide = true)]
    pub features: Vec<String>,
    #[arg(long, hide = true)]
    pub compatibility_mode: Option<String>,
    #[arg(short = 't', long = "type", hide = true)]
    pub kind: Option<String>,
    #[arg(short = 'a', long, hide = true)]
    pub address: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub profiling_enabled: Option<String>,
}

/// A switch with a value, as k6 reads it.
fn truth(text: &str) -> Result<bool, String> {
    bool::read_text(text).ok().flatten().ok_or_else(|| "write true or false".to_owned())
}

/// Where the modules of a script come from.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Modules")]
pub struct ModuleFlags {
    /// Fetch no modules; https:// imports must be in the cache
    #[arg(long, conflicts_with = "reload")]
    pub offline: bool,
    /// Fetch https:// imports again and accept their new hashes
    #[arg(long)]
    pub reload: bool,
    /// Fetch well-known libraries instead of using the built-in copies
    #[arg(long)]
    pub no_replacements: bool,
}
