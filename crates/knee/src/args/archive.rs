//! The flags of `knee archive` and `knee inspect`: those of k6.
//!
//! As typed.

use std::path::PathBuf;

use clap::Args;

use super::HelpFlag;
use super::run::{ModuleFlags, RunArgs, RunHttpFlags, RunLoadFlags, RunScriptFlags};

/// `knee archive`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, args_override_self = true, after_help = EXAMPLES)]
pub struct ArchiveArgs {
    /// The script: a file, an https:// URL, an archive, or `-` for standard input
    #[arg(value_name = "SCRIPT")]
    pub script: String,
    /// Write to this file; `-` is stdout
    #[arg(short = 'O', long, value_name = "FILE", default_value = "archive.tar")]
    pub archive_out: PathBuf,
    /// Leave variables out of the archive
    #[arg(long)]
    pub exclude_env_vars: bool,
    /// How much, and when.
    #[command(flatten)]
    pub load: RunLoadFlags,
    /// What the script is given.
    #[command(flatten)]
    pub script_flags: RunScriptFlags,
    /// Where its modules come from.
    #[command(flatten)]
    pub modules: ModuleFlags,
    /// How requests are made.
    #[command(flatten)]
    pub http: RunHttpFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee archive -u 10 -d 1m -O shop.tar shop.js
  knee run shop.tar                  also on machines without the script's files

k6 runs such archives too, and knee those of k6. An archive has the script, all
files that it read, its options, and variables given with -e.";

/// `knee inspect`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, args_override_self = true)]
pub struct InspectArgs {
    /// The script: a file, an https:// URL, an archive, or `-` for standard input
    #[arg(value_name = "SCRIPT")]
    pub script: String,
    /// Add the scenarios that shortcuts stand for, the longest duration and the most VUs
    #[arg(long)]
    pub execution_requirements: bool,
    /// What the script is given.
    #[command(flatten)]
    pub script_flags: RunScriptFlags,
    /// Where its modules come from.
    #[command(flatten)]
    pub modules: ModuleFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

impl ArchiveArgs {
    /// The run that the archive is of.
    pub fn run(&self) -> RunArgs {
        let Self { script, load, script_flags, modules, http, .. } = self.clone();
        let script_flags = without_environment(script_flags);
        RunArgs { script, load, script_flags, modules, http, ..RunArgs::default() }
    }
}

impl InspectArgs {
    /// The run that is looked at.
    pub fn run(&self) -> RunArgs {
        let Self { script, script_flags, modules, .. } = self.clone();
        RunArgs { script, script_flags: without_environment(script_flags), modules, ..RunArgs::default() }
    }
}

/// As in k6, the environment of this process is no part of an archive unless that was asked for.
fn without_environment(flags: RunScriptFlags) -> RunScriptFlags {
    let include_system_env_vars = flags.include_system_env_vars.or_else(|| Some("false".to_owned()));
    RunScriptFlags { include_system_env_vars, ..flags }
}
