//! The flags of `knee completions` and `knee man`.
//!
//! As typed.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::HelpFlag;

/// `knee completions`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// `knee man`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true)]
pub struct ManArgs {
    /// The folder for the pages, which exists
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee completions bash > /etc/bash_completion.d/knee
  knee completions zsh > ~/.zfunc/_knee
  knee completions fish > ~/.config/fish/completions/knee.fish";
