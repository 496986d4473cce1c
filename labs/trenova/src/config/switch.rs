//! The switches that studies vary. The defaults are the fastest known setting that gives up nothing.
//!
//! Every switch is independent: any combination starts.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Switches that studies vary.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// Index that finds the workers of a tenant; created or dropped at the start
    #[arg(long, env = "TRENOVA_WORKERS_INDEX", default_value = "newest")]
    pub workers_index: WorkersIndex,
    /// Most bytes of request headers, and of one write to a connection
    #[arg(long, env = "TRENOVA_HTTP_BUFFERS", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1024..=1_048_576))]
    pub http_buffers: u32,
    /// Most open client connections; more are answered 503 and closed
    #[arg(long, env = "TRENOVA_SERVER_CONCURRENCY", default_value_t = 1_048_576, value_parser = clap::value_parser!(u32).range(1..))]
    pub server_concurrency: u32,
    /// Most connections to PostgreSQL
    #[arg(long, env = "TRENOVA_DB_POOL_MAX", default_value_t = 80, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub db_pool_max: u16,
    /// Most idle connections to PostgreSQL
    #[arg(long, env = "TRENOVA_DB_POOL_IDLE", default_value_t = 80, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub db_pool_idle: u16,
    /// Seconds after which a connection to PostgreSQL is replaced
    #[arg(long, env = "TRENOVA_DB_POOL_LIFE", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub db_pool_life: u32,
    /// Seconds after which an idle connection to PostgreSQL is closed
    #[arg(long, env = "TRENOVA_DB_POOL_IDLE_TIME", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub db_pool_idle_time: u32,
    /// How commands reach Redis
    #[arg(long, env = "TRENOVA_REDIS_LINK", default_value = "shared")]
    pub redis_link: RedisLink,
    /// Most connections to Redis, with `redis-link pool`
    #[arg(long, env = "TRENOVA_REDIS_POOL", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub redis_pool: u16,
    /// Connections to Redis that are opened at the start, with `redis-link pool`
    #[arg(long, env = "TRENOVA_REDIS_POOL_IDLE", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub redis_pool_idle: u16,
    /// Server processes that share one socket
    #[arg(long, env = "TRENOVA_PREFORK", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub prefork: u16,
    /// Whether the processes divide the pools, or each has pools of the full size
    #[arg(long, env = "TRENOVA_PREFORK_POOLS", default_value = "divided")]
    pub prefork_pools: PreforkPools,
    /// Number of this process, from 0; not a switch.
    #[arg(skip)]
    pub process: u16,
    /// How each request keeps its session alive
    #[arg(long, env = "TRENOVA_SESSION_REFRESH", default_value = "deferred")]
    pub session_refresh: SessionRefresh,
    /// Whether each check reads the set of a session's events and each refresh adds one
    #[arg(long, env = "TRENOVA_SESSION_EVENTS", default_value = "off")]
    pub session_events: SessionEvents,
    /// Milliseconds that a session is cached in memory; 0: it is read from Redis per request or batch
    #[arg(long, env = "TRENOVA_SESSION_CACHE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub session_cache_ms: u32,
    /// What happens to requests while Redis cannot read their session
    #[arg(long, env = "TRENOVA_SESSION_FAILURE", default_value = "closed")]
    pub session_failure: Failure,
    /// Requests per user, address, route and window: a number, or `off`
    #[arg(long, env = "TRENOVA_RATE_LIMIT", default_value = "300")]
    pub rate_limit: Limit,
    /// Milliseconds per window
    #[arg(long, env = "TRENOVA_RATE_WINDOW_MS", default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub rate_window_ms: u32,
    /// What happens to requests while Redis cannot count them
    #[arg(long, env = "TRENOVA_RATE_LIMIT_FAILURE", default_value = "closed")]
    pub rate_limit_failure: Failure,
    /// Separate commands for session and limit, one script for both, or one script per batch of requests
    #[arg(long, env = "TRENOVA_REDIS_CALL", default_value = "batch")]
    pub redis_call: RedisCall,
    /// How matching workers are counted
    #[arg(long, env = "TRENOVA_COUNT_QUERY", default_value = "kept")]
    pub count_query: CountQuery,
    /// Which columns are read
    #[arg(long, env = "TRENOVA_COLUMNS", default_value = "needed")]
    pub columns: Columns,
    /// Whether prepared statements are kept
    #[arg(long, env = "TRENOVA_STATEMENT_CACHE", default_value = "on")]
    pub statement_cache: Toggle,
    /// One statement per request, or one for all waiting requests that are equal
    #[arg(long, env = "TRENOVA_QUERY_CALL", default_value = "batch")]
    pub query_call: QueryCall,
    /// How responses are encoded
    #[arg(long, env = "TRENOVA_JSON", default_value = "fast")]
    pub json: Json,
    /// Milliseconds that a response is cached; 0: each is read after its request arrived
    #[arg(long, env = "TRENOVA_ANSWER_CACHE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub answer_cache_ms: u32,
    /// Workers per tenant, created or deleted at the start: a number, or `off` to leave them
    #[arg(long, env = "TRENOVA_ROWS", default_value = "off")]
    pub rows: Limit,
}

impl Switches {
    /// How long a session is cached in memory.
    pub fn session_cache(&self) -> Duration {
        Duration::from_millis(self.session_cache_ms.into())
    }

    /// How long a response is cached.
    pub fn answer_cache(&self) -> Duration {
        Duration::from_millis(self.answer_cache_ms.into())
    }

    /// Size of this process's pool, at least 1: without a connection it could not serve. With more processes than
    /// connections, the total exceeds `all`.
    pub fn pool(&self, all: u16) -> u16 {
        self.share(all).max(1)
    }

    /// This process's share of `all` connections. The remainder goes to the first processes, one each.
    pub fn share(&self, all: u16) -> u16 {
        match self.prefork_pools {
            PreforkPools::Divided => all / self.prefork + u16::from(self.process < all % self.prefork),
            PreforkPools::Multiplied => all,
        }
    }
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

/// A number from 1, or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<u32>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        match text.parse() {
            Ok(number) if (1..=1_000_000_000).contains(&number) => Ok(Self(Some(number))),
            _ => Err("a number from 1 to 1000000000, or `off`".to_owned()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("off"),
        }
    }
}

/// Values of `--workers-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkersIndex {
    /// None
    None,
    /// On organization and business unit, as published
    Tenant,
    /// On organization, business unit and time, so that a tenant's newest workers are adjacent
    Newest,
}

/// Values of `--redis-link`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisLink {
    /// One connection per command in progress
    Pool,
    /// One connection that pipelines all commands
    Shared,
}

/// Values of `--prefork-pools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PreforkPools {
    /// All processes together have pools of the full size
    Divided,
    /// Each process has pools of the full size
    Multiplied,
}

/// Values of `--session-refresh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionRefresh {
    /// The session is read again and written back before the response, as published
    Full,
    /// It is written back before the response
    Write,
    /// It is written back within a second, once for all requests of that second
    Deferred,
    /// Never: the session expires a fixed time after the sign-in
    Off,
}

/// Values of `--session-events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionEvents {
    /// None
    Off,
    /// The set has at most 16 events
    Capped,
    /// The set grows with every request, as published
    Growing,
}

/// Values of `--session-failure` and `--rate-limit-failure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Failure {
    /// They are let through, as published
    Open,
    /// They are refused with 503
    Closed,
}

/// Values of `--redis-call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisCall {
    /// Command by command, as published
    Each,
    /// One script call per request
    Script,
    /// One script call per batch of waiting requests
    Batch,
}

/// Values of `--count-query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CountQuery {
    /// A second statement in parallel, on another connection, as published
    Parallel,
    /// The same statement counts all rows that match
    Window,
    /// The same statement reads a count kept by a trigger; searches count all rows that match
    Kept,
    /// Not counted
    Off,
}

/// Values of `--columns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Columns {
    /// All, as published
    All,
    /// Those that are shown
    Needed,
}

/// Values of `--query-call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryCall {
    /// One per request
    Each,
    /// One for all waiting requests that are equal, started after they arrived
    Batch,
}

/// Values of `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// Builds a tree of values, then its text
    Standard,
    /// Writes text directly
    Fast,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        switches: Switches,
    }

    /// Sum of a value over all processes.
    fn sum(prefork: u16, pools: &str, figure: impl Fn(&Switches) -> u16) -> u16 {
        let line = ["line", "--prefork", &prefork.to_string(), "--prefork-pools", pools];
        let switches = Line::parse_from(line).switches;
        (0..prefork).map(|process| figure(&Switches { process, ..switches.clone() })).sum()
    }

    #[test]
    fn divided_pools_add_up_to_the_full_size_or_one_connection_per_process() {
        for (prefork, all, pools, shares) in [
            (1, 80, 80, 80),
            (3, 80, 80, 80),
            (64, 80, 80, 80),
            (64, 200, 200, 200),
            (64, 3, 64, 3),
            (4, 0, 4, 0),
        ] {
            assert_eq!(sum(prefork, "divided", |switches| switches.pool(all)), pools, "{prefork} {all}");
            assert_eq!(sum(prefork, "divided", |switches| switches.share(all)), shares, "{prefork} {all}");
        }
        assert_eq!(sum(3, "multiplied", |switches| switches.pool(80)), 3 * 80);
    }
}
