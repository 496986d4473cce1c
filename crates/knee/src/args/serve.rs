//! The flags of `knee serve`.
//!
//! As typed; `settings::web` says what an address means.

use clap::Args;

use super::HelpFlag;

/// `knee serve`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where the pages are served [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR:PORT", default_value = "", hide_default_value = true)]
    pub listen: String,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const EXAMPLES: &str = "\
Examples:
  knee serve                        everything saved, in a browser of this machine
  knee serve --listen :8089         the same at a port of your choice

The URL on stderr has a token, and only who has it sees the pages. They change
nothing. From another machine, use a tunnel: ssh -L 8089:127.0.0.1:8089 HOST";
