//! Metrics of one process, served at `/metrics` in Prometheus format.
//!
//! Does not aggregate over processes: each response has the values of the process that sent it.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Labels of the request counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Request {
    /// Route pattern, not the path, which keeps the number of labels bounded.
    pub route: &'static str,
    /// The method, or `other`.
    pub method: &'static str,
    /// The status.
    pub status: u16,
}

/// Labels of the duration histogram.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Route {
    /// The route.
    pub route: &'static str,
    /// The method, or `other`.
    pub method: &'static str,
}

/// The metrics; clones share the same counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Responses.
    pub requests: Family<Request, Counter>,
    /// Seconds from the request headers to the response headers.
    pub seconds: Family<Route, Histogram, fn() -> Histogram>,
    /// Writes to client sockets.
    pub socket_writes: Counter,
    /// Connections rejected because too many were open.
    pub turned_away: Counter,
    /// Open client connections.
    pub callers: Gauge,
    /// Round trips to Redis.
    pub redis_round_trips: Counter,
    /// Commands sent to Redis.
    pub redis_commands: Counter,
    /// Script calls that check session and limit.
    pub pass_calls: Counter,
    /// Sessions served from memory.
    pub session_hits: Counter,
    /// Placeholder sessions used while Redis failed.
    pub sessions_made_up: Counter,
    /// Requests admitted uncounted while Redis failed.
    pub uncounted: Counter,
    /// Statements that selected or counted options.
    pub statements: Counter,
    /// Columns read for options.
    pub columns: Counter,
    /// Nodes of trees built by the standard encoder.
    pub nodes: Counter,
    /// Responses served from memory.
    pub answer_hits: Counter,
    /// Connections to PostgreSQL closed because of the idle limit.
    pub db_closed: Counter,
    /// Open connections to PostgreSQL.
    pub db_connections: Gauge,
    /// Requests without a connection to PostgreSQL that need one: the queue of the pool.
    pub db_waiting: Gauge,
    /// Seconds that requests waited for a connection to PostgreSQL. Those that had one at once are not in it.
    pub db_wait_seconds: Histogram,
    /// Open connections to Redis.
    pub redis_connections: Gauge,
    /// Commands without a connection to Redis that need one: the queue of the pool.
    pub redis_waiting: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            socket_writes: Counter::default(),
            turned_away: Counter::default(),
            callers: Gauge::default(),
            redis_round_trips: Counter::default(),
            redis_commands: Counter::default(),
            pass_calls: Counter::default(),
            session_hits: Counter::default(),
            sessions_made_up: Counter::default(),
            uncounted: Counter::default(),
            statements: Counter::default(),
            columns: Counter::default(),
            nodes: Counter::default(),
            answer_hits: Counter::default(),
            db_closed: Counter::default(),
            db_connections: Gauge::default(),
            db_waiting: Gauge::default(),
            db_wait_seconds: buckets(),
            redis_connections: Gauge::default(),
            redis_waiting: Gauge::default(),
        }
    }
}

/// From 0.1 ms to 13 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 18))
}

impl Metrics {
    /// All metrics in Prometheus text format.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix("trenova");
        registry.register("requests", "Requests answered", self.requests.clone());
        registry.register(
            "request_seconds",
            "From the head of a request to its answer's",
            self.seconds.clone(),
        );
        registry.register(
            "db_wait_seconds",
            "Waits for a connection to PostgreSQL, of those that had none at once",
            self.db_wait_seconds.clone(),
        );
        for (name, text, counter) in self.counters() {
            registry.register(name, text, counter.clone());
        }
        for (name, text, gauge) in self.gauges() {
            registry.register(name, text, gauge.clone());
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    fn counters(&self) -> [(&'static str, &'static str, &Counter); 13] {
        [
            ("socket_writes", "Writes to sockets of callers", &self.socket_writes),
            ("turned_away", "Connections closed because too many were open", &self.turned_away),
            ("redis_round_trips", "Times that Redis was waited for", &self.redis_round_trips),
            ("redis_commands", "Commands sent to Redis", &self.redis_commands),
            ("pass_calls", "Script calls for session and limit", &self.pass_calls),
            ("session_hits", "Sessions taken from memory", &self.session_hits),
            ("sessions_made_up", "Sessions made up without Redis", &self.sessions_made_up),
            ("uncounted", "Requests let through without Redis", &self.uncounted),
            ("statements", "Statements that selected or counted options", &self.statements),
            ("columns", "Columns read for options", &self.columns),
            ("json_nodes", "Nodes of trees built to encode", &self.nodes),
            ("answer_hits", "Answers taken from memory", &self.answer_hits),
            ("db_closed", "Connections closed because enough were idle", &self.db_closed),
        ]
    }

    fn gauges(&self) -> [(&'static str, &'static str, &Gauge); 5] {
        [
            ("callers", "Open connections of callers", &self.callers),
            ("db_connections", "Connections to PostgreSQL", &self.db_connections),
            ("db_waiting", "Requests that wait for a connection to PostgreSQL", &self.db_waiting),
            ("redis_connections", "Connections to Redis", &self.redis_connections),
            ("redis_waiting", "Commands that wait for a connection to Redis", &self.redis_waiting),
        ]
    }
}
