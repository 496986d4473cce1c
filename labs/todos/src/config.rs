//! Commands, settings and switches, by flag or environment variable.
//!
//! Does not act on them. The switches are independent: any combination starts, except `replica-reads on` without a replica.

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
    /// Format of log lines
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

/// Address of the store.
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

/// An address without user, password and query, for messages. The query can contain a password too.
pub fn without_credentials(address: &str) -> String {
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
    /// Number of todos afterwards, with ids from 1
    #[arg(long, env = "TODOS_SEED_ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub rows: u32,
    /// Replace existing todos
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
    /// Address of its replica; used with --replica-reads on
    #[arg(long, env = "TODOS_REPLICA", hide_env_values = true)]
    pub replica: Option<String>,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "TODOS_LISTEN", default_value = "127.0.0.1:3200")]
    pub listen: SocketAddr,
    /// Address for gRPC, over HTTP/2 without TLS; without it, gRPC is not served
    #[arg(long, env = "TODOS_GRPC_LISTEN")]
    pub grpc_listen: Option<SocketAddr>,
    /// Maximum size of a request body or a message of gRPC, in bytes
    #[arg(long, env = "TODOS_BODY_LIMIT", default_value_t = 16 * 1024)]
    pub body_limit: usize,
    /// Milliseconds that a request waits for a connection or a statement; a whole request can take twice that
    #[arg(long, env = "TODOS_STORE_TIMEOUT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// Changes that a reader can be behind, rounded up to a power of two; one further behind is dropped
    #[arg(long, env = "TODOS_CHANGE_QUEUE", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..=32_768))]
    pub change_queue: u16,
    /// Maximum number of readers of the changes
    #[arg(long, env = "TODOS_CHANGE_READERS", default_value_t = 1000)]
    pub change_readers: u16,
    /// Milliseconds without a change after which a stream of events gets a comment
    #[arg(long, env = "TODOS_HEARTBEAT_MS", default_value_t = 15_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub heartbeat_ms: u32,
    /// Milliseconds that a client can take nothing of a response before its connection is closed
    #[arg(long, env = "TODOS_STALL_TIMEOUT_MS", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub stall_timeout_ms: u32,
    /// Seconds that open requests have to finish when the service stops
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
    /// Timeout of a connection or a statement.
    pub fn store_timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms.into())
    }

    /// Timeout of a whole request: a connection, then a statement.
    pub fn request_timeout(&self) -> Duration {
        self.store_timeout() * 2
    }
}

/// Tuning steps that a study varies. The defaults are the fastest known setting.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// Whether there is an index on `created_at`; created or dropped at startup
    #[arg(long, env = "TODOS_CREATED_INDEX", default_value = "on")]
    pub created_index: Toggle,
    /// Whether reads go to the replica
    #[arg(long, env = "TODOS_REPLICA_READS", default_value = "off")]
    pub replica_reads: Toggle,
    /// How requests wait for PostgreSQL
    #[arg(long, env = "TODOS_HANDLER", default_value = "async")]
    pub handler: Handler,
    /// How responses are encoded
    #[arg(long, env = "TODOS_JSON", default_value = "fast")]
    pub json: Json,
    /// Maximum number of todos in a list, or `none`
    #[arg(long, env = "TODOS_LIST_LIMIT", default_value = "200")]
    pub list_limit: Limit,
    /// What a commit waits for: `synchronous_commit` of each session
    #[arg(long, env = "TODOS_COMMIT", default_value = "on")]
    pub commit: Commit,
    /// Whether a new todo replaces the oldest one
    #[arg(long, env = "TODOS_ROW_COUNT", default_value = "growing")]
    pub row_count: RowCount,
    /// Rows of the table at startup: adds todos or deletes the oldest; `none` leaves it
    #[arg(long, env = "TODOS_ROWS", default_value = "none")]
    pub rows: Limit,
    /// Maximum number of connections to each PostgreSQL
    #[arg(long, env = "TODOS_POOL_MAX", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub pool_max: u16,
    /// Whether each connection taken from the pool is checked with a query
    #[arg(long, env = "TODOS_POOL_PROBE", default_value = "off")]
    pub pool_probe: Toggle,
    /// Whether prepared statements are cached
    #[arg(long, env = "TODOS_STATEMENT_CACHE", default_value = "on")]
    pub statement_cache: Toggle,
    /// How a new todo is written
    #[arg(long, env = "TODOS_INSERT", default_value = "group")]
    pub insert: Insert,
    /// Whether the encoded list is cached in memory
    #[arg(long, env = "TODOS_LIST_CACHE", default_value = "on")]
    pub list_cache: Toggle,
    /// Units of CPU work per row of a response, as an interpreter would spend
    #[arg(long, env = "TODOS_ROW_COST", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub row_cost: u32,
    /// Whether only one request at a time may do that work and encode
    #[arg(long, env = "TODOS_RUNTIME_LOCK", default_value = "none")]
    pub runtime_lock: RuntimeLock,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Toggle {
    /// On
    On,
    /// Off
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
    /// On a thread per waiting request, at most 30
    Threadpool,
    /// On the thread that serves all requests, one at a time
    AsyncBlocking,
    /// Asynchronously, without a thread
    Async,
}

/// Values of `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// A tree of named values per todo, then text
    Standard,
    /// Straight to text
    Fast,
}

/// Values of `--commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Commit {
    /// The disk of the primary and of a synchronous replica
    On,
    /// As on, and until the replica shows it to readers
    RemoteApply,
    /// The disk of the primary: replication is asynchronous
    Local,
    /// Nothing: an acknowledged write can be lost
    Off,
}

impl Commit {
    /// Value of `synchronous_commit`.
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
    /// Each new todo adds a row
    Growing,
    /// Each new todo replaces the oldest one
    Fixed,
}

/// Values of `--insert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Insert {
    /// A transaction, then a read of the row: four round trips
    Steps,
    /// One statement
    One,
    /// One statement for all waiting todos
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

/// Values of `--log-format`.
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
    fn an_address_is_shown_without_anything_that_may_be_a_password() {
        for (address, expected) in [
            ("postgres://me:geheim@db:5432/x", "postgres://db:5432/x"),
            ("postgres://db/x", "postgres://db/x"),
            ("postgres://db/x?user=me&password=geheim", "postgres://db/x"),
            ("postgres://me:geheim@db/x?password=geheim", "postgres://db/x"),
            ("postgres://me:ge?heim@db/x", "the address given"),
            ("postgres://db/x?password=ge@heim", "the address given"),
            ("host=db password=geheim", "the address given"),
            ("host=db password=ge://heim", "the address given"),
            ("host=db password=ge://he@im", "the address given"),
        ] {
            assert_eq!(without_credentials(address), expected, "{address}");
        }
    }
}
