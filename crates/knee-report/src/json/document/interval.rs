//! The series, as JSON: one member per interval, made while it is written.

use knee_core::outcome::Outcome;
use knee_core::record::Point;
use serde::{Serialize, Serializer};

use crate::json::figure::{finite, millis, reading, seconds};
use crate::view::moment::Moment;
use crate::view::reading::Reading;

/// All intervals, in order.
#[derive(Debug)]
pub struct Series<'v>(pub &'v [Point]);

impl Serialize for Series<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|point| Interval::of(&Moment::of(point))))
    }
}

#[derive(Debug, Serialize)]
struct Interval {
    from_s: f64,
    to_s: f64,
    warm_up: bool,
    planned: u64,
    ok: u64,
    http_error: u64,
    transport_error: u64,
    timeout: u64,
    unsent: u64,
    censored: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unknown: u64,
    scheduled_requests_per_s: Option<f64>,
    goodput_per_s: Option<f64>,
    response_time_ms: IntervalTimes,
    service_time_ms: IntervalTimes,
    generator_lag_p99_ms: Option<f64>,
    in_flight: u64,
    backlog: u64,
    bytes_received: u64,
    worker_cpu: Option<f64>,
    host_busy: Option<f64>,
    steal: Option<f64>,
    resident_bytes: Option<u64>,
}

/// Only a record of a later version has outcomes that this one does not know.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Debug, Serialize)]
struct IntervalTimes {
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    at_least: bool,
}

impl IntervalTimes {
    fn of(readings: [Reading; 4]) -> Self {
        let [p50, p90, p99, max] = readings.map(reading);
        Self { p50, p90, p99, max, at_least: readings.iter().any(|reading| reading.is_lower_bound()) }
    }
}

impl Interval {
    fn of(moment: &Moment) -> Self {
        let point = &moment.point;
        let count = |outcome: Outcome| point.by_outcome[outcome as usize];
        Self {
            from_s: seconds(point.from),
            to_s: seconds(point.to),
            warm_up: point.warm_up,
            planned: point.planned,
            ok: count(Outcome::Ok),
            http_error: count(Outcome::HttpError),
            transport_error: count(Outcome::TransportError),
            timeout: count(Outcome::Timeout),
            unsent: count(Outcome::Unsent),
            censored: count(Outcome::Censored),
            unknown: point.unknown,
            scheduled_requests_per_s: moment.offered.and_then(finite),
            goodput_per_s: moment.achieved.and_then(finite),
            response_time_ms: IntervalTimes::of(moment.response),
            service_time_ms: IntervalTimes::of(moment.service),
            generator_lag_p99_ms: point.generator_lag_p99.map(millis),
            in_flight: point.in_flight,
            backlog: point.backlog,
            bytes_received: point.bytes_received,
            worker_cpu: moment.worker_cpu.and_then(finite),
            host_busy: point.generator.host_busy.and_then(finite),
            steal: point.generator.steal.and_then(finite),
            resident_bytes: point.generator.resident_bytes,
        }
    }
}
