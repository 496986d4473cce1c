//! What was typed: the command line as `clap` reads it, nothing resolved.
//!
//! Does not judge values, read files or know defaults that depend on the machine; `settings`
//! does. Values stay text here, so that every mistake in them is told in one voice.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use knee_report::number::Unit;

use crate::problem::Problem;

mod compare;

mod run;

mod study;

mod sweep;

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

/// Shown below `--help`.
const EXAMPLES: &str = "\
Examples:
  knee http://127.0.0.1:8080/                  200 requests, 50 connections
  knee URL -c 50 -z 10s                        as fast as 50 connections go
  knee URL -q 1000 -z 1m --warm-up 5s          1,000 requests/s, by plan
  knee URL -q 100 --stage 30s:2000,1m:2000     ramp the rate, then hold it
  knee URL -m POST -T application/json -d '{}' a body
  knee URL -z 10s --output-format json | jq .verdict
  knee report last~1                           the run before the last one
  knee sweep URL --slo 'p99<250ms'             how much can it take
  knee compare URL_A URL_B                     did the change help

Durations: 10s, 1m30s, 500ms; a bare number is seconds. Requests: 200, 1.5k, 2m.
Exit codes: 0 done, 104 bad input, 105 interrupted, 120 invalid measurement.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "knee",
    version,
    about = "Loads an HTTP service, and says of every result whether it can be trusted",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 80,
    override_usage = "knee URL [FLAGS]\n       knee COMMAND"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Subcommands>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    help: HelpFlag,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Help")]
    version: Option<bool>,
}

/// One help for `-h` and `--help`: a line a flag.
#[derive(Args, Clone, Debug, Default)]
struct HelpFlag {
    /// Print this help
    #[arg(short = 'h', long, action = ArgAction::HelpShort, help_heading = "Help")]
    help: Option<bool>,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Show a run that was kept
    Report(ReportArgs),
    /// Bring up a small demo server and load it
    Demo(Box<DemoArgs>),
    /// Run a k6 script
    Run(Box<RunArgs>),
    /// Find out how much a service can take
    Sweep(Box<SweepArgs>),
    /// Compare variants of a service, interleaved, and say what the change did
    Study(Box<StudyArgs>),
    /// Compare two URLs or commands, driven in turns, or two runs that were kept
    Compare(Box<CompareArgs>),
    /// Find out what noise alone does on this machine, and keep it
    Calibrate(Box<CalibrateArgs>),
    /// Explain a validity warning: its limits, cause and remedy
    Explain(ExplainArgs),
}

/// What to do, as typed.
#[derive(Debug)]
pub enum Invocation {
    /// Load a URL.
    Load(Box<LoadArgs>),
    /// Show a run that was kept.
    Report(ReportArgs),
    /// Load a server that this command brings up itself.
    Demo(Box<DemoArgs>),
    /// Run a k6 script.
    Run(Box<RunArgs>),
    /// Find out how much a service can take.
    Sweep(Box<SweepArgs>),
    /// Compare variants of a service.
    Study(Box<StudyArgs>),
    /// Compare two targets, or two runs.
    Compare(Box<CompareArgs>),
    /// Measure the noise of this machine.
    Calibrate(Box<CalibrateArgs>),
    /// Explain a validity warning.
    Explain(ExplainArgs),
}

/// `knee explain`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExplainArgs {
    /// The code in brackets behind a warning or a note; without it all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    #[command(flatten)]
    help: HelpFlag,
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

/// Why nothing is to be done.
#[derive(Debug)]
pub enum Refused {
    /// Help or the version was asked for: text for stdout.
    Shown(String),
    /// The command line is wrong.
    Problem(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Reads the command line; the first item is the program's name.
///
/// # Errors
///
/// [`Refused::Shown`] for `--help` and `--version`, else what is wrong.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Invocation, Refused> {
    let line: Vec<OsString> = line.into_iter().collect();
    refuse_single_dashes(&line)?;
    refuse_commands_of_k6(&line)?;
    let cli = Cli::try_parse_from(&line).map_err(|error| explain(&error))?;
    Ok(match cli.command {
        Some(Subcommands::Report(args)) => Invocation::Report(args),
        Some(Subcommands::Demo(args)) => Invocation::Demo(args),
        Some(Subcommands::Run(args)) => Invocation::Run(args),
        Some(Subcommands::Sweep(args)) => Invocation::Sweep(args),
        Some(Subcommands::Study(args)) => Invocation::Study(args),
        Some(Subcommands::Compare(args)) => Invocation::Compare(args),
        Some(Subcommands::Calibrate(args)) => Invocation::Calibrate(args),
        Some(Subcommands::Explain(args)) => Invocation::Explain(args),
        None => Invocation::Load(Box::new(cli.load)),
    })
}

/// hey writes long flags with one dash. Read as a cluster of short flags they would mean something
/// else: `-disable-keepalive` is `-d` with the body `isable-keepalive`.
fn refuse_single_dashes(line: &[OsString]) -> Result<(), Problem> {
    const HEY: [(&str, &str); 6] = [
        ("-disable-compression", "write `--disable-compression`"),
        ("-disable-keepalive", "write `--disable-keepalive`"),
        ("-disable-redirects", "leave it out: redirects are not followed unless `-r` says so"),
        ("-host", "write `--host`"),
        ("-cpus", "write `--workers`"),
        ("-h2", "leave it out: this version speaks HTTP/1.1; HTTP/2 comes later"),
    ];
    let found = line.iter().skip(1).find_map(|typed| {
        let name = typed.to_str()?.split('=').next()?;
        HEY.iter().find(|(flag, _)| *flag == name)
    });
    match found {
        Some((flag, hint)) => Err(Problem::new(format!("`{flag}` has one dash; long flags have two"), *hint)),
        None => Ok(()),
    }
}

/// Commands of k6 that are none here. A single word could be the name of a host, so it takes a second one, or a
/// word that nobody calls a host.
fn refuse_commands_of_k6(line: &[OsString]) -> Result<(), Problem> {
    const ALONE: &str = "a run is on this machine alone, and is steered by signals";
    const K6: [(&str, &str); 10] = [
        (
            "archive",
            "run the script itself; `knee.lock` beside it holds modules from the network to their bytes",
        ),
        ("inspect", "`knee run SCRIPT` checks the script and its options before it sends anything"),
        ("cloud", ALONE),
        ("login", ALONE),
        ("pause", ALONE),
        ("resume", ALONE),
        ("scale", ALONE),
        ("stats", ALONE),
        ("new", "docs/guide/k6.md has a script to begin with"),
        ("version", "write `knee --version`"),
    ];
    let mut words = line.iter().skip(1).filter_map(|word| word.to_str());
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let known = K6.iter().find(|(name, _)| *name == first);
    match known {
        Some((name, hint)) if second.is_some() || matches!(*name, "archive" | "inspect" | "version") => {
            Err(Problem::new(format!("`{name}` is a command of k6, and none of knee"), *hint))
        }
        _ => Ok(()),
    }
}

/// An error of `clap` in this program's voice.
fn explain(error: &clap::Error) -> Refused {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = flag_name(&context(ContextKind::InvalidArg));
    let value = context(ContextKind::InvalidValue);
    let (what, hint) = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Refused::Shown(error.to_string()),
        ErrorKind::UnknownArgument => unknown(&argument, &context(ContextKind::SuggestedArg)),
        ErrorKind::InvalidValue if value.is_empty() => {
            (format!("`{argument}` has no value"), format!("write `{argument} VALUE`"))
        }
        ErrorKind::InvalidValue => (
            format!("`{value}` is not a value of `{argument}`"),
            format!("use one of: {}", context(ContextKind::ValidValue)),
        ),
        ErrorKind::ValueValidation => {
            (format!("`{value}` is not a value of `{argument}`"), "see `knee --help`".to_owned())
        }
        ErrorKind::ArgumentConflict => conflict(&argument, &flag_name(&context(ContextKind::PriorArg))),
        ErrorKind::InvalidUtf8 => ("an argument is not UTF-8".to_owned(), String::new()),
        _ => (first_line(error), "see `knee --help`".to_owned()),
    };
    Problem::new(what, hint).into()
}

fn unknown(argument: &str, suggested: &str) -> (String, String) {
    if !argument.starts_with('-') {
        return (
            format!("`{argument}` is one argument too many"),
            "give one URL; a value with spaces needs quotes".to_owned(),
        );
    }
    // clap also suggests what has little in common; one wrong letter in three is a slip, more is not.
    let is_slip = strsim::damerau_levenshtein(argument, suggested) * 3 <= argument.len();
    let hint = if is_slip {
        format!("did you mean `{suggested}`? `knee --help` lists every flag")
    } else {
        "`knee --help` lists every flag".to_owned()
    };
    (format!("there is no flag `{argument}`"), hint)
}

fn conflict(argument: &str, prior: &str) -> (String, String) {
    if argument.is_empty() {
        return (
            "there are several arguments where one URL is expected".to_owned(),
            "give one URL, or a file of URLs with `--urls-from-file`; a value with spaces needs quotes"
                .to_owned(),
        );
    }
    if prior.is_empty() || prior == argument {
        return (format!("`{argument}` is given more than once"), "give it once".to_owned());
    }
    (format!("`{argument}` and `{prior}` exclude each other"), "leave one of them out".to_owned())
}

/// `--stage <DURATION:TARGET>` without the placeholder.
fn flag_name(shown: &str) -> String {
    shown.split(" <").next().unwrap_or(shown).trim_matches(['<', '>', '[', ']']).to_owned()
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// The whole help of the program, as `--help` prints it.
pub fn help() -> String {
    Cli::command().render_help().to_string()
}
