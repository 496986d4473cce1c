//! The figures on which the verdict rests, as JSON.
//!
//! Null means that the platform cannot tell, never zero.

use knee_core::validity::Figures;
use serde::Serialize;

use super::{Bodies, millis, seconds};
use crate::json::finite;

#[derive(Debug, Serialize)]
pub struct Truth {
    own_lag_ms: Option<OwnLag>,
    area_residual: Option<f64>,
    little_residual: Option<f64>,
    little_allowance: Option<f64>,
    sent_share: Option<f64>,
    in_flight: InFlight,
    worker_cpu: WorkerCpu,
    run_delay: Option<f64>,
    stall_ms: f64,
    throttled: Option<Throttled>,
    steal: Option<f64>,
    descriptors: Option<Used>,
    ports: Option<Used>,
    connections_opened: u64,
    generator_faults: u64,
    from_warm_up: u64,
    censored: Option<Censored>,
    bodies: Bodies,
    wall_drift_ms: f64,
    suspended_s: Option<f64>,
    co_located: Option<bool>,
}

#[derive(Debug, Serialize)]
struct OwnLag {
    p50: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct InFlight {
    mean: Option<f64>,
    max: u64,
}

#[derive(Debug, Serialize)]
struct WorkerCpu {
    max: Option<f64>,
    saturated: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Throttled {
    periods: u64,
    of: u64,
}

#[derive(Debug, Serialize)]
struct Used {
    used: u64,
    limit: u64,
}

#[derive(Debug, Serialize)]
struct Censored {
    count: u64,
    oldest_s: f64,
    stuck: u64,
}

impl Truth {
    pub fn of(figures: &Figures) -> Self {
        let used = |(used, limit)| Used { used, limit };
        Self {
            own_lag_ms: figures.own_lag.map(|(p50, p99, max)| OwnLag {
                p50: millis(p50),
                p99: millis(p99),
                max: millis(max),
            }),
            area_residual: figures.area_residual.and_then(finite),
            little_residual: figures.little_residual.and_then(finite),
            little_allowance: finite(figures.little_allowance),
            sent_share: figures.sent_share.and_then(finite),
            in_flight: InFlight { mean: figures.in_flight_mean.and_then(finite), max: figures.in_flight_max },
            worker_cpu: WorkerCpu {
                max: figures.worker_cpu_max.and_then(finite),
                saturated: figures.worker_cpu_saturated.and_then(finite),
            },
            run_delay: figures.run_delay.and_then(finite),
            stall_ms: millis(figures.stall),
            throttled: figures.throttled.map(|(periods, of)| Throttled { periods, of }),
            steal: figures.steal.and_then(finite),
            descriptors: figures.descriptors.map(used),
            ports: figures.ports.map(used),
            connections_opened: figures.connections_opened,
            generator_faults: figures.generator_faults,
            from_warm_up: figures.from_warm_up,
            censored: figures.censored.map(|(count, oldest)| Censored {
                count,
                oldest_s: seconds(oldest),
                stuck: figures.censored_stuck,
            }),
            bodies: Bodies::of(figures.bodies),
            wall_drift_ms: figures.wall_drift_ns as f64 / 1e6,
            suspended_s: figures.suspended.map(seconds),
            co_located: figures.co_located,
        }
    }
}
