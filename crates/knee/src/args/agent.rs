//! The flags of `knee agent` and `knee fleet`.
//!
//! As typed; `settings::fleet` says what they mean.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::HelpFlag;
use super::fleet::FleetKeys;

/// `knee agent`.
#[derive(Args, Clone, Debug, Default)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = AGENT)]
pub struct AgentArgs {
    /// File with the settings of this agent
    #[arg(long, value_name = "FILE", default_value = "agent.toml")]
    pub config: PathBuf,
    /// NATS server, instead of the one in the file
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Name of this agent, instead of the one in the file [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const AGENT: &str = "\
An agent makes a part of a load when a controller asks it to. The file:
  nats = \"nats://10.0.0.5:4222\"
  signers = [\"UA…\"]                  # `knee fleet key` prints yours
  targets = [\"service:8080\", \"10.1.0.0/16\"]
  max_rate = 20000                   # arrivals/s of this machine, of scripts
                                     # everything that they send
  max_users = 5000
  max_duration = \"1h\"
  fleet = \"main\"                     # also: id, folder, credentials,
                                     # nkey, authorities
Clocks of agents and controllers need not agree. An agent without signers or
targets does nothing. docs/guide/fleet.md has more.";

/// `knee fleet`.
#[derive(Args, Clone, Debug)]
#[command(max_term_width = 80, disable_help_flag = true, after_help = FLEET)]
pub struct FleetArgs {
    /// What to do
    #[arg(value_name = "ACTION", value_enum)]
    pub action: FleetAction,
    /// An agent, or a run
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// NATS server
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Stop the load of all agents
    #[arg(long)]
    pub all: bool,
    /// How to log in, and to sign.
    #[command(flatten)]
    pub keys: FleetKeys,
    #[command(flatten)]
    pub(super) help: HelpFlag,
}

/// Shown below the help.
const FLEET: &str = "\
Examples:
  knee fleet key                              make the key that signs orders
  knee fleet ls --nats nats://10.0.0.5        agents, and what they do
  knee fleet stop --all --nats nats://10.0.0.5
  knee fleet resume RUN --nats nats://10.0.0.5
                                              take over a run whose knee died;
                                              needs the key that began it
  knee fleet fetch RUN --nats nats://10.0.0.5
                                              copy what agents kept of a run";

/// What to do with a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FleetAction {
    /// List the agents, and the runs that can be taken over
    Ls,
    /// End the load of an agent, or of all with --all
    Stop,
    /// Take over a run whose controller is gone
    Resume,
    /// Copy the records that agents kept of a run that is over
    Fetch,
    /// Print the public key that agents know you by; makes the key if there is none
    Key,
}
