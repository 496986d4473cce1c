//! The flags of `knee study`: which study, which trials, which output.
//!
//! As typed. The study itself is declared in its `study.toml`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::observe::ObserveFlags;
use super::web::WebFlags;
use super::{FleetFlags, HelpFlag, ServiceHostFlag};

/// `knee study`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct StudyArgs {
    /// Folder with a study.toml, or the file itself
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Which trials run.
    #[command(flatten)]
    pub extent: ExtentFlags,
    /// What is watched beside the load of each trial.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// What is shown and saved.
    #[command(flatten)]
    pub output: StudyOutputFlags,
    /// The live page.
    #[command(flatten)]
    pub web: WebFlags,
    /// Which machines make the load of each trial.
    #[command(flatten)]
    pub fleet: FleetFlags,
    /// How they reach what is started.
    #[command(flatten)]
    pub service_host: ServiceHostFlag,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee study labs/lorem-news --quick
  knee study labs/lorem-news --variant stock --variant enhanced
  knee study labs/lorem-news --resume
  knee study labs/lorem-news --up stock            start it and look at it
  knee study labs/lorem-news --report-only
  knee study labs/lorem-news --report-only --output-format json";

/// Which trials of a study run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Trials")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct ExtentFlags {
    /// Fewer blocks and shorter trials; detects only large changes
    #[arg(long)]
    pub quick: bool,
    /// Run only this variant and the baseline; repeat for more variants
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Number of blocks [default: as the study declares]
    #[arg(long, value_name = "N")]
    pub blocks: Option<usize>,
    /// Continue a stopped study with its saved trials
    #[arg(long)]
    pub resume: bool,
    /// Write the documents again from saved trials; start and run nothing
    #[arg(long, conflicts_with_all = ["resume", "dry_run", "web"])]
    pub report_only: bool,
    /// Run only an A/A test of this variant
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["variants", "resume"])]
    pub aa: Option<String>,
    /// List the trials and their duration; run none
    #[arg(long, conflicts_with = "web")]
    pub dry_run: bool,
    /// Let the generator share its CPUs with services and databases [default: it has CPUs of its own]
    #[arg(long)]
    pub share_cpus: bool,
    /// Start a variant with its stores [default: the baseline], print its address, and keep it until Ctrl-C
    #[arg(long, value_name = "VARIANT", num_args = 0..=1, conflicts_with_all = ["variants", "blocks", "resume", "report_only", "aa", "dry_run", "web"])]
    pub up: Option<Option<String>>,
}

/// What is shown and saved.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct StudyOutputFlags {
    /// Write the result to a file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Result format [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<StudyFormat>,
    /// Draw the pictures in this folder too
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// Do not print each trial
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// No colours; the variable `NO_COLOR` does the same
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
    /// Send the figures of each trial while it runs, as k6's metrics: experimental-prometheus-rw, opentelemetry or
    /// influxdb=URL/DATABASE; repeatable
    #[arg(long = "out", value_name = "KIND", conflicts_with_all = ["report_only", "dry_run", "up"])]
    pub out: Vec<String>,
}

/// Result format of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// For people
    #[default]
    Text,
    /// A page for a browser, in one file
    Html,
    /// Markdown, for a document
    Md,
    /// Everything, for programs
    Json,
}
