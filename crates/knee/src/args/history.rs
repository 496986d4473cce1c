//! The flags of `knee history`.
//!
//! As typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::HelpFlag;

/// `knee history`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct HistoryArgs {
    /// A part of a name or of a target: list only these [default: list all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Show how goodput, p50 and p99 changed over runs that can be compared
    #[arg(long)]
    pub trend: bool,
    /// Most rows of the list [default: 50 in text, all in JSON]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub limit: Option<String>,
    /// Format
    #[arg(long, alias = "output-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: HistoryFormat,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Format of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file, with the trends
    Html,
    /// Everything, for programs
    Json,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee URL -q 500 -z 30s --name checkout   save a run with a name
  knee history                             what is saved, newest first
  knee history checkout --trend            whether it became faster or slower
  knee compare --baseline checkout         the last run beside the one before

Runs with the same sign in the column LIKE have the same plan, target and
machine. Only these are compared. A trend needs 12 of them, and says from which
run on a figure has changed persistently.";
