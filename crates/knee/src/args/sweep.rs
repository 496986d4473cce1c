//! The flags of `knee sweep`: steps of the load, pass criteria, cost, output.
//!
//! As typed; `settings::sweep` says what they mean. The flags of `knee URL` say how requests are made.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use knee_report::number::Unit;

use super::fleet::FleetFlags;
use super::observe::ObserveFlags;
use super::run::ModuleFlags;
use super::web::WebFlags;
use super::{ConnectionFlags, HelpFlag, RequestFlags, unit};

/// `knee sweep`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct SweepArgs {
    /// URL, k6 script (each arrival calls its default function), or folder of a study, whose service
    /// is started
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// What is started of a study.
    #[command(flatten)]
    pub study: SweptStudyFlags,
    /// Steps of the load.
    #[command(flatten)]
    pub ladder: LadderFlags,
    /// Pass criteria of a step.
    #[command(flatten)]
    pub rules: RuleFlags,
    /// Cost per user.
    #[command(flatten)]
    pub worth: WorthFlags,
    /// What is watched beside the load.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub output: SweepOutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    /// Which machines make the load.
    #[command(flatten)]
    pub fleet: FleetFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// Script input.
    #[command(flatten)]
    pub script: SweepScriptFlags,
    /// Where the modules of a script come from.
    #[command(flatten)]
    pub modules: ModuleFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee sweep http://127.0.0.1:8080/ --slo 'p99<250ms'
  knee sweep URL --from 100 --to 5k --factor 1.5 --step 20s
  knee sweep URL --connections 50,100,200,400 --svg curve.svg
  knee sweep checkout.js --slo 'p95<1s' --errors 1% --max-time 5m
  knee sweep labs/todos/newest --variant stock --observe started

The service of a study is started, with its stores, gets CPUs of its own and
is brought back to its first state before each step. A service that you start
yourself needs this from you: give each CPUs of its own, and use --pid:
  taskset -c 1-3 SERVICE
  taskset -c 0 knee sweep URL --pid PID";

/// What is started of a study.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Service of a study")]
pub struct SweptStudyFlags {
    /// Variant that is started [default: the baseline of the study]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Workload that is sent [default: the only one of the study]
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Let generator, services and stores use the same CPUs
    #[arg(long)]
    pub share_cpus: bool,
}

/// Steps of the load.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct LadderFlags {
    /// First arrival rate per second [default: found by short closed loads]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Highest arrival rate; without --from, steps begin at 15 % of it
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Factor between steps, with --from or --to [default: 1.35]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub factor: Option<String>,
    /// Use only these arrival rates, separated by commas
    #[arg(long, value_name = "LIST", conflicts_with_all = ["from", "to", "factor"])]
    pub rates: Option<String>,
    /// Closed load with these numbers of connections, separated by commas
    #[arg(short = 'c', long, value_name = "LIST", conflicts_with_all = ["from", "to", "factor", "rates"])]
    pub connections: Option<String>,
    /// Measured time per step; up to three times as long near the limit [default: 10s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// Time limit of the sweep; knee starts no step that would exceed it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub max_time: Option<String>,
    /// Command that resets the service; a shell runs it before each step, outside the measured time
    #[arg(long, value_name = "COMMAND")]
    pub reset: Option<String>,
    /// Limit of requests in flight or, for a script, of VUs [default: 1000; script: 200]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub in_flight: Option<String>,
    /// Seed of arrivals [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Worker threads [default: one per CPU]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Lift the load limit for this public host; repeatable
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// Pass criteria of a step.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Pass criteria")]
pub struct RuleFlags {
    /// Response time limit, as in 'p99<250ms' or 'mean<20ms'; repeat, or separate with commas
    #[arg(long = "slo", value_name = "LIMIT", value_delimiter = ',')]
    pub slos: Vec<String>,
    /// Highest share of failed requests [default: 0.1%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub errors: Option<String>,
    /// Stop when the range of the capacity is at most this wide [default: 5%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub precision: Option<String>,
    /// Process ID of a local service, to report its CPU time; repeatable
    #[arg(long = "pid", value_name = "PID")]
    pub pids: Vec<u32>,
}

/// Cost per user.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cost")]
pub struct WorthFlags {
    /// Cost of the hardware, as in 20/month
    #[arg(long, value_name = "AMOUNT/TIME")]
    pub host_cost: Option<String>,
    /// Requests of one user, as in 300/month
    #[arg(long, value_name = "N/TIME")]
    pub requests_per_user: Option<String>,
    /// Peak load as a multiple of the mean load [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub peak_factor: Option<String>,
}

/// Script input.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Script")]
pub struct SweepScriptFlags {
    /// Variable for `__ENV`; NAME alone takes the value from the environment
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// File or folder outside the root that the script can read
    #[arg(long, value_name = "PATH")]
    pub allow_read: Vec<PathBuf>,
    /// Folder that the script can read, with its subfolders [default: its repository and the working directory]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// What is shown and saved.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct SweepOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<SweepFormat>,
    /// Also write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also draw the curve as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Unit of times in text [default: chosen to fit]
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// Send the figures of each step while it runs, as k6's metrics: experimental-prometheus-rw, opentelemetry or
    /// influxdb=URL/DATABASE; repeatable
    #[arg(long = "out", value_name = "KIND")]
    pub out: Vec<String>,
    /// Go on with the newest sweep of this target that has the same flags, after its last saved step
    #[arg(long)]
    pub resume: bool,
    /// Do not print each step
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Result format of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file
    Html,
    /// Markdown, for a document
    Md,
    /// Everything, for programs; docs/reference has its schema
    Json,
}
