//! The flags of `knee sweep`: how the load climbs, what a step has to keep, and what is made of it.
//!
//! As typed; `settings::sweep` says what they mean. How requests are made is told by the flags of
//! `knee URL`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use knee_report::number::Unit;

use super::run::ModuleFlags;
use super::{ConnectionFlags, HelpFlag, RequestFlags, unit};

/// `knee sweep`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct SweepArgs {
    /// A URL, or a k6 script, whose default function is one arrival
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// How the load climbs.
    #[command(flatten)]
    pub ladder: LadderFlags,
    /// What a step has to keep.
    #[command(flatten)]
    pub rules: RuleFlags,
    /// What the capacity is worth.
    #[command(flatten)]
    pub worth: WorthFlags,
    /// What is shown and kept.
    #[command(flatten)]
    pub output: SweepOutputFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What a script is given.
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
  knee sweep checkout.js --slo 'p95<1s' --errors 1% --max-time 5m";

/// How the load climbs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Ladder")]
pub struct LadderFlags {
    /// First rate, arrivals a second; without it closed probes find where to begin
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// No step is above this rate; without --from the ladder begins at 15 % of it
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Each rate is so many times the one before, with --from or --to [default: 1.35]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub factor: Option<String>,
    /// These rates, separated by commas
    #[arg(long, value_name = "LIST", conflicts_with_all = ["from", "to", "factor"])]
    pub rates: Option<String>,
    /// These numbers of connections that each wait for their answer, in place of rates
    #[arg(short = 'c', long, value_name = "LIST", conflicts_with_all = ["from", "to", "factor", "rates"])]
    pub connections: Option<String>,
    /// How long a step is measured; near the limit slow services get up to three times
    /// as much [default: 10s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub step: Option<String>,
    /// Begin no step that would end later than this
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub max_time: Option<String>,
    /// Most requests in flight; for a script, most VUs [default: 1000; for a script 200]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub in_flight: Option<String>,
    /// Seed of all arrivals: the same seed, the same load [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Worker threads [default: one a CPU]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Allow more than a little load on this public host; repeat for more
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// What a step has to keep.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Rules")]
pub struct RuleFlags {
    /// A limit on response time, as in 'p99<250ms', 'p99.9<1s' or 'mean<20ms'; repeat it
    /// or separate with commas
    #[arg(long = "slo", value_name = "LIMIT", value_delimiter = ',')]
    pub slos: Vec<String>,
    /// Share of the requests that may fail [default: 0.1%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub errors: Option<String>,
    /// How near the ends of the capacity have to be: 5% means the upper is at most 5 % above
    /// the lower before both are confirmed [default: 5%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub precision: Option<String>,
    /// Process of the service, when it is on this machine: its CPU time says what the CPU
    /// allows; repeat for more
    #[arg(long = "pid", value_name = "PID")]
    pub pids: Vec<u32>,
}

/// What the capacity is worth.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Worth")]
pub struct WorthFlags {
    /// What the hardware costs, in any currency, as in 20/month
    #[arg(long, value_name = "AMOUNT/TIME")]
    pub host_cost: Option<String>,
    /// What one user does, as in 300/month
    #[arg(long, value_name = "N/TIME")]
    pub requests_per_user: Option<String>,
    /// The busiest moment has so many times the mean load [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub peak_factor: Option<String>,
}

/// What a script is given.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Script")]
pub struct SweepScriptFlags {
    /// A variable for `__ENV`: NAME=VALUE, or the NAME of one of this process
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A file or folder that the script may read besides its own folder
    #[arg(long, value_name = "PATH")]
    pub allow_read: Vec<PathBuf>,
}

/// What is shown and kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct SweepOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the result [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<SweepFormat>,
    /// Write everything as JSON too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the curve as an SVG too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Unit of the times in the text; chosen to fit when not given
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// No line a step
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Form of a sweep's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// For people
    #[default]
    Text,
    /// Markdown, for a document
    Md,
    /// Everything, for programs; docs/reference has its schema
    Json,
}
