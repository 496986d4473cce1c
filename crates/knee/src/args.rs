//! What was typed: the command line as `clap` reads it, nothing resolved.
//!
//! Does not judge values, read files or know defaults that depend on the machine; `settings`
//! does. Values stay text here, so that every mistake in them is told in one voice.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};
use knee_report::number::Unit;

mod command_line;

mod compare;

mod run;

mod study;

mod sweep;

pub use command_line::{Invocation, Refused, help, parse};
pub use compare::{
    CalibrateArgs, CommandFlags, CompareArgs, CompareFormat, CompareOutputFlags, TrialFlags, VerdictFlags,
};
pub use run::{RunArgs, RunForeignFlags, RunHttpFlags, RunLoadFlags, RunReportFlags, RunScriptFlags};
pub use study::{ExtentFlags, StudyArgs, StudyFormat, StudyOutputFlags};
pub use sweep::{
    LadderFlags, RuleFlags, SweepArgs, SweepFormat, SweepOutputFlags, SweepScriptFlags, WorthFlags,
};

#[cfg(test)]
mod reference;

/// One help for `-h` and `--help`: a line a flag.
#[derive(Args, Clone, Debug, Default)]
struct HelpFlag {
    /// Print this help
    #[arg(short = 'h', long, action = ArgAction::HelpShort, help_heading = "Help")]
    help: Option<bool>,
}

/// `knee URL`.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadArgs {
    /// Where the requests go; http:// is assumed when no scheme is given
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Everything else.
    #[command(flatten)]
    pub flags: LoadFlags,
}

/// `knee report`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct ReportArgs {
    /// `last`, `last~1` for the one before, …, the name of a kept run, or a file
    #[arg(value_name = "RECORD", default_value = "last")]
    pub record: String,
    /// List the runs that were kept, newest first, and show none
    #[arg(long, conflicts_with = "record")]
    pub list: bool,
    /// Form of the report
    #[arg(long, alias = "output-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// Write the report to a file; with locust-csv to four files, whose names begin like this or are in this folder
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Unit of the times in a text; chosen to fit when not given
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
    #[command(flatten)]
    help: HelpFlag,
}

/// `knee demo`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct DemoArgs {
    /// Where the demo server listens; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0", help_heading = "Demo server")]
    pub listen: std::net::SocketAddr,
    /// Only serve, until interrupted
    #[arg(long, help_heading = "Demo server")]
    pub serve_only: bool,
    /// The load.
    #[command(flatten)]
    pub flags: LoadFlags,
    #[command(flatten)]
    help: HelpFlag,
}

/// The flags of a load: oha's names and meanings, hey's where they do not conflict.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadFlags {
    /// How much, and when.
    #[command(flatten)]
    pub amount: AmountFlags,
    /// What is sent.
    #[command(flatten)]
    pub request: RequestFlags,
    /// How it is sent.
    #[command(flatten)]
    pub connection: ConnectionFlags,
    /// What is shown and kept.
    #[command(flatten)]
    pub output: OutputFlags,
    /// What peers have and this version has not.
    #[command(flatten)]
    pub later: LaterFlags,
}

/// How much load, and when.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Load")]
pub struct AmountFlags {
    /// Number of requests; k and m suffixes and decimals work, as in 1.5k [default: 200]
    #[arg(short = 'n', long = "requests", value_name = "N", allow_hyphen_values = true)]
    pub requests: Option<String>,
    /// Connections; with -q, the most requests in flight [default: 50]
    #[arg(short = 'c', long = "connections", value_name = "N", allow_hyphen_values = true)]
    pub connections: Option<String>,
    /// How long new requests are sent, warm-up apart
    #[arg(short = 'z', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Requests a second for all connections together, sent when they are due
    /// whether or not earlier ones were answered
    #[arg(short = 'q', long = "rate", value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// How the requests of -q are spread [default: uniform]
    #[arg(long, value_name = "KIND", value_enum)]
    pub arrivals: Option<ArrivalKind>,
    /// Seed of everything random: Poisson arrivals, choice of URLs and bodies; the same
    /// seed gives the same load [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Ramp to TARGET within TIME; repeat it or separate with commas. Ramps the
    /// rate from -q if that is given, else the connections from -c (or 0)
    #[arg(long = "stage", value_name = "TIME:TARGET", value_delimiter = ',')]
    pub stages: Vec<String>,
    /// Send for so long before -z or the stages begin; kept in the record, outside
    /// of the totals
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// How long requests in flight may take to finish at the end [default: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub grace: Option<String>,
    /// Wait for requests in flight however long they take
    #[arg(short = 'w', long, alias = "wait-ongoing-requests-after-deadline", conflicts_with = "grace")]
    pub wait: bool,
    /// Worker threads [default: one a CPU, at most one a connection]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Allow more than a little load on this public host; repeat for more
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// What is sent.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Request")]
pub struct RequestFlags {
    /// Method [default: GET; POST with -F]
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header, as in 'name: value'; repeat for more
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Header `accept`
    #[arg(short = 'A', long, value_name = "TYPE")]
    pub accept: Option<String>,
    /// Header `content-type`
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Header `user-agent`
    #[arg(short = 'U', long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// Header `host`; the connection still goes to the URL's host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Basic authentication
    #[arg(short = 'a', long = "basic-auth", value_name = "USER:PASS")]
    pub basic_auth: Option<String>,
    /// Body
    #[arg(short = 'd', long = "body", value_name = "TEXT", allow_hyphen_values = true)]
    pub body: Option<String>,
    /// Body from a file
    #[arg(short = 'D', long = "body-file", value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// Bodies from the lines of a file, one at random a request
    #[arg(short = 'Z', long = "body-lines", value_name = "FILE")]
    pub body_lines: Option<PathBuf>,
    /// A field of a multipart form, as in 'name=value' or 'name=@file;type=text/csv';
    /// repeat for more
    #[arg(short = 'F', long = "form", value_name = "FIELD")]
    pub form: Vec<String>,
    /// Take the URLs from the lines of a file, `URL [WEIGHT]`, one at random a request
    #[arg(long, value_name = "FILE")]
    pub urls_from_file: Option<PathBuf>,
    /// Follow so many redirects [default: 0]
    #[arg(short = 'r', long = "redirect", value_name = "N", allow_hyphen_values = true)]
    pub redirects: Option<String>,
    /// Time limit of a request [default: none]
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// Ask for no encoded answers, and decode none
    #[arg(long)]
    pub disable_compression: bool,
    /// Most bytes of a body after decoding, as in 64m (MiB) [default: 64m]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub decoded_max: Option<String>,
}

/// How it is sent.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Connection")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct ConnectionFlags {
    /// Time limit for name, TCP and TLS together [default: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub connect_timeout: Option<String>,
    /// Use each connection for one request
    #[arg(long)]
    pub disable_keepalive: bool,
    /// IPv4 alone
    #[arg(short = '4', long)]
    pub ipv4: bool,
    /// IPv6 alone
    #[arg(short = '6', long, conflicts_with = "ipv4")]
    pub ipv6: bool,
    /// Connect elsewhere, HOST:PORT:HOST:PORT; several for one origin take turns
    #[arg(long, value_name = "FROM:TO")]
    pub connect_to: Vec<String>,
    /// Connect to a Unix socket, whatever the URL's host
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connect_to", "ipv4", "ipv6"])]
    pub unix_socket: Option<PathBuf>,
    /// Trust these certificate authorities too (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate chain (PEM); needs --key
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long)]
    pub insecure: bool,
}

/// What is shown and kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the result [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub output_format: Option<Format>,
    /// Unit of the times in the text; chosen to fit when not given
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// Name of the record; without it the run is kept where `knee report last` finds it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// No live screen; a line a second instead
    #[arg(long)]
    pub no_tui: bool,
    /// Most redraws of the live screen a second, 1 to 60 [default: 4]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub fps: Option<String>,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Flags of peers that are understood in order to be explained. Not in the help.
#[derive(Args, Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct LaterFlags {
    #[arg(long, hide = true)]
    pub(crate) http2: bool,
    #[arg(long, hide = true, value_name = "VERSION")]
    pub(crate) http_version: Option<String>,
    #[arg(short = 'p', hide = true, value_name = "N")]
    pub(crate) parallel: Option<String>,
    #[arg(short = 'x', long, hide = true, value_name = "PROXY")]
    pub(crate) proxy: Option<String>,
    #[arg(long, hide = true, value_name = "HEADER")]
    pub(crate) proxy_header: Vec<String>,
    #[arg(long, hide = true, value_name = "VERSION")]
    pub(crate) proxy_http_version: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) proxy_http2: bool,
    #[arg(long, hide = true)]
    pub(crate) rand_regex_url: bool,
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) max_repeat: Option<String>,
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) dump_urls: Option<String>,
    #[arg(long, hide = true, value_name = "TIME")]
    pub(crate) burst_delay: Option<String>,
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) burst_rate: Option<String>,
    #[arg(long, hide = true, value_name = "URL")]
    pub(crate) db_url: Option<String>,
    #[arg(long, hide = true, value_name = "TOKEN")]
    pub(crate) aws_session: Option<String>,
    #[arg(long, hide = true, value_name = "PARAMS")]
    pub(crate) aws_sigv4: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) debug: bool,
    #[arg(long, hide = true)]
    pub(crate) latency_correction: bool,
    #[arg(long, hide = true)]
    pub(crate) stats_success_breakdown: bool,
    #[arg(long, hide = true)]
    pub(crate) no_pre_lookup: bool,
}

/// Reads a unit of time.
fn unit() -> impl TypedValueParser<Value = Unit> {
    PossibleValuesParser::new(Unit::ALL.map(Unit::name)).try_map(|name| name.parse::<Unit>())
}

/// How the arrivals of an open load are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalKind {
    /// Evenly spaced
    Uniform,
    /// As independent users come
    Poisson,
}

/// Form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// One row an interval
    Csv,
    /// The JSON that oha prints
    OhaJson,
    /// Nothing; the exit code and the record tell
    Quiet,
}

/// How a run that was kept is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// One row an interval
    Csv,
    /// The JSON that oha prints
    OhaJson,
    /// The four CSV files that Locust writes; needs -o
    LocustCsv,
    /// Nothing; the exit code and the record tell
    Quiet,
}

impl ReportFormat {
    /// As any run is shown at its end; `None` for what only `knee report` does.
    pub const fn of_one_text(self) -> Option<Format> {
        match self {
            Self::Text => Some(Format::Text),
            Self::Json => Some(Format::Json),
            Self::Csv => Some(Format::Csv),
            Self::OhaJson => Some(Format::OhaJson),
            Self::Quiet => Some(Format::Quiet),
            Self::LocustCsv => None,
        }
    }
}
