//! Metrics of one process, served at `/metrics` in Prometheus format.
//!
//! Does not aggregate over processes; only the backlog covers all nodes.

use hdrhistogram::Histogram as Exact;
use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// Highest recorded lag, in microseconds: an hour.
const LAG_MAX: u64 = 3_600_000_000;

/// Labels of the request counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Request {
    /// Route pattern, not the path, which keeps the number of labels bounded.
    pub route: String,
    /// The method, or `other`.
    pub method: &'static str,
    /// The status.
    pub status: u16,
}

/// Labels of the duration histogram.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Route {
    /// The route.
    pub route: String,
    /// The method, or `other`.
    pub method: &'static str,
}

/// Labels of the result counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Ended {
    /// success, failed, timeout or missed.
    pub status: &'static str,
}

/// Backlog of executions, over all nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Due and not claimed.
    pub due: i64,
    /// Due later.
    pub later: i64,
    /// Claimed and running.
    pub running: i64,
    /// Age of the oldest due execution, in ms.
    pub oldest_ms: i64,
}

/// The metrics; clones share the same counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Responses.
    pub requests: Family<Request, Counter>,
    /// Seconds from the request headers to the response headers.
    pub seconds: Family<Route, Histogram, fn() -> Histogram>,
    /// Tasks created.
    pub created: Counter,
    /// Statements that wrote tasks.
    pub create_statements: Counter,
    /// Host names resolved by `create-path dns_update`.
    pub name_lookups: Counter,
    /// Keys looked up in the store.
    pub key_lookups: Counter,
    /// Writes of the last use of a key.
    pub key_touches: Counter,
    /// Claim transactions.
    pub claims: Counter,
    /// Executions claimed.
    pub claimed: Counter,
    /// Loads of a job's work after its claim.
    pub job_loads: Counter,
    /// Results written, by status.
    pub ended: Family<Ended, Counter>,
    /// Statements that wrote results.
    pub result_statements: Counter,
    /// Results refused because another node owns the execution.
    pub refused_results: Counter,
    /// Executions rescued from dead nodes.
    pub rescued: Counter,
    /// Writes of execution counts of organizations.
    pub month_writes: Counter,
    /// Separate writes of a task's last execution.
    pub last_exec_writes: Counter,
    /// Callbacks delivered.
    pub callbacks: Counter,
    /// Callbacks lost.
    pub lost_callbacks: Counter,
    /// Notifications delivered.
    pub notices: Counter,
    /// Notifications lost.
    pub lost_notices: Counter,
    /// Calls in progress.
    pub calling: Gauge,
    /// Number of workers.
    pub workers: Gauge,
    /// Start lag: seconds from due to the start of the call.
    pub start_lag: Histogram,
    /// The same in microseconds, to three digits.
    exact_lag: Arc<Mutex<Exact<u64>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants that hdrhistogram takes")]
        let exact_lag = Exact::new_with_max(LAG_MAX, 3).expect("bounds");
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            created: Counter::default(),
            create_statements: Counter::default(),
            name_lookups: Counter::default(),
            key_lookups: Counter::default(),
            key_touches: Counter::default(),
            claims: Counter::default(),
            claimed: Counter::default(),
            job_loads: Counter::default(),
            ended: Family::default(),
            result_statements: Counter::default(),
            refused_results: Counter::default(),
            rescued: Counter::default(),
            month_writes: Counter::default(),
            last_exec_writes: Counter::default(),
            callbacks: Counter::default(),
            lost_callbacks: Counter::default(),
            notices: Counter::default(),
            lost_notices: Counter::default(),
            calling: Gauge::default(),
            workers: Gauge::default(),
            start_lag: lags(),
            exact_lag: Arc::new(Mutex::new(exact_lag)),
        }
    }
}

/// From 0.1 ms to 13 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 18))
}

/// From 1 ms to 35 min.
fn lags() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 22))
}

impl Metrics {
    /// Records the start lag of a call.
    pub fn observe_start(&self, due: Timestamp, now: Timestamp) {
        let micros = u64::try_from(due.duration_until(now).as_micros()).unwrap_or_default();
        self.start_lag.observe(micros as f64 / 1e6);
        self.exact_lag.lock().saturating_record(micros);
    }

    /// Quantile of the start lag in ms, since the start or the last reset.
    pub fn lag_ms(&self, part: f64) -> f64 {
        self.exact_lag.lock().value_at_quantile(part) as f64 / 1000.0
    }

    /// Resets the start lags.
    pub fn reset_lag(&self) {
        self.exact_lag.lock().reset();
    }

    /// All metrics in Prometheus text format.
    pub fn text(&self, backlog: Option<Backlog>) -> String {
        let mut registry = Registry::with_prefix("runlater");
        let counters = [
            ("tasks_created", "Tasks made", &self.created),
            ("create_statements", "Statements that wrote tasks", &self.create_statements),
            ("name_lookups", "Names resolved before a task was made", &self.name_lookups),
            ("key_lookups", "Keys looked up in the store", &self.key_lookups),
            ("key_touches", "Times that a use of a key was written down", &self.key_touches),
            ("claims", "Transactions that looked for work", &self.claims),
            ("executions_claimed", "Executions taken", &self.claimed),
            ("job_loads", "Jobs loaded after their claim", &self.job_loads),
            ("result_statements", "Statements that wrote results", &self.result_statements),
            ("results_refused", "Results of executions that others have by now", &self.refused_results),
            ("executions_rescued", "Executions taken from nodes that are gone", &self.rescued),
            ("month_counter_writes", "Writes of counters of organizations", &self.month_writes),
            ("last_execution_writes", "Writes of when a task last ran, alone", &self.last_exec_writes),
            ("callbacks", "Callbacks that arrived", &self.callbacks),
            ("callbacks_lost", "Callbacks that were given up", &self.lost_callbacks),
            ("notices", "Notices of failures and recoveries that arrived", &self.notices),
            ("notices_lost", "Notices that were given up", &self.lost_notices),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        registry.register("requests", "Requests answered", self.requests.clone());
        let help = "From the head of a request to its answer's";
        registry.register("request_seconds", help, self.seconds.clone());
        registry.register("executions_ended", "Executions whose result is written", self.ended.clone());
        registry.register("calls_under_way", "Calls under way", self.calling.clone());
        registry.register("workers", "Workers there are", self.workers.clone());
        registry.register("start_lag_seconds", "From due to the start of the call", self.start_lag.clone());
        if let Some(backlog) = backlog {
            register_backlog(&mut registry, backlog);
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

fn register_backlog(registry: &mut Registry, backlog: Backlog) {
    let gauges = [
        ("backlog", "Executions due that nobody has taken", backlog.due),
        ("executions_later", "Executions due later", backlog.later),
        ("executions_running", "Executions that somebody has taken", backlog.running),
        ("backlog_oldest_ms", "Milliseconds that the oldest has been due", backlog.oldest_ms),
    ];
    for (name, help, value) in gauges {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    }
}
