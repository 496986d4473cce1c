//! The command line as `clap` reads it, not yet resolved.
//!
//! Does not judge values, read files or know defaults that depend on the machine; `settings`
//! does. Values stay text here, so that one module words all errors about them.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};
use knee_report::number::Unit;

mod agent;

mod archive;

mod audit;

mod brief;

mod command_line;

mod compare;

mod doctor;

mod find;

mod fleet;

mod history;

mod merge;

mod observe;

mod run;

mod serve;

mod shell;

mod study;

mod sweep;

mod web;

mod words;

pub use agent::{AgentArgs, FleetAction, FleetArgs};
pub use archive::{ArchiveArgs, InspectArgs};
pub use audit::{AuditArgs, AuditFormat};
pub use command_line::{Invocation, Refused, definition, help, meant_command, parse};
pub use compare::{
    CalibrateArgs, CommandFlags, CompareArgs, CompareFormat, CompareOutputFlags, TrialFlags, VerdictFlags,
};
pub use doctor::{DoctorArgs, DoctorFormat};
pub use find::{FindArgs, FindFormat, FindOutputFlags, SearchFlags};
pub use fleet::{FleetFlags, FleetKeys, ServiceHostFlag};
pub use history::{HistoryArgs, HistoryFormat};
pub use merge::MergeArgs;
pub use observe::ObserveFlags;
pub use run::{RunArgs, RunForeignFlags, RunHttpFlags, RunLoadFlags, RunReportFlags, RunScriptFlags};
pub use serve::ServeArgs;
pub use shell::{CompletionsArgs, ManArgs};
pub use study::{ExtentFlags, StudyArgs, StudyFormat, StudyOutputFlags};
pub use sweep::{
    LadderFlags, RuleFlags, SweepArgs, SweepFormat, SweepOutputFlags, SweepScriptFlags, SweptStudyFlags,
    WorthFlags,
};
pub use web::WebFlags;

#[cfg(test)]
mod reference;

/// One help for `-h` and `--help`.
#[derive(Args, Clone, Debug, Default)]
struct HelpFlag {
    /// Print this help
    #[arg(short = 'h', long, action = ArgAction::HelpShort, help_heading = "Help")]
    help: Option<bool>,
}

/// `knee explain`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExplainArgs {
    /// Code in brackets after a warning, a note or a finding [default: list all codes]
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    #[command(flatten)]
    help: HelpFlag,
}

/// `knee URL`.
#[derive(Args, Clone, Debug, Default)]
pub struct LoadArgs {
    /// URL to load; http:// is assumed
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Everything else.
    #[command(flatten)]
    pub flags: LoadFlags,
    /// Which machines make the load.
    #[command(flatten)]
    pub fleet: FleetFlags,
}

/// `knee report`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct ReportArgs {
    /// `last`, `last~1` for the one before, a name from `--list`, a record, an HTML report or a file of another tool
    /// [default: last]
    #[arg(value_name = "RECORD")]
    pub record: Option<String>,
    /// List saved runs, newest first; with the name of a study, sweep or comparison, list its trials
    #[arg(long)]
    pub list: bool,
    /// Report format
    #[arg(long, alias = "output-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// Write to a file instead of stdout; with locust-csv, a prefix or folder for four files
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Unit of times in text [default: chosen to fit]
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// Show all findings with their evidence, and the rules that could not run; JSON always has them
    #[arg(long)]
    pub all_findings: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
    #[command(flatten)]
    help: HelpFlag,
}

/// `knee demo`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct DemoArgs {
    /// Address of the demo server; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0", help_heading = "Demo server")]
    pub listen: std::net::SocketAddr,
    /// Serve without loading, until interrupted
    #[arg(long, help_heading = "Demo server", conflicts_with = "web")]
    pub serve_only: bool,
    /// Workers of the demo server; each serves one request at a time [default: 8]
    #[arg(long, value_name = "N", help_heading = "Demo server", allow_hyphen_values = true)]
    pub server_workers: Option<String>,
    /// Mean time that a worker needs per request [default: 2ms]
    #[arg(long, value_name = "TIME", help_heading = "Demo server", allow_hyphen_values = true)]
    pub server_time: Option<String>,
    /// The load.
    #[command(flatten)]
    pub flags: LoadFlags,
    #[command(flatten)]
    help: HelpFlag,
}

/// `knee tour`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct TourArgs {
    /// A few seconds per part, for tests
    #[arg(long, hide = true)]
    pub brief: bool,
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
    /// What is watched beside the load.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub output: OutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    /// Flags of other tools that this version does not support.
    #[command(flatten)]
    pub later: LaterFlags,
}

/// How much load, and when.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Load")]
pub struct AmountFlags {
    /// Number of requests, as in 200 or 1.5k [default: 200]
    #[arg(short = 'n', long = "requests", value_name = "N", allow_hyphen_values = true)]
    pub requests: Option<String>,
    /// Connections; with -q, the limit of requests in flight [default: 50]
    #[arg(short = 'c', long = "connections", value_name = "N", allow_hyphen_values = true)]
    pub connections: Option<String>,
    /// Requests at a time on each connection, with --http2 [default: 1]
    #[arg(short = 'p', long = "streams", value_name = "N", allow_hyphen_values = true)]
    pub streams: Option<String>,
    /// Send for this long, not counting warm-up
    #[arg(short = 'z', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Arrival rate, requests per second in total: an open load, whose schedule does not wait
    /// for responses
    #[arg(short = 'q', long = "rate", value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Spacing of the requests of -q [default: uniform]
    #[arg(long, value_name = "KIND", value_enum)]
    pub arrivals: Option<ArrivalKind>,
    /// Seed of arrivals and of the choice of URLs and bodies [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Ramp to TARGET within TIME. TARGET is a rate with -q, else a number of connections. Repeat,
    /// or separate with commas
    #[arg(long = "stage", value_name = "TIME:TARGET", value_delimiter = ',')]
    pub stages: Vec<String>,
    /// Send for this long before measuring; needs -z or --stage
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// Time limit for requests in flight at the end [default: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub grace: Option<String>,
    /// Wait for requests in flight without a limit
    #[arg(short = 'w', long, alias = "wait-ongoing-requests-after-deadline", conflicts_with = "grace")]
    pub wait: bool,
    /// Worker threads [default: one per CPU, at most one per connection]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub workers: Option<String>,
    /// Do only this part of the load, such as `0:1/4`; other machines do the others, and
    /// `knee merge` joins their records
    #[arg(long, value_name = "FROM:TO")]
    pub execution_segment: Option<String>,
    /// The ends of all parts, such as `0,1/4,1/2,1`
    #[arg(long, value_name = "POINTS")]
    pub execution_segment_sequence: Option<String>,
    /// Lift the load limit for this public host; repeatable
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
}

/// What is sent.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Request")]
pub struct RequestFlags {
    /// HTTP method [default: GET; POST with -F]
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Header, as in 'name: value'; repeatable
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
    /// Header `host`; still connects to the URL's host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Basic authentication
    #[arg(short = 'a', long = "basic-auth", value_name = "USER:PASS")]
    pub basic_auth: Option<String>,
    /// Request body
    #[arg(short = 'd', long = "body", value_name = "TEXT", allow_hyphen_values = true)]
    pub body: Option<String>,
    /// Request body from a file
    #[arg(short = 'D', long = "body-file", value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// File of request bodies, one per line; each request sends a random one
    #[arg(short = 'Z', long = "body-lines", value_name = "FILE")]
    pub body_lines: Option<PathBuf>,
    /// Multipart form field, as in 'name=value' or 'name=@file;type=text/csv'; repeatable
    #[arg(short = 'F', long = "form", value_name = "FIELD")]
    pub form: Vec<String>,
    /// File of URLs, one `URL [WEIGHT]` per line; each request takes a random one
    #[arg(long, value_name = "FILE")]
    pub urls_from_file: Option<PathBuf>,
    /// Follow up to N redirects [default: 0]
    #[arg(short = 'r', long = "redirect", value_name = "N", allow_hyphen_values = true)]
    pub redirects: Option<String>,
    /// Time limit per request [default: none]
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// Responses are streams of events: measure the time to the first event and the gaps between events
    #[arg(long)]
    pub stream: bool,
    /// The event with this data ends a response, as in `[DONE]`; without it the server ends it
    #[arg(long, value_name = "TEXT", requires = "stream")]
    pub until: Option<String>,
    /// Do not request or decode compressed responses
    #[arg(long)]
    pub disable_compression: bool,
    /// Size limit of a decoded response body, as in 64m (MiB) [default: 64m]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub decoded_max: Option<String>,
}

/// How it is sent.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Connection")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct ConnectionFlags {
    /// Time limit for DNS, TCP and TLS together [default: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub connect_timeout: Option<String>,
    /// Open a new connection for each request
    #[arg(long)]
    pub disable_keepalive: bool,
    /// Use HTTP/2 only, with TLS and without
    #[arg(long)]
    pub http2: bool,
    /// Version of HTTP, 1.1 or 2 [default: 1.1]
    #[arg(long, value_name = "VERSION", conflicts_with = "http2")]
    pub http_version: Option<String>,
    /// Use IPv4 only
    #[arg(short = '4', long)]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long, conflicts_with = "ipv4")]
    pub ipv6: bool,
    /// Connect to another address, HOST:PORT:HOST:PORT; several for one origin are used in rotation
    #[arg(long, value_name = "FROM:TO")]
    pub connect_to: Vec<String>,
    /// Send all requests through this proxy: http://, https:// or socks5://, with USER:PASSWORD@ if needed
    #[arg(short = 'x', long, value_name = "URL", conflicts_with_all = ["connect_to", "unix_socket"])]
    pub proxy: Option<String>,
    /// Connect to a Unix socket instead of the URL's host
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connect_to", "ipv4", "ipv6"])]
    pub unix_socket: Option<PathBuf>,
    /// Also trust these certificate authorities (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate chain (PEM); needs --key
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Do not verify the server's certificate
    #[arg(long)]
    pub insecure: bool,
}

/// What is shown and saved.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<Format>,
    /// Unit of times in text [default: chosen to fit]
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// Save the run to this file [default: where `knee report` finds it]
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Name of the saved run, for `knee history` and `knee compare --baseline` [default: the host]
    #[arg(long, value_name = "NAME", conflicts_with = "record")]
    pub name: Option<String>,
    /// Send the figures while the load runs, as k6's metrics: experimental-prometheus-rw, opentelemetry or
    /// influxdb=URL/DATABASE; repeatable
    #[arg(long = "out", value_name = "KIND")]
    pub out: Vec<String>,
    /// Print a line per second instead of the live screen
    #[arg(long)]
    pub no_tui: bool,
    /// Redraws of the live screen per second, 1 to 60 [default: 4]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub fps: Option<String>,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Flags of other tools, read to explain what to use instead. Hidden from the help.
#[derive(Args, Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct LaterFlags {
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

/// Spacing of the arrivals of an open load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalKind {
    /// Evenly spaced
    Uniform,
    /// At random, as independent users arrive
    Poisson,
}

/// Result format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file
    Html,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// One row per interval
    Csv,
    /// oha's JSON
    OhaJson,
    /// Nothing; see the exit code and the saved run
    Quiet,
}

/// Format of a saved run's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file
    Html,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// One row per interval
    Csv,
    /// oha's JSON
    OhaJson,
    /// Markdown; of a sweep, a study, a comparison or a file of another tool
    Md,
    /// Locust's four CSV files; needs -o
    LocustCsv,
    /// Nothing; see the exit code and the saved run
    Quiet,
}

impl ReportFormat {
    /// The same format at the end of a run; `None` if only `knee report` has it.
    pub const fn of_one_text(self) -> Option<Format> {
        match self {
            Self::Text => Some(Format::Text),
            Self::Html => Some(Format::Html),
            Self::Json => Some(Format::Json),
            Self::Csv => Some(Format::Csv),
            Self::OhaJson => Some(Format::OhaJson),
            Self::Quiet => Some(Format::Quiet),
            Self::Md | Self::LocustCsv => None,
        }
    }
}
