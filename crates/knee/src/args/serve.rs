//! The flags of `knee serve`.
//!
//! As typed; `settings::web` says what an address means.

use std::path::PathBuf;

use clap::Args;

use super::HelpFlag;

/// `knee serve`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where the pages are served [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR:PORT", default_value = "", hide_default_value = true)]
    pub listen: String,
    /// Print a second URL: who opens it can start one load at a time
    #[arg(long)]
    pub control: bool,
    /// Scripts (*.js, *.ts) and studies in this folder can be started; repeatable
    #[arg(long, value_name = "DIR", requires = "control")]
    pub folder: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee serve                        everything saved, in a browser of this machine
  knee serve --listen :8089         the same at a port of your choice
  knee serve --control --folder .   can also start loads of URLs, and the scripts
                                    and studies of this folder

The URL on stderr has a token, and only who has it sees the pages. They change
nothing; starting loads needs the second URL. From another machine, use a
tunnel: ssh -L 8089:127.0.0.1:8089 HOST";
