//! The flags of `knee study`: which study, how much of it, and what is made of it.
//!
//! As typed. What a study is stands in its `study.toml`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::HelpFlag;

/// `knee study`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct StudyArgs {
    /// The folder with the study.toml, or the file itself
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// How much of it is run.
    #[command(flatten)]
    pub extent: ExtentFlags,
    /// What is shown and kept.
    #[command(flatten)]
    pub output: StudyOutputFlags,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee study labs/lorem-news --quick
  knee study labs/lorem-news --variant stock --variant enhanced
  knee study labs/lorem-news --resume
  knee study labs/lorem-news --output-format md -o README.md --plots plots
  knee study labs/lorem-news --report-only --output-format json";

/// How much of a study is run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Extent")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct ExtentFlags {
    /// Fewer blocks and shorter trials; only large changes are told
    #[arg(long)]
    pub quick: bool,
    /// Only this variant and the baseline; repeat for more
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// So many blocks in place of the study's own number
    #[arg(long, value_name = "N")]
    pub blocks: Option<usize>,
    /// Go on where this study was stopped, with the trials it has kept
    #[arg(long)]
    pub resume: bool,
    /// Make the result again from the trials that were kept; nothing is brought up or run
    #[arg(long, conflicts_with_all = ["quick", "variants", "blocks", "resume", "aa", "dry_run"])]
    pub report_only: bool,
    /// Run only an A/A test of this variant
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["variants", "resume"])]
    pub aa: Option<String>,
    /// Say which trials would be run and how long they take, and run none
    #[arg(long)]
    pub dry_run: bool,
}

/// What is shown and kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct StudyOutputFlags {
    /// Write the result to a file instead of stdout; Markdown goes between the lines
    /// <!-- results: begin --> and <!-- results: end --> of a file that has them
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the result [default: text]
    #[arg(long, alias = "format", value_name = "FORMAT", value_enum)]
    pub output_format: Option<StudyFormat>,
    /// Draw timeline, effects and growth as SVGs in this folder; Markdown shows them
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// No line a trial
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// No colours; so does the environment variable `NO_COLOR`
    #[arg(long, alias = "disable-color")]
    pub no_color: bool,
}

/// Form of a study's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// For people
    #[default]
    Text,
    /// Markdown, for a document
    Md,
    /// Everything, for programs
    Json,
}
