//! What a process counts of its own work, shown at `/metrics` as Prometheus reads it.
//!
//! Judges nothing, and knows nothing of other processes.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// What requests are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Request {
    /// The route, not the path: their number does not grow.
    pub route: String,
    /// The method, or `other`.
    pub method: &'static str,
    /// The status.
    pub status: u16,
}

/// What times are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Route {
    /// The route.
    pub route: String,
    /// The method, or `other`.
    pub method: &'static str,
}

/// The figures; all clones count on the same ones.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Requests that were answered.
    pub requests: Family<Request, Counter>,
    /// Seconds from the head of a request to the head of its answer.
    pub seconds: Family<Route, Histogram, fn() -> Histogram>,
    /// Todos that were made.
    pub created: Counter,
    /// Statements that made todos.
    pub insert_statements: Counter,
    /// Statements that were prepared because no prepared one was kept.
    pub prepared: Counter,
    /// Lists that were answered from memory.
    pub list_hits: Counter,
    /// Lists that were read to be kept in memory.
    pub list_loads: Counter,
    /// Nodes of trees that the standard encoder built.
    pub nodes: Counter,
    /// Units of own work, for the sake of `row-cost`.
    pub toil: Counter,
    /// Requests that a thread, or the one thread, waits for.
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
            toil: Counter::default(),
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
    /// All of it in the text format of Prometheus.
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
        registry.register("row_toil", "Units of own work for row-cost", self.toil.clone());
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
