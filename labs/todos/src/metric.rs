//! Metrics of one process, served at `/metrics` in the format of Prometheus.
//!
//! Does not aggregate over processes.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Labels of request counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The route, not the path, to bound the number of labels.
    pub route: String,
    /// The method, or `other`; `gRPC` for calls.
    pub method: &'static str,
    /// The status; for calls the one of gRPC.
    pub status: u16,
}

impl RequestLabels {
    /// The labels of a response.
    pub fn new(route: &str, method: &'static str, status: u16) -> Self {
        Self { route: route.to_owned(), method, status }
    }
}

/// Labels of durations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabels {
    /// The route.
    pub route: String,
    /// The method, or `other`; `gRPC` for calls.
    pub method: &'static str,
}

impl RouteLabels {
    /// The labels of a route.
    pub fn new(route: &str, method: &'static str) -> Self {
        Self { route: route.to_owned(), method }
    }
}

/// The metrics; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Requests with a response.
    pub requests: Family<RequestLabels, Counter>,
    /// Seconds from the head of a request to the head of its response.
    pub seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    /// Todos created.
    pub created: Counter,
    /// Statements that created todos.
    pub insert_statements: Counter,
    /// Statements prepared because none was cached.
    pub prepared: Counter,
    /// Lists served from the cache.
    pub list_hits: Counter,
    /// Lists loaded into the cache.
    pub list_loads: Counter,
    /// Tree nodes built by the standard encoder.
    pub nodes: Counter,
    /// Units of work added by `row-cost`.
    pub row_work: Counter,
    /// Readers of the changes.
    pub readers: Gauge,
    /// Readers that were dropped because they read too slowly.
    pub slow_readers: Counter,
    /// Threads that wait for PostgreSQL.
    pub waiting_threads: Gauge,
    /// Connections in the pool of the primary.
    pub connections: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            created: Counter::default(),
            insert_statements: Counter::default(),
            prepared: Counter::default(),
            list_hits: Counter::default(),
            list_loads: Counter::default(),
            nodes: Counter::default(),
            row_work: Counter::default(),
            readers: Gauge::default(),
            slow_readers: Counter::default(),
            waiting_threads: Gauge::default(),
            connections: Gauge::default(),
        }
    }
}

/// From 0.1 ms to 13 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 18))
}

impl Metrics {
    /// All metrics in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix("todos");
        registry.register("requests", "Requests answered", self.requests.clone());
        registry.register(
            "request_seconds",
            "From the head of a request to its answer's",
            self.seconds.clone(),
        );
        registry.register("created", "Todos made", self.created.clone());
        registry.register("insert_statements", "Statements that made todos", self.insert_statements.clone());
        registry.register("statements_prepared", "Statements prepared", self.prepared.clone());
        registry.register("list_hits", "Lists answered from memory", self.list_hits.clone());
        registry.register("list_loads", "Lists read to be kept in memory", self.list_loads.clone());
        registry.register("json_nodes", "Nodes of trees built to encode", self.nodes.clone());
        registry.register("row_toil", "Units of own work for row-cost", self.row_work.clone());
        registry.register("change_readers", "Readers of the changes", self.readers.clone());
        registry.register(
            "slow_readers",
            "Readers of the changes that were dropped",
            self.slow_readers.clone(),
        );
        registry.register(
            "waiting_threads",
            "Threads that wait for PostgreSQL",
            self.waiting_threads.clone(),
        );
        registry.register("connections", "Connections to the primary", self.connections.clone());
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}
