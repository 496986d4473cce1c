//! The flags of `knee run`: those of `k6 run`, and a few of our own.
//!
//! As typed; `settings::script` says what they mean, and which of k6's make no sense here. A switch
//! takes a value as k6's do (`--no-setup=false`).

use std::path::PathBuf;

use clap::Args;

use super::{Format, HelpFlag};

/// `knee run`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct RunArgs {
    /// The script: a file, an https:// URL, or `-` for standard input
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
    /// What is told.
    #[command(flatten)]
    pub report: RunReportFlags,
    /// What k6 has and this program has not.
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

/// How much load, and when. Any of the first four replaces the scenarios of the script.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct RunLoadFlags {
    /// VUs
    #[arg(short = 'u', long, value_name = "N", allow_hyphen_values = true)]
    pub vus: Option<String>,
    /// How long; needs a unit, as in 10s
    #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Iterations of all VUs together
    #[arg(short = 'i', long, value_name = "N", allow_hyphen_values = true)]
    pub iterations: Option<String>,
    /// Ramp to TARGET VUs within TIME; repeat it or separate with commas
    #[arg(short = 's', long = "stage", value_name = "TIME:TARGET")]
    pub stages: Vec<String>,
    /// Leave out `setup()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_setup: Option<String>,
    /// Leave out `teardown()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_teardown: Option<String>,
    /// Shortest time of an iteration; the VU waits for the rest of it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub min_iteration_duration: Option<String>,
    /// Judge no thresholds
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_thresholds: Option<String>,
    /// Threads that send [default: one a CPU, at most one a VU]
    #[arg(long, value_name = "N")]
    pub workers: Option<std::num::NonZeroU8>,
}

/// What the script is given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Script")]
pub struct RunScriptFlags {
    /// A variable for `__ENV`: NAME=VALUE, or the NAME of one of this process
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Whether `__ENV` has the variables of this process [default: true]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub include_system_env_vars: Option<String>,
    /// A file or folder that the script may read besides its own folder
    #[arg(long, value_name = "PATH")]
    pub allow_read: Vec<PathBuf>,
    /// Options from a JSON file; the script, `K6_*` variables and flags win over it
    #[arg(short = 'c', long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How requests are made.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "HTTP")]
pub struct RunHttpFlags {
    /// Most redirects that are followed [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_redirects: Option<String>,
    /// Most requests of one batch at once [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch: Option<String>,
    /// Most requests of one batch at once to one host [default: 6]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch_per_host: Option<String>,
    /// Most requests a second of the whole run
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub rps: Option<String>,
    /// Header `user-agent`
    #[arg(long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// Log requests, or all of them with =full
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "headers", value_name = "KIND")]
    pub http_debug: Option<String>,
    /// Accept any certificate
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub insecure_skip_tls_verify: Option<String>,
    /// Use each connection for one request
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_connection_reuse: Option<String>,
    /// New connections in every iteration
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_vu_connection_reuse: Option<String>,
    /// Failed requests throw
    #[arg(short = 'w', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub throw: Option<String>,
    /// Drop bodies unless a request says otherwise
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub discard_response_bodies: Option<String>,
    /// A network that may not be called, as in 10.0.0.0/8; repeat for more
    #[arg(long = "blacklist-ip", value_name = "CIDR")]
    pub blacklist_ips: Vec<String>,
    /// A host that may not be called, as in '*.example.com'; repeat for more
    #[arg(long = "block-hostnames", value_name = "HOST")]
    pub block_hostnames: Vec<String>,
    /// Addresses to send from
    #[arg(long, value_name = "IPS")]
    pub local_ips: Option<String>,
    /// Name resolution, as in ttl=5m,select=random,policy=preferIPv4
    #[arg(long, value_name = "SETTINGS")]
    pub dns: Option<String>,
}

/// What is told, and where.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct RunReportFlags {
    /// Form of the result; without it k6's summary, and ours below it
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<Format>,
    /// Name of the record; without it the run is kept where `knee report last` finds it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Every sample as k6 writes it: json=FILE or csv=FILE, with .gz packed; repeat for more
    #[arg(short = 'o', long = "out", value_name = "KIND=FILE")]
    pub out: Vec<String>,
    /// How much k6's summary has: compact, full or disabled [default: compact]
    #[arg(long, value_name = "MODE")]
    pub summary_mode: Option<String>,
    /// Figures of trends, as in avg,p(99.9) [default: avg,min,med,max,p(90),p(95)]
    #[arg(long, value_name = "LIST")]
    pub summary_trend_stats: Option<String>,
    /// Unit of times in k6's summary: s, ms or us; chosen to fit when not given
    #[arg(long, value_name = "UNIT")]
    pub summary_time_unit: Option<String>,
    /// Write k6's summary as JSON
    #[arg(long, value_name = "FILE")]
    pub summary_export: Option<PathBuf>,
    /// k6's newer form of that JSON
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub new_machine_readable_summary: Option<String>,
    /// No summary, and no `handleSummary()`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_summary: Option<String>,
    /// Tags that samples get by themselves, separated by commas
    #[arg(long, value_name = "LIST")]
    pub system_tags: Option<String>,
    /// A tag of every sample, NAME=VALUE; repeat for more
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    pub tags: Vec<String>,
    /// Write what the script logs to a file
    #[arg(long, value_name = "FILE")]
    pub console_output: Option<PathBuf>,
    /// Where lines about the script go: stderr, stdout, none or file=FILE [default: stderr]
    #[arg(long, value_name = "WHERE")]
    pub log_output: Option<String>,
    /// Form of those lines: text, raw or json [default: text]
    #[arg(long, value_name = "FORM")]
    pub log_format: Option<String>,
    /// No live screen; a line a second instead
    #[arg(long)]
    pub no_tui: bool,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub no_color: Option<String>,
    /// Also what the script logs with `console.debug()`
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// No progress
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// End with code 120 if the result is invalid; without it exit codes are k6's alone
    #[arg(long)]
    pub require_valid: bool,
}

/// Flags of k6 that are understood in order to be explained. Not in the help.
#[derive(Args, Clone, Debug, Default)]
#[allow(missing_docs, reason = "explained where they are refused or noted")]
pub struct RunForeignFlags {
    #[arg(long, hide = true)]
    pub execution_segment: Option<String>,
    #[arg(long, hide = true)]
    pub execution_segment_sequence: Option<String>,
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
    #[arg(long, hide = true)]
    pub secret_source: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub profiling_enabled: Option<String>,
}

/// Where the modules of a script come from.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Modules")]
pub struct ModuleFlags {
    /// Fetch no modules: https:// imports are answered from what was fetched before, or fail
    #[arg(long, conflicts_with = "reload")]
    pub offline: bool,
    /// Fetch modules of https:// imports anew, and take the hashes they have now into knee.lock
    #[arg(long)]
    pub reload: bool,
    /// Fetch well-known libraries too, instead of answering them with copies of our own
    #[arg(long)]
    pub no_replacements: bool,
}
