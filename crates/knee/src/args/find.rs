//! The flags of `knee find`: what is searched, its load, the proof, the output.
//!
//! As typed. The flags of a load are those of `knee URL`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use knee_report::number::Unit;

use super::observe::ObserveFlags;
use super::web::WebFlags;
use super::{AmountFlags, ConnectionFlags, HelpFlag, RequestFlags, unit};

/// `knee find`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct FindArgs {
    /// URL to load, or folder with a study.toml
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// What is searched of a study, and how it is proven.
    #[command(flatten)]
    pub study: SearchFlags,
    /// Of a URL: look at its limit, which a short sweep finds first; -z sets the time of the sweep [default: 60s]
    #[arg(long, help_heading = "Load")]
    pub sweep: bool,
    /// Load of a URL.
    #[command(flatten)]
    pub amount: AmountFlags,
    /// What is sent to a URL.
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
    pub output: FindOutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee find http://127.0.0.1:8080/tasks --observe host --observe postgres://reader@db/shop
  knee find URL -q 200 -z 30s              at a given rate
  knee find URL --sweep --observe host     at the limit, which it finds first
  knee find labs/todos --variant limit     start it, look, and prove the remedy
  knee find labs/todos --no-proof          start it and look

A URL is loaded for 15 s by 20 connections unless a flag says otherwise. With
--sweep, steps of 4 s raise the load until the service no longer keeps up, and
the findings are those of the first level beyond; this is for a URL alone. A
study is started with its databases, observed and loaded. If knee can apply the
remedy by itself to what it started, it runs the variant with and without the
remedy.
Exit codes:
  0    there is an answer
  121  the remedy makes the service slower by more than the margin
  120  the load, or the proof, is not valid
  105  the search was interrupted
  104  the input is wrong";

/// What is searched of a study, and how it is proven.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Study")]
pub struct SearchFlags {
    /// Variant to look at [default: the baseline]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Workload that loads it [default: the first]
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Look, but do not try the remedy
    #[arg(long)]
    pub no_proof: bool,
    /// Time limit of the proof [default: 10m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub proof_time: Option<String>,
    /// Let the generator share its CPUs with services and databases [default: it has CPUs of its own]
    #[arg(long)]
    pub share_cpus: bool,
}

/// What is shown and saved.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct FindOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<FindFormat>,
    /// Unit of times in text [default: chosen to fit]
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// Do not print the progress of the load and each trial
    #[arg(long)]
    pub quiet: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Result format of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FindFormat {
    /// For people
    #[default]
    Text,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// A page in one file, for a browser
    Html,
}
