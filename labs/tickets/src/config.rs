//! What can be asked for: commands, settings and the switches, by flag or by environment variable.
//!
//! Does not act on any of it. Every switch is independent; one combination would not be safe and is refused.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing::level_filters::LevelFilter;

use crate::order::Limits;

/// Sells tickets from counters in Redis or rows in PostgreSQL, with every tuning step as a switch.
#[derive(Debug, Parser)]
#[command(name = "tickets", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Least severe log line that is written (to stderr): off, error, warn, info, debug
    #[arg(long, env = "TICKETS_LOG_LEVEL", default_value = "info", global = true)]
    pub log_level: LevelFilter,
    /// How log lines look
    #[arg(long, env = "TICKETS_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make tables, tickets, units and counters, all free
    Seed(SeedArgs),
    /// Sell until SIGTERM or Ctrl-C
    Serve(ServeArgs),
}

/// Where the stores are.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Address of PostgreSQL
    #[arg(
        long,
        env = "TICKETS_POSTGRES",
        hide_env_values = true,
        default_value = "postgres://postgres@127.0.0.1:5432/postgres"
    )]
    pub postgres: String,
    /// Address of Redis
    #[arg(long, env = "TICKETS_REDIS", hide_env_values = true, default_value = "redis://127.0.0.1:6379/0")]
    pub redis: String,
}

/// An address as it may be shown: without user and password.
pub fn shown(address: &str) -> String {
    let address = address.split_once('?').map_or(address, |(url, q)| if q.contains('@') { "" } else { url });
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}{}", &address[..scheme + 3], &address[at + 1..])
        }
        // Words like host=... password=...: nothing of it is sure to be harmless.
        (None, _) => "the address given".to_owned(),
        _ => address.to_owned(),
    }
}

/// What `seed` takes.
#[derive(Debug, Clone, Args)]
pub struct SeedArgs {
    /// The stores.
    #[command(flatten)]
    pub stores: StoreArgs,
    /// Tickets, with the ids a, b, c ...
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=26))]
    pub tickets: u8,
    /// How many of each ticket the counter in Redis and the one row in PostgreSQL start with
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(i32).range(0..))]
    pub stock: i32,
    /// Rows for each ticket in the table of units
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(i32).range(0..=10_000_000))]
    pub units_per_ticket: i32,
    /// Throw away the tables and counters that are there
    #[arg(long)]
    pub replace: bool,
}

/// What `serve` takes.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The stores.
    #[command(flatten)]
    pub stores: StoreArgs,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "TICKETS_LISTEN", default_value = "127.0.0.1:3100")]
    pub listen: SocketAddr,
    /// Largest request body, in bytes
    #[arg(long, env = "TICKETS_BODY_LIMIT", default_value_t = 16 * 1024)]
    pub body_limit: usize,
    /// Most lines of one order
    #[arg(long, env = "TICKETS_MAX_LINES", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub max_lines: u16,
    /// Most tickets of one kind in one order
    #[arg(long, env = "TICKETS_MAX_COUNT", default_value_t = 100, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub max_count: i32,
    /// Milliseconds that a request waits for a connection, and then for a statement or script
    #[arg(long, env = "TICKETS_STORE_TIMEOUT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// Seconds that an order may stay unpaid before it gives its units back
    #[arg(long, env = "TICKETS_ORDER_AGE", default_value_t = 900, value_parser = clap::value_parser!(u32).range(1..=31_536_000))]
    pub order_age: u32,
    /// Seconds that an idempotency key is remembered
    #[arg(long, env = "TICKETS_KEY_AGE", default_value_t = 86_400, value_parser = clap::value_parser!(u32).range(1..=31_536_000))]
    pub key_age: u32,
    /// Seconds that open requests have to finish after a stop was asked for
    #[arg(long, env = "TICKETS_GRACE", default_value_t = 10)]
    pub grace: u64,
    /// Threads that handle requests
    #[arg(long, env = "TICKETS_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// The switches.
    #[command(flatten)]
    pub switches: Switches,
}

impl ServeArgs {
    /// How large an order may be.
    pub fn limits(&self) -> Limits {
        Limits { lines: self.max_lines.into(), count: self.max_count }
    }

    /// How long a store may take.
    pub fn store_timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms.into())
    }
}

/// What a study turns on and off.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// What /redis-decrement runs; /simple-redis-decrement and /complex-redis-decrement always run their own
    #[arg(long, env = "TICKETS_REDIS_SCRIPT", default_value = "checked")]
    pub redis_script: RedisScript,
    /// Whether each order is a script call of its own, or all that wait are one call
    #[arg(long, env = "TICKETS_REDIS_CALL", default_value = "each")]
    pub redis_call: RedisCall,
    /// How PostgreSQL gets to know what Redis sold, before the buyer is told
    #[arg(long, env = "TICKETS_RECORD", default_value = "none")]
    pub record: Record,
    /// Where /orders takes its tickets from; from counters only when sales are on record
    #[arg(long, env = "TICKETS_ORDER_STOCK", default_value = "units")]
    pub order_stock: OrderStock,
    /// Which index helps to find free units; made or dropped when the service starts
    #[arg(long, env = "TICKETS_UNIT_INDEX", default_value = "on")]
    pub unit_index: UnitIndex,
    /// Whether each reservation forbids PostgreSQL to read the whole table of units, at one more round trip
    #[arg(long, env = "TICKETS_SEQSCAN", default_value = "planner")]
    pub seqscan: Seqscan,
    /// Whether units are found and marked by two statements for each line of an order, or by one
    #[arg(long, env = "TICKETS_UNIT_STATEMENT", default_value = "two")]
    pub unit_statement: UnitStatement,
    /// Whether each reservation of units is a transaction of its own, or all that wait are one
    #[arg(long, env = "TICKETS_UNIT_CALL", default_value = "each")]
    pub unit_call: UnitCall,
    /// Most connections to PostgreSQL at a time
    #[arg(long, env = "TICKETS_POOL_MAX", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub pool_max: u16,
}

/// Values of `--redis-script`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisScript {
    /// Subtract without looking; counters may go below zero
    Simple,
    /// Take all or nothing
    Checked,
}

/// Values of `--redis-call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisCall {
    /// A script call for each order, as published
    Each,
    /// One call for all orders that wait
    Batch,
}

/// Values of `--record`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Record {
    /// Not at all, as published: what Redis loses is lost
    None,
    /// A transaction for each order
    Each,
    /// One transaction for all orders that wait
    Grouped,
}

/// Values of `--order-stock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderStock {
    /// Units in PostgreSQL
    Units,
    /// Counters in Redis
    Counters,
}

/// Values of `--unit-call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitCall {
    /// A transaction for each order, as published
    Each,
    /// One transaction for all orders that wait
    Batch,
}

/// Values of `--unit-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitIndex {
    /// None but the primary key
    Off,
    /// On ticket and whether it is reserved
    On,
    /// On ticket and unit, of free units only: it shrinks as units are sold
    Partial,
}

/// Values of `--seqscan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Seqscan {
    /// PostgreSQL chooses
    Planner,
    /// SET LOCAL `enable_seqscan` = off at the start of each transaction
    #[value(name = "off_in_transaction")]
    OffInTransaction,
}

/// Values of `--unit-statement`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitStatement {
    /// SELECT ... FOR UPDATE SKIP LOCKED, then UPDATE
    Two,
    /// UPDATE of what the SELECT inside of it locks
    One,
}

/// Values of `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}
