//! The command line as `clap` knows it: the commands, and the flags without one.
//!
//! Does not parse; `command_line` does.

use clap::{ArgAction, Parser, Subcommand};

use super::compare::{CalibrateArgs, CompareArgs};
use super::run::RunArgs;
use super::study::StudyArgs;
use super::sweep::SweepArgs;
use super::{DemoArgs, HelpFlag, LoadArgs, ReportArgs, TourArgs};

/// Shown below `--help`.
const EXAMPLES: &str = "\
Examples:
  knee http://127.0.0.1:8080/                  200 requests, 50 connections
  knee URL -c 50 -z 10s                        closed load: 50 connections for 10 s
  knee URL -q 1000 -z 1m --warm-up 5s          open load: 1,000 requests/s
  knee URL -q 100 --stage 30s:2000,1m:2000     ramp to 2,000/s, then hold it
  knee URL -m POST -T application/json -d '{}' POST a body
  knee URL -z 10s --output-format json | jq .verdict
  knee run script.js                           run a k6 script
  knee report last~1                           show the run before the last
  knee sweep URL --slo 'p99<250ms'             find the capacity
  knee compare URL_A URL_B                     test whether B is slower

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
    pub(super) command: Option<Subcommands>,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    help: HelpFlag,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Help")]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Subcommands {
    /// Show or list saved runs
    Report(ReportArgs),
    /// Start a small demo server and load it
    Demo(Box<DemoArgs>),
    /// Run a k6 script
    Run(Box<RunArgs>),
    /// Find the capacity of a service by loading it in steps
    Sweep(Box<SweepArgs>),
    /// Compare variants of a service as a study.toml declares
    Study(Box<StudyArgs>),
    /// Compare two URLs, commands or saved runs
    Compare(Box<CompareArgs>),
    /// Measure the noise floor of this machine
    Calibrate(Box<CalibrateArgs>),
    /// Show a load test, a sweep and a comparison on a demo server, in about 90 s
    Tour(TourArgs),
}
