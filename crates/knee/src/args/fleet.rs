//! The flags of a load that a fleet makes.
//!
//! As typed; `settings::fleet` says what they mean.

use std::path::PathBuf;

use clap::Args;

/// Which machines make the load.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Fleet")]
pub struct FleetFlags {
    /// Let other machines make the load, whose agents wait at this NATS server; see `knee agent --help`
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// How many agents, the first by name
    #[arg(long, value_name = "N", requires = "nats", allow_hyphen_values = true)]
    pub agents: Option<String>,
    /// Agents of this fleet; all of them without --agents
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub fleet: Option<String>,
    /// Take agents of other builds of knee too
    #[arg(long, requires = "nats")]
    pub mixed_builds: bool,
    /// How to log in, and whose orders the agents get.
    #[command(flatten)]
    pub keys: FleetKeys,
}

/// How the agents of a fleet reach what this machine starts.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Fleet")]
pub struct ServiceHostFlag {
    /// Name or address by which agents reach what this machine starts; it must listen there [default: 127.0.0.1]
    #[arg(long, value_name = "HOST", requires = "nats")]
    pub service_host: Option<String>,
}

/// How a controller logs in to NATS, and signs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetKeys {
    /// Key that signs orders, as `knee fleet key` makes it [default: fleet.key beside the saved runs]
    #[arg(long, value_name = "FILE")]
    pub fleet_key: Option<PathBuf>,
    /// Credentials to log in to NATS with
    #[arg(long, value_name = "FILE")]
    pub nats_creds: Option<PathBuf>,
    /// Also trust these certificate authorities for NATS (PEM)
    #[arg(long, value_name = "FILE")]
    pub nats_ca: Option<PathBuf>,
}
