//! Metrics of this process, served at `/metrics` in the format of Prometheus.
//!
//! Does not aggregate over processes. Does not time requests: an order takes some microseconds of the service, and
//! counting it must cost nothing that a study could see. Counts are relaxed atomics, and text is made only when the page
//! is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use deadpool_postgres::Status;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::refusal::Refusal;

/// Every status of a counted response.
const STATUSES: [StatusCode; 9] = [
    StatusCode::OK,
    StatusCode::CREATED,
    StatusCode::BAD_REQUEST,
    StatusCode::NOT_FOUND,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::CONFLICT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNPROCESSABLE_ENTITY,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// Responses of one route, by status.
#[derive(Debug)]
pub struct Responses {
    method: &'static str,
    route: &'static str,
    success: StatusCode,
    counts: [AtomicU64; STATUSES.len()],
}

impl Responses {
    /// No responses yet of a route whose successes have this status.
    fn new(method: &'static str, route: &'static str, success: StatusCode) -> Self {
        Self { method, route, success, counts: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Counts a response and passes it on.
    ///
    /// # Errors
    /// The refusal that it is given.
    pub fn counted<T>(&self, answer: Result<T, Refusal>) -> Result<T, Refusal> {
        let status = answer.as_ref().map_or_else(Refusal::status, |_| self.success);
        if let Some(index) = STATUSES.iter().position(|known| *known == status) {
            self.counts[index].fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// Statuses that were sent, with their numbers. That of a success is always among them.
    fn sent(&self) -> impl Iterator<Item = (StatusCode, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        STATUSES.into_iter().zip(counts).filter(move |(status, count)| *status == self.success || *count > 0)
    }
}

/// How many batches were processed, and of how many items.
#[derive(Debug, Default)]
pub struct Batches {
    batches: AtomicU64,
    items: AtomicU64,
}

impl Batches {
    /// Counts a batch.
    pub fn add(&self, items: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.items.fetch_add(items as u64, Ordering::Relaxed);
    }
}

/// Labels of the request counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

/// Labels of counts of batches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BatchLabels {
    kind: &'static str,
}

/// The metrics.
#[derive(Debug)]
pub struct Metrics {
    /// `POST /simple-redis-decrement`.
    pub simple: Responses,
    /// `POST /complex-redis-decrement`.
    pub checked: Responses,
    /// `POST /redis-decrement`.
    pub chosen: Responses,
    /// `POST /pg-reserve-ticket`.
    pub reserve: Responses,
    /// `POST /pg-decrement-ticket`.
    pub decrement: Responses,
    /// `POST /orders`.
    pub open: Responses,
    /// `GET /orders/{id}`.
    pub show: Responses,
    /// `POST /orders/{id}/pay`.
    pub pay: Responses,
    /// `DELETE /orders/{id}`.
    pub cancel: Responses,
    /// Script calls for all orders that wait.
    pub counter_batches: Arc<Batches>,
    /// Transactions for all reservations of units that wait.
    pub unit_batches: Arc<Batches>,
    /// Transactions that record all sales that wait.
    pub record_batches: Arc<Batches>,
    /// Tickets of unpaid orders that went back on sale.
    pub expired: AtomicU64,
    /// Rebuilds of the counters in Redis from the record: at the start, and when they could be wrong.
    pub rebuilds: Arc<AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let sale = |route| Responses::new("POST", route, StatusCode::OK);
        Self {
            simple: sale("/simple-redis-decrement"),
            checked: sale("/complex-redis-decrement"),
            chosen: sale("/redis-decrement"),
            reserve: sale("/pg-reserve-ticket"),
            decrement: sale("/pg-decrement-ticket"),
            open: Responses::new("POST", "/orders", StatusCode::CREATED),
            show: Responses::new("GET", "/orders/{id}", StatusCode::OK),
            pay: sale("/orders/{id}/pay"),
            cancel: Responses::new("DELETE", "/orders/{id}", StatusCode::OK),
            counter_batches: Arc::default(),
            unit_batches: Arc::default(),
            record_batches: Arc::default(),
            expired: AtomicU64::new(0),
            rebuilds: Arc::default(),
        }
    }
}

impl Metrics {
    /// All metrics in the text format of Prometheus, with the connections to PostgreSQL as they are now.
    pub fn text(&self, connections: Status) -> String {
        let mut registry = Registry::with_prefix("tickets");
        registry.register("requests", "Requests answered", self.requests());
        let [batches, items] = self.batches();
        registry.register("batches", "Calls and transactions for all that wait", batches);
        registry.register("batched", "Orders and sales in these", items);
        for (name, text, count) in [
            ("expired_tickets", "Tickets of unpaid orders that went back on sale", &self.expired),
            ("counter_rebuilds", "Rebuilds of the counters from the record", &*self.rebuilds),
        ] {
            let counter: Counter = Counter::default();
            counter.inc_by(count.load(Ordering::Relaxed));
            registry.register(name, text, counter);
        }
        for (name, text, number) in [
            ("db_connections", "Connections to PostgreSQL", connections.size),
            ("db_connections_idle", "Connections to PostgreSQL that nothing uses", connections.available),
            ("db_waiting", "Requests that wait for a connection to PostgreSQL", connections.waiting),
        ] {
            let gauge: Gauge = Gauge::default();
            gauge.set(number as i64);
            registry.register(name, text, gauge);
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    fn requests(&self) -> Family<RequestLabels, Counter> {
        let requests = Family::<RequestLabels, Counter>::default();
        for responses in [
            &self.simple,
            &self.checked,
            &self.chosen,
            &self.reserve,
            &self.decrement,
            &self.open,
            &self.show,
            &self.pay,
            &self.cancel,
        ] {
            for (status, count) in responses.sent() {
                let Responses { route, method, .. } = *responses;
                let labels = RequestLabels { route, method, status: status.as_u16() };
                requests.get_or_create(&labels).inc_by(count);
            }
        }
        requests
    }

    /// Batches and their items, by kind.
    fn batches(&self) -> [Family<BatchLabels, Counter>; 2] {
        let families = [Family::<BatchLabels, Counter>::default(), Family::default()];
        for (kind, counts) in [
            ("counters", &self.counter_batches),
            ("units", &self.unit_batches),
            ("record", &self.record_batches),
        ] {
            for (family, count) in families.iter().zip([&counts.batches, &counts.items]) {
                family.get_or_create(&BatchLabels { kind }).inc_by(count.load(Ordering::Relaxed));
            }
        }
        families
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order;

    #[test]
    fn every_refusal_of_a_sale_is_counted_under_its_status() {
        let metrics = Metrics::default();
        let refusals = [
            Refusal::Order(order::Problem::Empty),
            Refusal::TooLarge(1),
            Refusal::BodyTimeout,
            Refusal::KeyReused,
            Refusal::Unknown("z".to_owned()),
            Refusal::NotEnoughLeft("a".to_owned()),
            Refusal::Shared(Arc::new(Refusal::Stopping)),
        ];
        let many = refusals.len();
        for refusal in refusals {
            assert!(metrics.reserve.counted(Err::<(), _>(refusal)).is_err());
        }
        assert!(metrics.reserve.counted(Ok(())).is_ok());
        assert!(metrics.open.counted(Ok(())).is_ok());
        let counted: u64 = metrics.reserve.sent().map(|(_, count)| count).sum();
        assert_eq!(counted, many as u64 + 1);
        let status = Status { max_size: 50, size: 3, available: 1, waiting: 7 };
        let text = metrics.text(status);
        for line in [
            "tickets_requests_total{route=\"/pg-reserve-ticket\",method=\"POST\",status=\"409\"} 1",
            "tickets_requests_total{route=\"/orders\",method=\"POST\",status=\"201\"} 1",
            "tickets_db_waiting 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
