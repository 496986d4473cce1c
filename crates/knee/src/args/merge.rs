//! The flags of `knee merge`.
//!
//! As typed.

use std::path::PathBuf;

use clap::Args;
use knee_report::number::Unit;

use super::{Format, HelpFlag, unit};

/// `knee merge`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct MergeArgs {
    /// The records of all parts, in any order: files, or names from `knee report --list`
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<String>,
    /// Save the merged run to this file [default: where `knee report` finds it]
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Name of the saved run, for `knee history` and `knee compare --baseline` [default: merged]
    #[arg(long, value_name = "NAME", conflicts_with = "record")]
    pub name: Option<String>,
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub output_format: Format,
    /// Unit of times in text [default: chosen to fit]
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit())]
    pub time_unit: Option<Unit>,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples, with two machines:
  one$ knee URL -q 1000 -z 1m --execution-segment 0:1/2 --record one.knee
  two$ knee URL -q 1000 -z 1m --execution-segment 1/2:1 --record two.knee
       knee merge one.knee two.knee     one result, with exact percentiles

Each machine sends its part of 1,000 requests/s. Scripts take the same flag.
With more than two parts, also give --execution-segment-sequence.
Exit codes: those of `knee URL`; 120 if the merged result is invalid.";
