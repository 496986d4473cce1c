//! The command line as a whole: commands, and errors of command lines that cannot be read.
//!
//! Does not know the flags of a command; the files beside it do.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::agent::{AgentArgs, FleetArgs};
use super::archive::{ArchiveArgs, InspectArgs};
use super::audit::AuditArgs;
use super::compare::{CalibrateArgs, CompareArgs};
use super::doctor::DoctorArgs;
use super::find::FindArgs;
use super::history::HistoryArgs;
use super::merge::MergeArgs;
use super::run::RunArgs;
use super::serve::ServeArgs;
use super::shell::{CompletionsArgs, ManArgs};
use super::study::StudyArgs;
use super::sweep::SweepArgs;
use super::web::WebFlags;
use super::{DemoArgs, ExplainArgs, HelpFlag, LoadArgs, ReportArgs, TourArgs, brief, words};
use crate::problem::Problem;

/// Shown below `--help`.
const EXAMPLES: &str = "\
Examples:
  knee http://127.0.0.1:8080/                  200 requests, 50 connections
  knee URL -c 50 -z 10s                        closed load: 50 connections
  knee URL -q 1000 -z 1m --warm-up 5s          open load: 1,000 requests/s
  knee URL -q 100 --stage 30s:2000,1m:2000     ramp to 2,000/s, then hold it
  knee URL -m POST -T application/json -d '{}' POST a body
  knee URL -z 10s --output-format json | jq .validity
  knee URL -z 10m --web                        watch the load in a browser
  knee run script.js                           run a k6 script
  knee report last~1                           show the run before the last
  knee history checkout --trend                how runs of a name changed
  knee sweep URL --slo 'p99<250ms'             find the capacity
  knee find URL --observe host                 find what stops it
  knee compare URL_A URL_B                     test whether B is slower
  knee doctor                                  is this machine fit to measure?
  knee audit README.md results.json            check what other tools printed
  knee URL --nats URL --agents 4               let four machines make the load

Durations: 10s, 1m30s, 500ms; a bare number is seconds. Requests: 200, 1.5k, 2m.
Exit codes: 0 done, 104 bad input, 105 interrupted, 120 invalid result.
`knee COMMAND --help` lists the flags of a command.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "knee",
    version,
    about = "HTTP load generator that checks its own measurements",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 80,
    override_usage = "knee URL [FLAGS]\n       knee COMMAND"
)]
pub(super) struct Cli {
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

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Show or list saved runs
    Report(ReportArgs),
    /// List what is saved, and show how runs changed over time
    History(HistoryArgs),
    /// Serve everything saved to a browser of this machine, until interrupted
    Serve(ServeArgs),
    /// Merge the records of several machines that each did a part of a load
    Merge(MergeArgs),
    /// Wait for controllers, and make parts of their loads
    Agent(AgentArgs),
    /// List, stop or take over what the agents of a fleet do
    Fleet(FleetArgs),
    /// Start a small demo server and load it
    Demo(Box<DemoArgs>),
    /// Run a k6 script
    Run(Box<RunArgs>),
    /// Write a k6 script with all it needs into one file
    Archive(Box<ArchiveArgs>),
    /// Show the options of a k6 script as JSON
    Inspect(Box<InspectArgs>),
    /// Find the capacity of a service by loading it in steps
    Sweep(Box<SweepArgs>),
    /// Find what stops a service, and prove the remedy on what knee started
    Find(Box<FindArgs>),
    /// Compare variants of a service as a study.toml declares
    Study(Box<StudyArgs>),
    /// Compare two URLs, commands or saved runs
    Compare(Box<CompareArgs>),
    /// Measure the noise floor of this machine
    Calibrate(Box<CalibrateArgs>),
    /// Check whether this machine is fit to measure, in about 2 s
    Doctor(DoctorArgs),
    /// Check the printed results of load testing tools: which figures cannot be true
    Audit(AuditArgs),
    /// Explain a validity warning or a finding: its limits, cause and remedy
    Explain(ExplainArgs),
    /// Show a load test, a sweep, what stops it and a comparison on a demo server, in about 90 s
    Tour(TourArgs),
    /// Print what makes a shell complete commands and flags
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(ManArgs),
}

/// What to do, as typed.
#[derive(Debug)]
pub enum Invocation {
    /// Load a URL.
    Load(Box<LoadArgs>),
    /// Show or list saved runs.
    Report(ReportArgs),
    /// List what is saved.
    History(HistoryArgs),
    /// Serve what is saved.
    Serve(ServeArgs),
    /// Merge the records of the parts of a load.
    Merge(MergeArgs),
    /// Wait for controllers.
    Agent(AgentArgs),
    /// List, stop or take over what agents do.
    Fleet(FleetArgs),
    /// Load a server that this command starts.
    Demo(Box<DemoArgs>),
    /// Run a k6 script.
    Run(Box<RunArgs>),
    /// Write a script with all it needs into one file.
    Archive(Box<ArchiveArgs>),
    /// Show the options of a script.
    Inspect(Box<InspectArgs>),
    /// Find the capacity of a service.
    Sweep(Box<SweepArgs>),
    /// Find what stops a service.
    Find(Box<FindArgs>),
    /// Compare variants of a service.
    Study(Box<StudyArgs>),
    /// Compare two targets, or two runs.
    Compare(Box<CompareArgs>),
    /// Measure the noise floor of this machine.
    Calibrate(Box<CalibrateArgs>),
    /// Check whether this machine is fit to measure.
    Doctor(DoctorArgs),
    /// Check what other tools printed.
    Audit(AuditArgs),
    /// Show the main commands on a demo server.
    Tour(TourArgs),
    /// Explain a validity warning or a finding.
    Explain(ExplainArgs),
    /// Print what makes a shell complete words.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Man(ManArgs),
}

impl Invocation {
    /// The live page, if the command sends load, and the name of the command.
    pub fn web(&self) -> Option<(&WebFlags, &'static str)> {
        match self {
            Self::Load(args) => Some((&args.flags.web, "run")),
            Self::Demo(args) => Some((&args.flags.web, "demo")),
            Self::Run(args) => Some((&args.web, "run")),
            Self::Sweep(args) => Some((&args.web, "sweep")),
            Self::Find(args) => Some((&args.web, "find")),
            Self::Study(args) => Some((&args.web, "study")),
            Self::Compare(args) => Some((&args.web, "compare")),
            Self::Calibrate(args) => Some((&args.web, "calibrate")),
            Self::Report(_)
            | Self::History(_)
            | Self::Serve(_)
            | Self::Merge(_)
            | Self::Archive(_)
            | Self::Inspect(_)
            | Self::Agent(_)
            | Self::Fleet(_)
            | Self::Doctor(_)
            | Self::Audit(_)
            | Self::Tour(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Explain(_) => None,
        }
    }
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum Refused {
    /// Help or version: text for stdout.
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
    let line = words::asks_for_help(line.into_iter().collect(), &Cli::command());
    words::check(&line, &Cli::command())?;
    let (line, command) = brief::chosen(line, Cli::command());
    let cli = command
        .try_get_matches_from(&line)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| explain(&error, &line))?;
    Ok(match cli.command {
        Some(Subcommands::Report(args)) => Invocation::Report(args),
        Some(Subcommands::History(args)) => Invocation::History(args),
        Some(Subcommands::Serve(args)) => Invocation::Serve(args),
        Some(Subcommands::Merge(args)) => Invocation::Merge(args),
        Some(Subcommands::Agent(args)) => Invocation::Agent(args),
        Some(Subcommands::Fleet(args)) => Invocation::Fleet(args),
        Some(Subcommands::Demo(args)) => Invocation::Demo(args),
        Some(Subcommands::Run(args)) => Invocation::Run(args),
        Some(Subcommands::Archive(args)) => Invocation::Archive(args),
        Some(Subcommands::Inspect(args)) => Invocation::Inspect(args),
        Some(Subcommands::Sweep(args)) => Invocation::Sweep(args),
        Some(Subcommands::Find(args)) => Invocation::Find(args),
        Some(Subcommands::Study(args)) => Invocation::Study(args),
        Some(Subcommands::Compare(args)) => Invocation::Compare(args),
        Some(Subcommands::Calibrate(args)) => Invocation::Calibrate(args),
        Some(Subcommands::Doctor(args)) => Invocation::Doctor(args),
        Some(Subcommands::Audit(args)) => Invocation::Audit(args),
        Some(Subcommands::Explain(args)) => Invocation::Explain(args),
        Some(Subcommands::Tour(args)) => Invocation::Tour(args),
        Some(Subcommands::Completions(args)) => Invocation::Completions(args),
        Some(Subcommands::Man(args)) => Invocation::Man(args),
        None => Invocation::Load(Box::new(cli.load)),
    })
}

/// What to do about a word that belongs to no flag.
const VALUES: &str = "give each value its flag, as in `-z 10s`; quote values with spaces; for several URLs use \
                      `--urls-from-file`";

/// A `clap` error in this program's words.
fn explain(error: &clap::Error, line: &[OsString]) -> Refused {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = flag_name(&context(ContextKind::InvalidArg));
    let value = context(ContextKind::InvalidValue);
    let (what, hint) = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Refused::Shown(error.to_string()),
        ErrorKind::UnknownArgument => unknown(&argument, &context(ContextKind::SuggestedArg), line),
        ErrorKind::MissingRequiredArgument => (
            format!("`{}` is missing", context(ContextKind::InvalidArg).replace(['<', '>'], "")),
            words::example(line).map_or_else(|| see_help(line), str::to_owned),
        ),
        ErrorKind::InvalidValue if value.is_empty() => {
            (format!("`{argument}` has no value"), format!("write `{argument} VALUE`"))
        }
        ErrorKind::InvalidValue => (
            format!("`{value}` is not a value of `{argument}`"),
            format!("use one of: {}", context(ContextKind::ValidValue)),
        ),
        ErrorKind::ValueValidation => {
            let is_switch = context(ContextKind::InvalidArg).ends_with("[=<BOOL>]");
            let hint = if is_switch { "write true or false".to_owned() } else { see_help(line) };
            (format!("`{value}` is not a value of `{argument}`"), hint)
        }
        ErrorKind::ArgumentConflict => conflict(&argument, &flag_name(&context(ContextKind::PriorArg))),
        ErrorKind::InvalidUtf8 => ("an argument is not UTF-8".to_owned(), String::new()),
        _ => (first_line(error), see_help(line)),
    };
    Problem::new(what, hint).into()
}

/// The hint for mistakes of which no more is known.
fn see_help(line: &[OsString]) -> String {
    format!("see `{}`", words::help(line, &Cli::command()))
}

fn unknown(argument: &str, suggested: &str, line: &[OsString]) -> (String, String) {
    if !argument.starts_with('-') {
        return (format!("`{argument}` is one argument too many"), VALUES.to_owned());
    }
    if let Some(hint) = words::instead_of(argument, words::is_run(line)) {
        return (format!("there is no flag `{argument}`"), hint.to_owned());
    }
    // clap also suggests what has little in common; one wrong letter in three is a slip, more is not.
    let is_slip = strsim::damerau_levenshtein(argument, suggested) * 3 <= argument.len();
    let all = format!("`{}` lists every flag", words::help(line, &Cli::command()));
    let hint = if is_slip { format!("did you mean `{suggested}`? {all}") } else { all };
    (format!("there is no flag `{argument}`"), hint)
}

fn conflict(argument: &str, prior: &str) -> (String, String) {
    if argument.is_empty() {
        return ("more than one argument without a flag: `knee` takes one URL".to_owned(), VALUES.to_owned());
    }
    if prior.is_empty() || prior == argument {
        return (format!("`{argument}` is given more than once"), "give it once".to_owned());
    }
    (format!("`{argument}` and `{prior}` exclude each other"), "leave one of them out".to_owned())
}

/// `--stage <DURATION:TARGET>` or `--quiet[=<BOOL>]` without the placeholder.
fn flag_name(shown: &str) -> String {
    let name = shown.split(" <").next().unwrap_or(shown);
    name.split("[=").next().unwrap_or(name).trim_matches(['<', '>', '[', ']']).to_owned()
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// The command that a word was meant to be, if it is close to one.
pub fn meant_command(word: &str) -> Option<String> {
    words::meant_command(word, &Cli::command())
}

/// All commands and flags.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// The whole help of the program, as `--help-all` prints it.
pub fn help() -> String {
    Cli::command().render_help().to_string()
}
