//! The flags of `knee compare` and `knee calibrate`: sides, load, verdict, output.
//!
//! As typed; `settings::compare` says what they mean. The flags of requests are those of `knee URL`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::observe::ObserveFlags;
use super::web::WebFlags;
use super::{
    ArrivalKind, ConnectionFlags, FleetFlags, HelpFlag, RequestFlags, ServiceHostFlag, SweepScriptFlags,
};

/// `knee compare`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct CompareArgs {
    /// Baseline: a URL, a command with {port}, a saved run (last, last~1, a record, an HTML report), or a file of
    /// another tool
    #[arg(value_name = "A", required_unless_present = "baseline")]
    pub a: Option<String>,
    /// Candidate: a URL, a command, a saved run or a file, as for A
    #[arg(value_name = "B", required_unless_present = "baseline")]
    pub b: Option<String>,
    /// Compare with the newest earlier run of this name that has the same plan, target and machine. The only side to
    /// give is the candidate, a saved run [default: last]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Load of both sides.
    #[command(flatten)]
    pub trial: TrialFlags,
    /// When a difference counts.
    #[command(flatten)]
    pub verdict: VerdictFlags,
    /// How commands are started.
    #[command(flatten)]
    pub command: CommandFlags,
    /// Load both sides with this k6 script instead of a request.
    #[arg(long, value_name = "FILE", help_heading = "Script")]
    pub script: Option<PathBuf>,
    /// Script input.
    #[command(flatten)]
    pub script_flags: SweepScriptFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What is watched beside the load of each trial.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub output: CompareOutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    /// Which machines make the load of each trial.
    #[command(flatten)]
    pub fleet: FleetFlags,
    /// How they reach what is started.
    #[command(flatten)]
    pub service_host: ServiceHostFlag,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee compare http://127.0.0.1:8080/ http://127.0.0.1:8081/
  knee compare './old --port {port}' './new --port {port}' --ready /health
  knee compare URL URL -q 500 -z 5s --blocks 12    A/A test: the noise floor
  knee compare URL_A URL_B --script checkout.js    load both with a k6 script
  knee compare A B --margin 3% --output-format md  a comment for a pull request
  knee compare last~1 last                         compare two saved runs
  knee compare before.json after.json              outputs of k6, oha, wrk, …
  knee compare --baseline checkout                 the last run and the one of
                                                   that name before it

Each block loads A once and B once, in alternating order.
Exit codes:
  0    B is not slower by more than the margin
  121  B is slower by more than the margin
  120  the comparison is not valid
  105  the comparison was interrupted
  104  the input is wrong";

/// Load of both sides.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Load")]
pub struct TrialFlags {
    /// Number of blocks; a block loads A once and B once. A verdict needs 6 blocks, on four metrics 8 [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub blocks: Option<String>,
    /// Measured time per trial [default: 3s]
    #[arg(short = 'z', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Warm-up per trial [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// Connections; with -q, the limit of requests in flight [default: 50]
    #[arg(short = 'c', long = "connections", value_name = "N", allow_hyphen_values = true)]
    pub connections: Option<String>,
    /// Arrival rate, requests per second: an open load
    #[arg(short = 'q', long = "rate", value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Spacing of the requests of -q [default: poisson]
    #[arg(long, value_name = "KIND", value_enum)]
    pub arrivals: Option<ArrivalKind>,
    /// Seed of order and arrivals [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Worker threads [default: one per CPU, at most one per connection]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Lift the load limit for this public host; repeatable
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// When a difference counts.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictFlags {
    /// Equivalence margin: largest change that counts as same [default: 5%, or what the noise
    /// floor of `knee calibrate` allows]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub margin: Option<String>,
    /// Metrics to judge, the most important first; repeat, or separate with commas
    /// [default: goodput,p50,p95,errors; with -q p50,p95,goodput,errors]
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    pub metrics: Vec<String>,
}

/// How commands are started.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Commands")]
pub struct CommandFlags {
    /// Path to load on a service that a command started [default: /]
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Readiness path, which must answer 2xx [default: an open port is enough]
    #[arg(long, value_name = "PATH")]
    pub ready: Option<String>,
    /// Time limit for a service to become ready [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub ready_within: Option<String>,
    /// Let the generator share its CPUs with the commands [default: it has CPUs of its own]
    #[arg(long)]
    pub share_cpus: bool,
}

/// What is shown and saved.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct CompareOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<CompareFormat>,
    /// Do not print each trial
    #[arg(long)]
    pub quiet: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
    /// Send the figures of each trial while it runs, as k6's metrics: experimental-prometheus-rw, opentelemetry or
    /// influxdb=URL/DATABASE; repeatable
    #[arg(long = "out", value_name = "KIND")]
    pub out: Vec<String>,
}

/// Result format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file
    Html,
    /// Markdown, for a comment on a pull request
    Md,
    /// Everything, for programs; docs/reference has its schema
    Json,
}

/// `knee calibrate`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES_OF_CALIBRATE)]
pub struct CalibrateArgs {
    /// Service to load [default: the demo server]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Load of the service.
    #[command(flatten)]
    pub trial: TrialFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub output: CompareOutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES_OF_CALIBRATE: &str = "\
Examples:
  knee calibrate                      A/A test of the demo server, about 80 s
  knee calibrate http://127.0.0.1:8080/ -q 500 --blocks 20

The noise floor is saved for this machine for 30 days. Comparisons and
studies report it and widen their margins accordingly.";
