//! The flags of observers, which every command has that sends load.
//!
//! As typed; `settings::observe` says what they mean.

use clap::Args;

/// What is watched beside the load.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Observers")]
pub struct ObserveFlags {
    /// Watch a source beside the load: host, pid:N, profile:N (the functions in which process N
    /// spends its CPU time), postgres://…, redis://…, rediss://…, sqlite:PATH, pgbouncer://…,
    /// nginx:http(s)://…, prometheus:http(s)://…, or started (all that a study or a comparison
    /// started) and profile (the functions of its processes); repeatable
    #[arg(long = "observe", value_name = "TARGET")]
    pub targets: Vec<String>,
}
