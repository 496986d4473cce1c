//! The command line as a whole: commands, and what is said to one that cannot be read.
//!
//! Does not know the flags of a command; the files beside it do.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use super::compare::{CalibrateArgs, CompareArgs};
use super::run::RunArgs;
use super::study::StudyArgs;
use super::sweep::SweepArgs;
use super::{DemoArgs, HelpFlag, LoadArgs, ReportArgs};
use crate::problem::Problem;

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
