//! The flags of `knee compare` and `knee calibrate`: what is compared, how it is loaded, and what is made of it.
//!
//! As typed; `settings::compare` says what they mean. How requests are made is told by the flags of `knee URL`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ArrivalKind, ConnectionFlags, HelpFlag, RequestFlags, SweepScriptFlags};

/// `knee compare`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct CompareArgs {
    /// What is there already: a URL, a command with {port} in it, or a record as `knee report` takes it
    #[arg(value_name = "A")]
    pub a: String,
    /// What is judged: likewise
    #[arg(value_name = "B")]
    pub b: String,
    /// How often and how hard both are loaded.
    #[command(flatten)]
    pub trial: TrialFlags,
    /// When a difference counts.
    #[command(flatten)]
    pub verdict: VerdictFlags,
    /// How commands are started.
    #[command(flatten)]
    pub command: CommandFlags,
    /// A script in place of a request.
    #[arg(long, value_name = "FILE", help_heading = "Script")]
    pub script: Option<PathBuf>,
    /// What the script is given.
    #[command(flatten)]
    pub script_flags: SweepScriptFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What is shown and kept.
    #[command(flatten)]
    pub output: CompareOutputFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee compare http://127.0.0.1:8080/ http://127.0.0.1:8081/
  knee compare './old --port {port}' './new --port {port}' --ready /health
  knee compare URL URL -q 500 -z 5s --blocks 12    A/A: what chance does here
  knee compare URL_A URL_B --script checkout.js    what a k6 script does to both
  knee compare A B --margin 3% --output-format md  a comment for a pull request
  knee compare last~1 last                         two runs that were made already

Both are driven now and in turns, each once a block, in an order that changes.
Exit codes: 0 not slower, 121 B is slower by more than the margin, 120 nothing
could be compared, 105 interrupted, 104 bad input.";

/// How often and how hard both are loaded.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Load")]
pub struct TrialFlags {
    /// Blocks: each loads A once and B once; fewer than 8 show nothing by four metrics
    /// [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub blocks: Option<String>,
    /// How long each trial measures [default: 3s]
    #[arg(short = 'z', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Load before each trial that is not measured [default: 1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// Connections; with -q, the most requests in flight [default: 50]
    #[arg(short = 'c', long = "connections", value_name = "N", allow_hyphen_values = true)]
    pub connections: Option<String>,
    /// Requests a second, sent when they are due whether or not earlier ones were answered
    #[arg(short = 'q', long = "rate", value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// How the requests of -q are spread; the same for A and B [default: poisson]
    #[arg(long, value_name = "KIND", value_enum)]
    pub arrivals: Option<ArrivalKind>,
    /// Seed of every order and every arrival [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Worker threads [default: one a CPU, at most one a connection]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Allow more than a little load on this public host; repeat for more
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// When a difference counts.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictFlags {
    /// Differences below this share do not matter [default: 5%, or what the noise that
    /// `knee calibrate` found allows]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub margin: Option<String>,
    /// What verdicts are drawn from, the most important first; repeat it or separate with
    /// commas [default: rate,p50,p95,errors; with -q p50,p95,rate,errors]
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    pub metrics: Vec<String>,
}

/// How commands are started.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Commands")]
pub struct CommandFlags {
    /// What is asked of a service that a command started [default: /]
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// A path that answers 2xx once a service is up; without one an open port is enough
    #[arg(long, value_name = "PATH")]
    pub ready: Option<String>,
    /// How long a service may take to come up [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub ready_within: Option<String>,
}

/// What is shown and kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct CompareOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the result [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<CompareFormat>,
    /// No line a trial
    #[arg(long)]
    pub quiet: bool,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Form of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people
    #[default]
    Text,
    /// Markdown, for a comment on a pull request
    Md,
    /// Everything, for programs; docs/reference has its schema
    Json,
}

/// `knee calibrate`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES_OF_CALIBRATE)]
pub struct CalibrateArgs {
    /// A service of your own; without one the demo server is brought up and loaded
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// How often and how hard it is loaded.
    #[command(flatten)]
    pub trial: TrialFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What is shown and kept.
    #[command(flatten)]
    pub output: CompareOutputFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES_OF_CALIBRATE: &str = "\
Examples:
  knee calibrate                      the demo server against itself, about 80 s
  knee calibrate http://127.0.0.1:8080/ -q 500 --blocks 20

What was found is kept for this machine for 30 days; `knee compare` and
`knee study` say with it what noise alone does, and widen their margins.";
