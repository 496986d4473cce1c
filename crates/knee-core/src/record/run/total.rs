//! One interval, all endpoints together, as far as charts over time and the validity check need it.
//!
//! Does not keep intervals; see [`super::series`].

use super::super::Point;
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::tally::{Accounting, EndpointTally};
use crate::unit::Nanos;

/// Everything that came due or ended in an interval, of the warm-up or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) accounting: Accounting,
    response: Histogram,
    pub(super) service: Histogram,
    generator_lag: Histogram,
    bytes_received: u64,
    bytes_sent: u64,
}

impl Total {
    /// Forgets everything and keeps the memory, for the next interval.
    pub(super) fn clear(&mut self) {
        (self.accounting, self.bytes_received, self.bytes_sent) = (Accounting::default(), 0, 0);
        self.response.clear();
        self.service.clear();
        self.generator_lag.clear();
    }

    /// Adds an endpoint, or a part of it.
    pub(super) fn add(&mut self, endpoint: &EndpointTally) {
        self.accounting.merge(&endpoint.accounting());
        self.generator_lag.merge(&endpoint.generator_lag);
        self.bytes_received = self.bytes_received.saturating_add(endpoint.bytes_received);
        self.bytes_sent = self.bytes_sent.saturating_add(endpoint.bytes_sent);
        for (_, outcome) in endpoint.outcomes() {
            self.response.merge(&outcome.response);
            self.service.merge(&outcome.service);
        }
    }

    /// The point of the interval whose endpoints were added, before which `waiting` arrivals were due and not taken up.
    /// Of `interval` it reads all but the tallies.
    pub(super) fn point(&self, interval: &Interval, warm_up: bool, waiting: u64) -> Point {
        Point {
            from: interval.from,
            to: interval.to,
            warm_up,
            // A tally counts an arrival when a user takes it up, which can be long after it came due.
            planned: self.accounting.planned.saturating_add(interval.backlog).saturating_sub(waiting),
            by_outcome: self.accounting.by_outcome,
            unknown: self.accounting.unknown,
            response: four(&self.response),
            service: four(&self.service),
            generator_lag_p99: self.generator_lag.quantile(0.99),
            in_flight: interval.concurrency.at_end,
            backlog: interval.backlog,
            bytes_received: self.bytes_received,
            bytes_sent: self.bytes_sent,
            generator: (&interval.generator).into(),
        }
    }
}

impl Point {
    /// The point of `interval` for charts over time, in a run whose warm-up ends at `measured_from`. `waiting`: the backlog
    /// at the end of the interval before.
    pub fn of(interval: &Interval, measured_from: Nanos, waiting: u64) -> Self {
        let mut total = Total::default();
        let endpoints = interval.warm_up.endpoints.iter().chain(&interval.measured.endpoints);
        endpoints.for_each(|endpoint| total.add(endpoint));
        total.point(interval, interval.from < measured_from, waiting)
    }
}

/// The figures of a histogram for charts over time, however few values it has.
fn four(histogram: &Histogram) -> Option<[Nanos; 4]> {
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| histogram.quantile(q));
    Some([p50?, p90?, p99?, histogram.max()?])
}
