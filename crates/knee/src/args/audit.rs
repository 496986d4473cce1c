//! The flags of `knee audit`: outputs, what is known of them, and the format of the result.
//!
//! As typed; the command reads the files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::HelpFlag;

/// `knee audit`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct AuditArgs {
    /// Outputs of load testing tools, or texts that quote them; `-` reads stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Connections of a closed load, for outputs that do not contain them
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub connections: Option<u64>,
    /// Result format
    #[arg(long, alias = "output-format", value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: AuditFormat,
    /// Write the result to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Format of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// For people
    #[default]
    Text,
    /// Everything, for programs; docs/reference has its schema
    Json,
    /// Nothing; see the exit code
    Quiet,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee audit README.md                  tables, outputs and statements of a text
  knee audit summary.json               k6's summary
  hey -z 10s -c 50 URL | knee audit -c 50 -

Reads k6, oha, hey, wrk, wrk2, ab, vegeta, Locust and Markdown. The content
decides about the format, not the name of the file.
Exit codes:
  0    consistent: nothing contradicts the rest
  120  figures cannot be true, or are misleading
  104  a file cannot be read, or its format is not known";
