//! The flags of `knee doctor`: the format of the result.
//!
//! As typed; the command looks at the machine.

use clap::{Args, ValueEnum};

use super::HelpFlag;

/// `knee doctor`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = CODES)]
pub struct DoctorArgs {
    /// Print the result as JSON; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Result format
    #[arg(long, alias = "output-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: DoctorFormat,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Format of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// For people
    #[default]
    Text,
    /// Everything, for programs
    Json,
    /// Nothing; see the exit code
    Quiet,
}

/// Shown below the help.
const CODES: &str = "\
Sends no load, leaves nothing behind. Keeps all CPUs busy for 1 s, so run it
while nothing is measured. docs/reference/doctor.md explains the checks.
Exit codes:
  0    fit to measure, perhaps within limits
  120  not fit: results from this machine would be invalid";
