//! The switches: what a study turns on and off. The defaults are the fastest known setting that gives up nothing.
//!
//! Every switch is independent: any combination starts.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// What a study turns on and off.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// Which index finds the workers of a tenant; made or dropped at the start
    #[arg(long, env = "TRENOVA_WORKERS_INDEX", default_value = "newest")]
    pub workers_index: WorkersIndex,
    /// Bytes that the head of a request may have, and that are written to a connection at a time
    #[arg(long, env = "TRENOVA_HTTP_BUFFERS", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1024..=1_048_576))]
    pub http_buffers: u32,
    /// Most open connections of callers; more are answered 503 and closed
    #[arg(long, env = "TRENOVA_SERVER_CONCURRENCY", default_value_t = 1_048_576, value_parser = clap::value_parser!(u32).range(1..))]
    pub server_concurrency: u32,
    /// Most connections to PostgreSQL
    #[arg(long, env = "TRENOVA_DB_POOL_MAX", default_value_t = 80, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub db_pool_max: u16,
    /// Most connections to PostgreSQL that are kept while nobody needs them
    #[arg(long, env = "TRENOVA_DB_POOL_IDLE", default_value_t = 80, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub db_pool_idle: u16,
    /// Seconds after which a connection to PostgreSQL is replaced
    #[arg(long, env = "TRENOVA_DB_POOL_LIFE", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub db_pool_life: u32,
    /// Seconds after which a connection to PostgreSQL that nobody needed is closed
    #[arg(long, env = "TRENOVA_DB_POOL_IDLE_TIME", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub db_pool_idle_time: u32,
    /// How commands get to Redis
    #[arg(long, env = "TRENOVA_REDIS_LINK", default_value = "shared")]
    pub redis_link: RedisLink,
    /// Most connections to Redis, with `redis-link pool`
    #[arg(long, env = "TRENOVA_REDIS_POOL", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub redis_pool: u16,
    /// Connections to Redis that are opened at the start, with `redis-link pool`
    #[arg(long, env = "TRENOVA_REDIS_POOL_IDLE", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub redis_pool_idle: u16,
    /// How many processes serve, on one socket
    #[arg(long, env = "TRENOVA_PREFORK", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub prefork: u16,
    /// Whether the pools are divided among the processes, or each has as large ones as one alone
    #[arg(long, env = "TRENOVA_PREFORK_POOLS", default_value = "divided")]
    pub prefork_pools: PreforkPools,
    /// Which of the processes this one is, from 0; not a switch.
    #[arg(skip)]
    pub process: u16,
    /// How each request keeps its session alive
    #[arg(long, env = "TRENOVA_SESSION_REFRESH", default_value = "deferred")]
    pub session_refresh: SessionRefresh,
    /// Whether the set of a session's events is read at each check and gets a new one at each refresh
    #[arg(long, env = "TRENOVA_SESSION_EVENTS", default_value = "off")]
    pub session_events: SessionEvents,
    /// Milliseconds that a session may be taken from memory; 0: it is read from Redis for each request, or batch of them
    #[arg(long, env = "TRENOVA_SESSION_CACHE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub session_cache_ms: u32,
    /// What becomes of requests while Redis cannot tell their session
    #[arg(long, env = "TRENOVA_SESSION_FAILURE", default_value = "closed")]
    pub session_failure: Failure,
    /// Requests of a user from an address to a route in a window: a number, or `off`
    #[arg(long, env = "TRENOVA_RATE_LIMIT", default_value = "300")]
    pub rate_limit: Limit,
    /// Milliseconds of a window
    #[arg(long, env = "TRENOVA_RATE_WINDOW_MS", default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub rate_window_ms: u32,
    /// What becomes of requests while Redis cannot count them
    #[arg(long, env = "TRENOVA_RATE_LIMIT_FAILURE", default_value = "closed")]
    pub rate_limit_failure: Failure,
    /// Commands of their own for session and limit, a script for both, or a script for all requests that wait
    #[arg(long, env = "TRENOVA_REDIS_CALL", default_value = "batch")]
    pub redis_call: RedisCall,
    /// How the number of matching workers is found
    #[arg(long, env = "TRENOVA_COUNT_QUERY", default_value = "kept")]
    pub count_query: CountQuery,
    /// Which columns are read
    #[arg(long, env = "TRENOVA_COLUMNS", default_value = "needed")]
    pub columns: Columns,
    /// Whether prepared statements are kept
    #[arg(long, env = "TRENOVA_STATEMENT_CACHE", default_value = "on")]
    pub statement_cache: Toggle,
    /// Statements of each request's own, or one for all that wait for the same
    #[arg(long, env = "TRENOVA_QUERY_CALL", default_value = "batch")]
    pub query_call: QueryCall,
    /// How answers are encoded
    #[arg(long, env = "TRENOVA_JSON", default_value = "fast")]
    pub json: Json,
    /// Milliseconds that an answer may be old; 0: each is read after its request came
    #[arg(long, env = "TRENOVA_ANSWER_CACHE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub answer_cache_ms: u32,
    /// Workers that each tenant is brought to at the start: a number, or `off` to leave them
    #[arg(long, env = "TRENOVA_ROWS", default_value = "off")]
    pub rows: Limit,
}

impl Switches {
    /// How long a session may be taken from memory.
    pub fn session_cache(&self) -> Duration {
        Duration::from_millis(self.session_cache_ms.into())
    }

    /// How old an answer may be.
    pub fn answer_cache(&self) -> Duration {
        Duration::from_millis(self.answer_cache_ms.into())
    }

    /// A pool's size for this process. Without a connection it could serve nobody, so that all processes together have more than
    /// the pool where they are more.
    pub fn pool(&self, all: u16) -> u16 {
        self.share(all).max(1)
    }

    /// How many connections of all are this process's. What is left over goes to the first ones, one to each.
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
    /// On organization, business unit and time, so that the newest of a tenant are in one place
    Newest,
}

/// Values of `--redis-link`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedisLink {
    /// A connection for each command that is under way
    Pool,
    /// One connection for all commands, which it pipelines
    Shared,
}

/// Values of `--prefork-pools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PreforkPools {
    /// All processes together have the pools of one
    Divided,
    /// Each process has pools as large as one alone
    Multiplied,
}

/// Values of `--session-refresh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionRefresh {
    /// The session is read again and written back before the answer, as published
    Full,
    /// It is written back before the answer
    Write,
    /// It is written back within a second, once for all requests of that second
    Deferred,
    /// Not at all: it ends so long after the sign-in
    Off,
}

/// Values of `--session-events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionEvents {
    /// None
    Off,
    /// The set has 16 events at the most
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
    /// One script call for a request
    Script,
    /// One script call for all requests that wait
    Batch,
}

/// Values of `--count-query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CountQuery {
    /// A second statement at the same time, on another connection, as published
    Parallel,
    /// The same statement counts all rows that match
    Window,
    /// The same statement reads a number that a trigger keeps; searches count all rows that match
    Kept,
    /// It is not told
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
    /// For each request
    Each,
    /// For all that wait for the same, begun after they came
    Batch,
}

/// Values of `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// A tree of named values, then its text
    Standard,
    /// Straight to text
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

    /// A figure of all processes together.
    fn sum(prefork: u16, pools: &str, figure: impl Fn(&Switches) -> u16) -> u16 {
        let line = ["line", "--prefork", &prefork.to_string(), "--prefork-pools", pools];
        let switches = Line::parse_from(line).switches;
        (0..prefork).map(|process| figure(&Switches { process, ..switches.clone() })).sum()
    }

    #[test]
    fn divided_pools_are_together_as_large_as_one_or_have_a_connection_for_each_process() {
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
