//! Commands and settings, by flag or environment variable.
//!
//! Does not act on them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::defect::Defect;

/// A small shop in which one defect can be switched on.
#[derive(Debug, Parser)]
#[command(name = "findings", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create the tables and fill them
    Seed(StoreArgs),
    /// Serve until SIGTERM or Ctrl-C
    Serve(ServeArgs),
    /// Serve what the shop asks of other servers, until standard input ends; the shop starts this
    Servers(ServersArgs),
}

/// Arguments of `servers`.
#[derive(Debug, Clone, Args)]
pub struct ServersArgs {
    /// Start the servers with this input and output, and end
    #[arg(long)]
    pub apart: bool,
}

/// Address of the store.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Address of PostgreSQL
    #[arg(long, env = "SHOP_POSTGRES", hide_env_values = true)]
    pub postgres: String,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Address of a replica of PostgreSQL, on which lists are read; without it, the primary is read
    #[arg(long, env = "SHOP_REPLICA", hide_env_values = true)]
    pub replica: Option<String>,
    /// Address of Redis
    #[arg(long, env = "SHOP_REDIS", hide_env_values = true)]
    pub redis: String,
    /// File of SQLite that counts views; a file that exists is replaced
    #[arg(long, env = "SHOP_VIEWS")]
    pub views: PathBuf,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "SHOP_LISTEN", default_value = "127.0.0.1:3400")]
    pub listen: SocketAddr,
    /// The defect that is switched on
    #[arg(long, env = "SHOP_DEFECT", value_enum, default_value = "none")]
    pub defect: Defect,
}
