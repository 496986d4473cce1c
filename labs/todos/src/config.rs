//! What can be asked for: commands, settings and the switches, by flag or by environment variable.
//!
//! Does not act on any of it. Every switch is independent: any combination starts, but `replica-reads on`
//! without a replica.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Keeps a list of todos in PostgreSQL, with every tuning step as a switch.
#[derive(Debug, Parser)]
#[command(name = "todos", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Least severe log line that is written (to stderr): error, warn, info, debug
    #[arg(long, env = "TODOS_LOG_LEVEL", default_value = "info", global = true)]
    pub log_level: tracing::Level,
    /// How log lines look
    #[arg(long, env = "TODOS_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring the schema up to date
    Migrate(StoreArgs),
    /// Bring the schema up to date and fill it with todos
    Seed(SeedArgs),
    /// Serve until SIGTERM or Ctrl-C
    Serve(Box<ServeArgs>),
}

/// Where the todos are.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Address of PostgreSQL
    #[arg(
        long,
        env = "TODOS_POSTGRES",
        hide_env_values = true,
        default_value = "postgres://postgres@127.0.0.1:5432/postgres"
    )]
    pub postgres: String,
}

/// An address as it may be shown: without user and password, and without what is behind `?`: that may be one, too.
pub fn shown(address: &str) -> String {
    let (address, more) = address.split_once('?').unwrap_or((address, ""));
    match (address.find("://"), address.rfind('@')) {
        // What ends there may be a password with a `?` in it: nothing of it is sure to be harmless.
        _ if more.contains('@') => "the address given".to_owned(),
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}{}", &address[..scheme + 3], &address[at + 1..])
        }
        // So it is with words like host=... password=...
        (None, _) => "the address given".to_owned(),
        _ => address.to_owned(),
    }
}

/// What `seed` takes.
#[derive(Debug, Clone, Args)]
pub struct SeedArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// How many todos there are afterwards, with ids from 1
    #[arg(long, env = "TODOS_SEED_ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub rows: u32,
    /// Throw away the todos that are there
    #[arg(long)]
    pub replace: bool,
}

/// What `serve` takes.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Address of a replica of it; read from with --replica-reads on
    #[arg(long, env = "TODOS_REPLICA", hide_env_values = true)]
    pub replica: Option<String>,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "TODOS_LISTEN", default_value = "127.0.0.1:3200")]
    pub listen: SocketAddr,
    /// Largest request body, in bytes
    #[arg(long, env = "TODOS_BODY_LIMIT", default_value_t = 16 * 1024)]
    pub body_limit: usize,
    /// Milliseconds that a request waits for a connection, for a statement, and, twice that, for all it does
    #[arg(long, env = "TODOS_STORE_TIMEOUT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// Seconds that open requests have to finish after a stop was asked for
    #[arg(long, env = "TODOS_GRACE", default_value_t = 10)]
    pub grace: u64,
    /// Threads that handle requests; with --handler `async_blocking` there is one
    #[arg(long, env = "TODOS_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// The switches.
    #[command(flatten)]
    pub switches: Switches,
}

impl ServeArgs {
    /// How long a connection or a statement may take.
    pub fn store_timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms.into())
    }

    /// How long all that a request does may take: a connection, then a statement.
    pub fn patience(&self) -> Duration {
        self.store_timeout() * 2
    }
}

/// What a study turns on and off. The defaults are the fastest known setting.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// Whether there is an index on `created_at`; made or dropped at the start
    #[arg(long, env = "TODOS_CREATED_INDEX", default_value = "on")]
    pub created_index: Toggle,
    /// Whether reads go to the replica
    #[arg(long, env = "TODOS_REPLICA_READS", default_value = "off")]
    pub replica_reads: Toggle,
    /// Who waits for PostgreSQL
    #[arg(long, env = "TODOS_HANDLER", default_value = "async")]
    pub handler: Handler,
    /// How answers are encoded
    #[arg(long, env = "TODOS_JSON", default_value = "fast")]
    pub json: Json,
    /// Most todos of a list: a number, or `none`
    #[arg(long, env = "TODOS_LIST_LIMIT", default_value = "200")]
    pub list_limit: Limit,
    /// What a commit waits for: `synchronous_commit` of each session
    #[arg(long, env = "TODOS_COMMIT", default_value = "on")]
    pub commit: Commit,
    /// Whether a new todo takes the place of the oldest one
    #[arg(long, env = "TODOS_ROW_COUNT", default_value = "growing")]
    pub row_count: RowCount,
    /// Rows the table is brought to at the start, by new ones or by deleting the oldest: a number, or `none` to leave it
    #[arg(long, env = "TODOS_ROWS", default_value = "none")]
    pub rows: Limit,
    /// Most connections to each PostgreSQL
    #[arg(long, env = "TODOS_POOL_MAX", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub pool_max: u16,
    /// Whether a connection proves with a query that it lives, each time it is taken from the pool
    #[arg(long, env = "TODOS_POOL_PROBE", default_value = "off")]
    pub pool_probe: Toggle,
    /// Whether prepared statements are kept
    #[arg(long, env = "TODOS_STATEMENT_CACHE", default_value = "on")]
    pub statement_cache: Toggle,
    /// How a new todo is written
    #[arg(long, env = "TODOS_INSERT", default_value = "group")]
    pub insert: Insert,
    /// Whether the list is kept in memory, encoded
    #[arg(long, env = "TODOS_LIST_CACHE", default_value = "on")]
    pub list_cache: Toggle,
    /// Units of own work for each row of an answer: what an interpreter does there
    #[arg(long, env = "TODOS_ROW_COST", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub row_cost: u32,
    /// Whether only one request at a time may do that work and encode
    #[arg(long, env = "TODOS_RUNTIME_LOCK", default_value = "none")]
    pub runtime_lock: RuntimeLock,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Toggle {
    /// Yes
    On,
    /// No
    Off,
}

impl Toggle {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// A number from 1, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<NonZeroU32>);

impl Limit {
    /// The number.
    pub fn number(self) -> Option<u32> {
        self.0.map(NonZeroU32::get)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        match text.parse() {
            Ok(number) if NonZeroU32::get(number) <= 10_000_000 => Ok(Self(Some(number))),
            _ => Err("a number from 1 to 10000000, or `none`".to_owned()),
        }
    }
}

/// Values of `--handler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Handler {
    /// A thread for each request that waits, 30 at most
    Threadpool,
    /// The thread that serves all requests: one at a time
    AsyncBlocking,
    /// Nobody: requests wait without a thread
    Async,
}

/// Values of `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// A tree of named values for each todo, then its text
    Standard,
    /// Straight to text
    Fast,
}

/// Values of `--commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Commit {
    /// The disk here, and the disk of a synchronous replica
    On,
    /// As on, and until the replica shows it to its readers
    RemoteApply,
    /// The disk here: replication is asynchronous
    Local,
    /// Nothing: an answered write may be lost
    Off,
}

impl Commit {
    /// As PostgreSQL calls it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::RemoteApply => "remote_apply",
            Self::Local => "local",
            Self::Off => "off",
        }
    }
}

/// Values of `--row-count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowCount {
    /// Each new todo is one more
    Growing,
    /// The oldest todo goes when a new one comes
    Fixed,
}

/// Values of `--insert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Insert {
    /// A transaction, then the row is read again: four round trips
    Steps,
    /// One statement
    One,
    /// One statement for all that wait
    Group,
}

/// Values of `--runtime-lock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeLock {
    /// One lock for the process
    Process,
    /// None
    None,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One object a line
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_anything_that_may_be_a_password() {
        for (address, expected) in [
            ("postgres://me:geheim@db:5432/x", "postgres://db:5432/x"),
            ("postgres://db/x", "postgres://db/x"),
            ("postgres://db/x?user=me&password=geheim", "postgres://db/x"),
            ("postgres://me:geheim@db/x?password=geheim", "postgres://db/x"),
            ("postgres://me:ge?heim@db/x", "the address given"),
            ("postgres://db/x?password=ge@heim", "the address given"),
            ("host=db password=geheim", "the address given"),
        ] {
            assert_eq!(shown(address), expected, "{address}");
        }
    }
}
