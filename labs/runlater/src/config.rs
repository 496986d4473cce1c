//! Commands and settings, by flag or by environment variable.
//!
//! Does not act on them. Switches for studies are in [`switch`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub mod switch;

pub use switch::Switches;

/// Calls HTTP addresses at once, later, at a time or on a schedule, with every tuning step as a switch.
#[derive(Debug, Parser)]
#[command(name = "runlater", version, about)]
pub struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Least severe level that is logged (to stderr): error, warn, info, debug
    #[arg(long, env = "RUNLATER_LOG_LEVEL", default_value = "info", global = true)]
    pub log_level: tracing::Level,
    /// Format of log lines
    #[arg(long, env = "RUNLATER_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring the schema up to date
    Migrate(StoreArgs),
    /// Bring the schema up to date and create an organization with a key and tasks that have run
    Seed(SeedArgs),
    /// Serve until SIGTERM or Ctrl-C
    Serve(Box<ServeArgs>),
    /// Serve as a webhook target (stub): with a delay, with errors, over TLS
    Target(crate::target::TargetArgs),
}

/// Connection to PostgreSQL.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Address of PostgreSQL
    #[arg(
        long,
        env = "RUNLATER_POSTGRES",
        hide_env_values = true,
        default_value = "postgres://postgres@127.0.0.1:5432/postgres"
    )]
    pub postgres: String,
}

/// An address for display: without user and password.
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
    pub store: StoreArgs,
    /// Tasks per organization
    #[arg(long, env = "RUNLATER_SEED_TASKS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub tasks: u32,
    /// Executions per task, all completed
    #[arg(long, env = "RUNLATER_SEED_EXECUTIONS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub executions: u32,
    /// Organizations; the key belongs to the first one
    #[arg(long, env = "RUNLATER_SEED_ORGANIZATIONS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub organizations: u32,
    /// The key of the first organization, `ID.SECRET`; without it one is generated and printed
    #[arg(long, env = "RUNLATER_SEED_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// Delete all existing data first
    #[arg(long)]
    pub replace: bool,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "RUNLATER_LISTEN", default_value = "127.0.0.1:3300")]
    pub listen: SocketAddr,
    /// Role of this node; several nodes can share one database
    #[arg(long, env = "RUNLATER_ROLE", default_value = "all")]
    pub role: Role,
    /// Threads of the node
    #[arg(long, env = "RUNLATER_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Seconds that requests and calls have to finish after a stop signal; calls still open are given back
    #[arg(long, env = "RUNLATER_GRACE", default_value_t = 60)]
    pub grace: u64,
    /// Largest request body, in bytes
    #[arg(long, env = "RUNLATER_BODY_LIMIT", default_value_t = 1024 * 1024)]
    pub body_limit: usize,
    /// Time-out of a statement, in milliseconds
    #[arg(long, env = "RUNLATER_STORE_TIMEOUT_MS", default_value_t = 15_000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// File of certificates (PEM) to trust for calls, in addition to the system's
    #[arg(long, env = "RUNLATER_CA")]
    pub ca: Option<PathBuf>,
    /// Whether tasks can call addresses of this machine and of private networks [default: deny; allow if the file of
    /// --ca is one that `runlater target` wrote]
    #[arg(long, env = "RUNLATER_PRIVATE_TARGETS")]
    pub private_targets: Option<Permission>,
    /// Unit of the wait before a retry, in milliseconds; the wait after attempt n is (n+1)^2 units
    #[arg(long, env = "RUNLATER_RETRY_UNIT_MS", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    pub retry_unit_ms: u32,
    /// Milliseconds before the second attempt of a callback; the third waits four times as long
    #[arg(long, env = "RUNLATER_CALLBACK_WAIT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub callback_wait_ms: u32,
    /// Milliseconds between rounds of the scheduler of recurring tasks
    #[arg(long, env = "RUNLATER_SCHEDULER_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub scheduler_ms: u32,
    /// Milliseconds between rounds of the cleaner, which deletes old executions and idempotency keys
    #[arg(long, env = "RUNLATER_CLEANER_MS", default_value_t = 300_000, value_parser = clap::value_parser!(u32).range(10..=86_400_000))]
    pub cleaner_ms: u32,
    /// Milliseconds between heartbeats of a node
    #[arg(long, env = "RUNLATER_BEAT_MS", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub beat_ms: u32,
    /// Milliseconds without a heartbeat after which other nodes rescue a node's executions
    #[arg(long, env = "RUNLATER_LEASE_MS", default_value_t = 12_000, value_parser = clap::value_parser!(u32).range(50..=600_000))]
    pub lease_ms: u32,
    /// Milliseconds after which an idle node polls for work
    #[arg(long, env = "RUNLATER_POLL_MS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub poll_ms: u32,
    /// The switches.
    #[command(flatten)]
    pub switches: Switches,
}

impl ServeArgs {
    /// Time-out of a statement.
    pub fn store_timeout(&self) -> Duration {
        millis(self.store_timeout_ms)
    }

    /// Whether tasks can call addresses of this machine and of private networks. Not by default: who can make a task
    /// could read from services that only this machine reaches. The file of a stub says that it is one, and the only
    /// addresses of its certificate are those of this machine. Other files of `--ca` allow nothing.
    pub fn private_targets(&self) -> Permission {
        let is_of_stub = || self.ca.as_deref().is_some_and(crate::target::is_own_certificate);
        let default = || if is_of_stub() { Permission::Allow } else { Permission::Deny };
        self.private_targets.unwrap_or_else(default)
    }
}

/// Milliseconds as a duration.
pub fn millis(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

/// Values of `--role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Serves the API and executes tasks
    All,
    /// Serves the API only
    Api,
    /// Executes tasks only; serves /health, /ready, /metrics and /stats
    Worker,
}

/// Values of `--private-targets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Permission {
    /// Allowed
    Allow,
    /// Refused
    Deny,
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_setting_of_serve_is_a_variable_of_the_same_name() {
        Cli::command().debug_assert();
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments().filter(|argument| argument.get_id() != "help") {
            let flag = argument.get_long().unwrap().to_uppercase().replace('-', "_");
            assert_eq!(argument.get_env().unwrap().to_str().unwrap(), format!("RUNLATER_{flag}"));
        }
    }

    #[test]
    fn private_targets_are_refused_unless_they_are_allowed_or_the_certificate_is_that_of_a_stub() {
        let permission = |flags: &[&str]| {
            let cli = Cli::try_parse_from([&["runlater", "serve"][..], flags].concat()).unwrap();
            let Command::Serve(args) = cli.command else { panic!("not serve") };
            args.private_targets()
        };
        assert_eq!(permission(&[]), Permission::Deny);
        assert_eq!(permission(&["--private-targets", "allow"]), Permission::Allow);
        let folder = tempfile::tempdir().unwrap();
        let [own, stub] = ["own.pem", "stub.pem"].map(|name| folder.path().join(name));
        std::fs::write(&own, "-----BEGIN CERTIFICATE-----\n").unwrap();
        std::fs::write(&stub, crate::target::CERTIFICATE_MARK).unwrap();
        let [own, stub] = [&own, &stub].map(|path| path.to_str().unwrap());
        assert_eq!(permission(&["--ca", own]), Permission::Deny, "a certificate is no permission");
        assert_eq!(permission(&["--ca", "/no/such/file"]), Permission::Deny);
        assert_eq!(permission(&["--ca", own, "--private-targets", "allow"]), Permission::Allow);
        assert_eq!(permission(&["--ca", stub]), Permission::Allow);
        assert_eq!(permission(&["--ca", stub, "--private-targets", "deny"]), Permission::Deny);
    }

    #[test]
    fn help_shows_no_secret_of_the_environment() {
        let command = Cli::command();
        for (name, secret) in [
            ("migrate", "postgres"),
            ("serve", "postgres"),
            ("seed", "postgres"),
            ("seed", "key"),
            ("target", "secret"),
        ] {
            let command = command.find_subcommand(name).unwrap();
            let argument = command.get_arguments().find(|argument| argument.get_id() == secret).unwrap();
            assert!(argument.is_hide_env_values_set(), "{name} --{secret}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(shown("postgres://me:secret@host/db"), "postgres://host/db");
        assert_eq!(shown("postgres://host/db?user=me&password=secret"), "postgres://host/db");
        assert_eq!(shown("postgres://me:sec?ret@host/db"), "the address given");
        assert_eq!(shown("host=h password=secret"), "the address given");
        assert_eq!(shown("host=h password=se://cret"), "the address given");
        assert_eq!(shown("host=h password=se://cr@et"), "the address given");
    }
}
