//! Commands, settings and switches, by flag or environment variable.
//!
//! Does not act on them. The switches are independent: any combination starts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A small news board on one SQLite file, with every tuning step as a switch.
#[derive(Debug, Parser)]
#[command(name = "lorem-news", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fill a data folder with users, posts and comments; the same seed writes the same rows
    Seed(SeedArgs),
    /// Serve the board until SIGTERM or Ctrl-C
    Serve(Box<ServeArgs>),
    /// One process of several: started by `serve`, which hands it the listening socket
    #[command(hide = true)]
    Worker(Box<ServeArgs>),
}

/// Arguments of `seed`.
#[derive(Debug, Clone, Args)]
pub struct SeedArgs {
    /// Folder of the database
    #[arg(long, env = "LOREM_DATA", default_value = "lorem-data")]
    pub data: PathBuf,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Users, each with the password `password`
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub users: u32,
    /// Posts, each with 5 to 15 comments
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub posts: u32,
    /// Replace an existing database
    #[arg(long)]
    pub replace: bool,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// Folder of the database; an empty one becomes an empty board
    #[arg(long, env = "LOREM_DATA", default_value = "lorem-data")]
    pub data: PathBuf,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "LOREM_LISTEN", default_value = "127.0.0.1:3000")]
    pub listen: SocketAddr,
    /// The routes under /benchmarking, which need no login and delete posts
    #[arg(long, env = "LOREM_BENCHMARKING", default_value = "off")]
    pub benchmarking: Toggle,
    /// Maximum size of a request body, in bytes
    #[arg(long, env = "LOREM_BODY_LIMIT", default_value_t = 256 * 1024)]
    pub body_limit: usize,
    /// Timeout of a request, in seconds; the response is 408
    #[arg(long, env = "LOREM_REQUEST_TIMEOUT", default_value_t = 30)]
    pub request_timeout: u64,
    /// Seconds that open requests have to finish when the service stops
    #[arg(long, env = "LOREM_GRACE", default_value_t = 10)]
    pub grace: u64,
    /// Least severe log line that is written (to stderr)
    #[arg(long, env = "LOREM_LOG_LEVEL", default_value = "warn")]
    pub log_level: LogLevel,
    /// Format of log lines
    #[arg(long, env = "LOREM_LOG_FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// Tell browsers to send the cookies over HTTPS only; for a board behind TLS
    #[arg(long, env = "LOREM_SECURE_COOKIES", default_value = "off")]
    pub secure_cookies: Toggle,
    /// Answer every n-th page with an error, to test what measures the board; 0 none
    #[arg(long, env = "LOREM_FAIL_EVERY", default_value_t = 0, value_name = "N")]
    pub fail_every: u32,
    /// The switches.
    #[command(flatten)]
    pub switches: Switches,
}

/// Tuning steps that a study varies. The defaults are the fastest known setting.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// Whether BEGIN takes the write lock at once
    #[arg(long, env = "LOREM_TX_MODE", default_value = "immediate")]
    pub tx_mode: TxMode,
    /// How a connection waits while another one writes, at most 5 s
    #[arg(long, env = "LOREM_BUSY_WAIT", default_value = "yielding_60us")]
    pub busy_wait: BusyWait,
    /// Whether one lock per process is held while a request computes, as interpreters do
    #[arg(long, env = "LOREM_RUNTIME_LOCK", default_value = "none")]
    pub runtime_lock: RuntimeLock,
    /// Milliseconds after which a request that computes lets another one of its process go on, also inside a
    /// transaction; 0 never. Without the runtime lock it does nothing
    #[arg(long, env = "LOREM_RUNTIME_SLICE", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub runtime_slice: u32,
    /// Processes that share the port and the file
    #[arg(long, env = "LOREM_PROCESSES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub processes: u16,
    /// Threads per process that handle requests, each with a connection
    #[arg(long, env = "LOREM_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Whether a request keeps a thread from its start to its end, waits included
    #[arg(long, env = "LOREM_DISPATCH", default_value = "inline")]
    pub dispatch: Dispatch,
    /// How many times each piece of a page is rendered: the cost of a slower runtime
    #[arg(long, env = "LOREM_RENDER_COST", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub render_cost: u32,
    /// Units of the program's own work inside each transaction, between its checks and its first write: what an
    /// interpreter does there. A unit is a hash of 4 KB, some microseconds
    #[arg(long, env = "LOREM_TRANSACTION_COST", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub transaction_cost: u32,
    /// Whether the benchmark routes write a session and the time the user was seen
    #[arg(long, env = "LOREM_SIGN_IN_WRITES", default_value = "on")]
    pub sign_in_writes: Toggle,
    /// Who commits: each request by itself, or one thread for all that wait at the moment
    #[arg(long, env = "LOREM_WRITER", default_value = "group")]
    pub writer: Writer,
    /// Cache prepared statements
    #[arg(long, env = "LOREM_STATEMENT_CACHE", default_value = "on")]
    pub statement_cache: Toggle,
    /// Cache rendered fragments of pages until their content changes
    #[arg(long, env = "LOREM_FRAGMENT_CACHE", default_value = "on")]
    pub fragment_cache: Toggle,
    /// Read-only connections that a process shares, each page read in one snapshot; 0 reads on each thread's own,
    /// each query by itself
    #[arg(long, env = "LOREM_READER_POOL", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=256))]
    pub reader_pool: u16,
    /// Who moves SQLite's log into its file: the request whose commit made it long, or a thread of its own
    #[arg(long, env = "LOREM_CHECKPOINT", default_value = "background")]
    pub checkpoint: Checkpoint,
    /// When SQLite waits for the disk: at checkpoints, or at each commit
    #[arg(long, env = "LOREM_SYNCHRONOUS", default_value = "normal")]
    pub synchronous: Synchronous,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Toggle {
    /// On.
    On,
    /// Off.
    Off,
}

impl Toggle {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// Values of `--tx-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TxMode {
    /// The lock is taken by the first write: a transaction that has read before fails at once when another one writes
    Deferred,
    /// The lock is taken by BEGIN, which waits for it
    Immediate,
}

/// Values of `--busy-wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BusyWait {
    /// SQLite sleeps, longer each time; the runtime lock stays taken
    #[value(name = "blocking_timeout_5000")]
    BlockingTimeout5000,
    /// Try again each 60 microseconds; the runtime lock is given away in between
    #[value(name = "yielding_60us")]
    Yielding60us,
}

/// Values of `--runtime-lock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeLock {
    /// One request at a time computes in a process
    Process,
    /// Threads run freely
    None,
}

/// Values of `--dispatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dispatch {
    /// A request waits for a free thread and keeps it
    Threads,
    /// A request holds a thread only while it computes
    Inline,
}

/// Values of `--writer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Writer {
    /// A transaction for each write, on the connection of the request
    Direct,
    /// One transaction for all writes that wait, on one thread per process
    Group,
}

/// Values of `--checkpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Checkpoint {
    /// The commit that makes the log longer than 1,000 pages waits for the disk
    Inline,
    /// Commits wait only when the log has grown to 8,000 pages
    Background,
}

/// Values of `--synchronous`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Synchronous {
    /// A commit survives the death of the process; the last ones may be lost with the power
    Normal,
    /// A commit survives a power cut
    Full,
}

/// Values of `--log-level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What failed
    Error,
    /// and what may need attention
    Warn,
    /// and starts and stops
    Info,
    /// and every request
    Debug,
}

/// Values of `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}
