//! The flags of the live page, which every command has that sends load.
//!
//! As typed; `settings::web` says what it means.

use clap::Args;

/// The live page.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Live page")]
pub struct WebFlags {
    /// Serve a page that shows the load live, on ADDR:PORT [default: 127.0.0.1 and a free port]; stderr has its URL
    #[arg(
        id = "web",
        long = "web",
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub address: Option<String>,

    /// Print a second URL for `--web`: who opens it can stop the load, and change a planned rate up to its peak
    #[arg(long = "web-control", requires = "web")]
    pub control: bool,

    /// The highest rate that can be asked for on that page, instead of the peak of the plan
    #[arg(long, value_name = "RATE", requires = "control")]
    pub steer_max: Option<String>,

    /// Stop as after Ctrl-C when stdin ends; for the program that started this one
    #[arg(long, requires = "control", hide = true)]
    pub stop_with_input: bool,
}
