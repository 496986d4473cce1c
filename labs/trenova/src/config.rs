//! Commands and settings, by flag or by environment variable.
//!
//! Does not act on them. Switches for studies are in [`switch`].

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub mod switch;

pub use switch::Switches;

/// Serves a carrier's drivers to drop-downs, with every tuning step as a switch.
#[derive(Debug, Parser)]
#[command(name = "trenova", version, about)]
pub struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Least severe level that is logged (to stderr): off, error, warn, info, debug
    #[arg(long, env = "TRENOVA_LOG_LEVEL", default_value = "info", global = true)]
    pub log_level: tracing_subscriber::filter::LevelFilter,
    /// Format of log lines
    #[arg(long, env = "TRENOVA_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring the schema up to date
    Migrate(PostgresArgs),
    /// Bring the schema up to date and fill it with tenants, users and workers
    Seed(SeedArgs),
    /// Serve until SIGTERM or Ctrl-C
    Serve(Box<ServeArgs>),
    /// One of several processes that `serve` started
    #[command(hide = true)]
    Worker(Box<WorkerArgs>),
}

/// Connection to PostgreSQL.
#[derive(Debug, Clone, Args)]
pub struct PostgresArgs {
    /// Address of PostgreSQL
    #[arg(
        long,
        env = "TRENOVA_POSTGRES",
        default_value = "postgres://postgres@127.0.0.1:5432/postgres",
        hide_env_values = true
    )]
    pub postgres: String,
}

/// An address for display: without user, password and parameters, which can be passwords, too.
pub fn shown(address: &str) -> String {
    let harmless = || {
        let (scheme, rest) = address.split_once("://")?;
        let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        // With an `@` after it, the question mark can be part of the password.
        let is_sure = is_scheme && !parameters.contains('@');
        let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
        is_sure.then(|| format!("{scheme}://{place}"))
    };
    // The form host=... password=...: no part is sure to be harmless.
    harmless().unwrap_or_else(|| "the address given".to_owned())
}

/// Arguments of `seed`.
#[derive(Debug, Clone, Args)]
pub struct SeedArgs {
    /// The store.
    #[command(flatten)]
    pub store: PostgresArgs,
    /// Organizations to create, each in a business unit of its own
    #[arg(long, env = "TRENOVA_SEED_TENANTS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub tenants: u32,
    /// Users per organization, `user1@org1.example` and so on, all with the password `password`
    #[arg(long, env = "TRENOVA_SEED_USERS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub users: u32,
    /// Workers per organization
    #[arg(long, env = "TRENOVA_SEED_WORKERS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub workers: u32,
    /// Delete all existing tenants first
    #[arg(long)]
    pub replace: bool,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The store.
    #[command(flatten)]
    pub store: PostgresArgs,
    /// Address of Redis
    #[arg(long, env = "TRENOVA_REDIS", default_value = "redis://127.0.0.1:6379/0", hide_env_values = true)]
    pub redis: String,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "TRENOVA_LISTEN", default_value = "127.0.0.1:3001")]
    pub listen: SocketAddr,
    /// Largest request body, in bytes
    #[arg(long, env = "TRENOVA_BODY_LIMIT", default_value_t = 16 * 1024)]
    pub body_limit: usize,
    /// Milliseconds that a request waits for a connection to PostgreSQL, and again for a statement; a connection that is
    /// silent for twice as long is closed
    #[arg(long, env = "TRENOVA_STORE_TIMEOUT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// Milliseconds that a request waits for a connection to Redis, and again for a command
    #[arg(long, env = "TRENOVA_REDIS_TIMEOUT_MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub redis_timeout_ms: u32,
    /// Seconds without a request after which a session ends
    #[arg(long, env = "TRENOVA_SESSION_IDLE", default_value_t = 72 * 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub session_idle: u32,
    /// Seconds after the sign-in at which a session ends
    #[arg(long, env = "TRENOVA_SESSION_AGE", default_value_t = 30 * 24 * 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub session_age: u32,
    /// Whether browsers may send the session cookie over HTTPS only
    #[arg(long, env = "TRENOVA_SECURE_COOKIE", default_value = "off")]
    pub secure_cookie: switch::Toggle,
    /// Seconds that open requests have to finish after a stop signal
    #[arg(long, env = "TRENOVA_GRACE", default_value_t = 10)]
    pub grace: u64,
    /// Threads per process that handle requests
    #[arg(long, env = "TRENOVA_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// The switches.
    #[command(flatten)]
    pub switches: Switches,
}

/// Arguments of a server process started by `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct WorkerArgs {
    /// Arguments that all processes share.
    #[command(flatten)]
    pub serve: ServeArgs,
    /// Number of this process, from 0
    #[arg(long)]
    pub process: u16,
}

impl WorkerArgs {
    /// The arguments of this process, with its own share of divided pools.
    pub fn own(&self) -> ServeArgs {
        let mut own = self.serve.clone();
        own.switches.process = self.process;
        own
    }
}

impl ServeArgs {
    /// How long a connection to PostgreSQL or a statement may take.
    pub fn store_timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms.into())
    }

    /// How long a connection to Redis or a command may take.
    pub fn redis_timeout(&self) -> Duration {
        Duration::from_millis(self.redis_timeout_ms.into())
    }
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_user_password_and_parameters() {
        for (address, expected) in [
            ("postgres://me:geheim@db:5432/x", "postgres://db:5432/x"),
            ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
            ("postgres://h/db?password=geheim", "postgres://h/db"),
            ("postgres://me:geheim@h/db?user=me&password=geheim", "postgres://h/db"),
            ("redis+unix:///run/redis?pass=geheim", "redis+unix:///run/redis"),
            ("postgres://me:ge@heim@db/x", "postgres://db/x"),
            // Ambiguous addresses.
            ("postgres://me:ge?heim@db/x", "the address given"),
            ("postgres://h/db?password=ge@heim", "the address given"),
            ("host=db password=geheim", "the address given"),
            ("host=db password=ge://heim", "the address given"),
            ("host=db password=ge://heim@db", "the address given"),
        ] {
            assert_eq!(shown(address), expected, "{address}");
        }
    }

    #[test]
    fn every_setting_of_serve_can_come_from_the_environment() {
        use clap::CommandFactory;
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments().filter(|argument| argument.get_id() != "help") {
            let name = argument.get_env().unwrap_or_else(|| panic!("{} has no variable", argument.get_id()));
            let expected = format!("TRENOVA_{}", argument.get_id().as_str().to_uppercase());
            assert_eq!(name.to_str().unwrap(), expected);
        }
    }
}
