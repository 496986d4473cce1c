//! Commands, settings and switches, by flag or environment variable.
//!
//! Does not act on them. The switches are independent; `serve` refuses the one unsafe combination.

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
    /// Format of log lines
    #[arg(long, env = "TICKETS_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring the tables up to date; what is in them stays
    Migrate(StoreArgs),
    /// Bring the tables up to date and make tickets, units and counters, all free
    Seed(SeedArgs),
    /// Sell until SIGTERM or Ctrl-C
    Serve(ServeArgs),
}

/// Addresses of the stores.
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

/// An address without user and password, for messages.
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
    /// Units of each ticket that are sold already: those that are found first, as after a sale; all if there are fewer
    #[arg(long, env = "TICKETS_UNITS_SOLD", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=10_000_000))]
    pub units_sold: i32,
    /// Replace existing tables and counters
    #[arg(long)]
    pub replace: bool,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct ServeArgs {
    /// The stores.
    #[command(flatten)]
    pub stores: StoreArgs,
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "TICKETS_LISTEN", default_value = "127.0.0.1:3100")]
    pub listen: SocketAddr,
    /// Maximum size of a request body, in bytes
    #[arg(long, env = "TICKETS_BODY_LIMIT", default_value_t = 16 * 1024)]
    pub body_limit: usize,
    /// Milliseconds that a request body can take to arrive
    #[arg(long, env = "TICKETS_BODY_TIMEOUT_MS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub body_timeout_ms: u32,
    /// Maximum number of lines per order
    #[arg(long, env = "TICKETS_MAX_LINES", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub max_lines: u16,
    /// Maximum count per ticket and order
    #[arg(long, env = "TICKETS_MAX_COUNT", default_value_t = 100, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub max_count: i32,
    /// Milliseconds that a request waits for a connection, and then for a statement or script
    #[arg(long, env = "TICKETS_STORE_TIMEOUT_MS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub store_timeout_ms: u32,
    /// Seconds that an order can stay unpaid before its tickets are released
    #[arg(long, env = "TICKETS_ORDER_AGE", default_value_t = 900, value_parser = clap::value_parser!(u32).range(1..=31_536_000))]
    pub order_age: u32,
    /// Seconds that an idempotency key is remembered
    #[arg(long, env = "TICKETS_KEY_AGE", default_value_t = 86_400, value_parser = clap::value_parser!(u32).range(1..=31_536_000))]
    pub key_age: u32,
    /// Seconds that open requests have to finish when the service stops
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
    /// Size limits of an order.
    pub fn limits(&self) -> Limits {
        Limits { lines: self.max_lines.into(), count: self.max_count }
    }

    /// Time limit of a request body.
    pub fn body_timeout(&self) -> Duration {
        Duration::from_millis(self.body_timeout_ms.into())
    }

    /// Timeout of a store.
    pub fn store_timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms.into())
    }
}

/// Tuning steps that a study varies. The defaults are the fastest known setting.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// What /redis-decrement runs; /simple-redis-decrement and /complex-redis-decrement always run their own
    #[arg(long, env = "TICKETS_REDIS_SCRIPT", default_value = "checked")]
    pub redis_script: RedisScript,
    /// Whether each order is a script call of its own, or all waiting orders share one call
    #[arg(long, env = "TICKETS_REDIS_CALL", default_value = "batch")]
    pub redis_call: RedisCall,
    /// How sales from Redis are recorded in PostgreSQL before the response
    #[arg(long, env = "TICKETS_RECORD", default_value = "none")]
    pub record: Record,
    /// Where /orders takes its tickets from; counters need recorded sales
    #[arg(long, env = "TICKETS_ORDER_STOCK", default_value = "units")]
    pub order_stock: OrderStock,
    /// Which index finds free units; created or dropped when the service starts
    #[arg(long, env = "TICKETS_UNIT_INDEX", default_value = "partial")]
    pub unit_index: UnitIndex,
    /// Whether each reservation forbids sequential scans of the table of units, at one more round trip
    #[arg(long, env = "TICKETS_SEQSCAN", default_value = "planner")]
    pub seqscan: Seqscan,
    /// Whether units are found and marked by two statements for each line of an order, or by one
    #[arg(long, env = "TICKETS_UNIT_STATEMENT", default_value = "one")]
    pub unit_statement: UnitStatement,
    /// Whether each reservation of units is a transaction of its own, or all waiting ones share one
    #[arg(long, env = "TICKETS_UNIT_CALL", default_value = "batch")]
    pub unit_call: UnitCall,
    /// Maximum number of connections to PostgreSQL
    #[arg(long, env = "TICKETS_POOL_MAX", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub pool_max: u16,
}

/// Values of `--redis-script`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisScript {
    /// Subtract without a check; counters can fall below zero
    Simple,
    /// Take all or nothing
    Checked,
}

/// Values of `--redis-call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisCall {
    /// A script call per order, as published
    Each,
    /// One call for all waiting orders
    Batch,
}

/// Values of `--record`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Record {
    /// Not at all, as published: what Redis loses is lost
    None,
    /// A transaction per order
    Each,
    /// One transaction for all waiting orders
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
    /// A transaction per order, as published
    Each,
    /// One transaction for all waiting orders
    Batch,
}

/// Values of `--unit-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitIndex {
    /// None but the primary key
    Off,
    /// On ticket and reservation
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
    /// UPDATE of the rows that its inner SELECT locks
    One,
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
    fn an_address_is_shown_without_anything_that_can_be_a_password() {
        for (address, expected) in [
            ("postgres://me:geheim@db:5432/x", "postgres://db:5432/x"),
            ("postgres://db/x?user=me&password=geheim", "postgres://db/x"),
            ("postgres://me:ge?heim@db/x", "the address given"),
            ("redis://:geheim@cache:6379", "redis://cache:6379"),
            ("host=db password=geheim", "the address given"),
            ("host=db password=ge://heim", "the address given"),
        ] {
            assert_eq!(without_credentials(address), expected, "{address}");
        }
    }
}
