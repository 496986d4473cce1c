//! The figures that the validity is based on, as JSON.
//!
//! Null means that the platform does not report the figure; it never means zero.

use knee_core::validity::Diagnostics as Measured;
use knee_core::validity::diagnostics::{PartsFigures, Quantiles};
use serde::Serialize;

use crate::json::figure::{Bodies, finite, millis, seconds};

#[derive(Debug, Serialize)]
pub struct Diagnostics {
    generator_lag_ms: Option<Lag>,
    loop_lag_ms: Option<Lag>,
    area_residual: Option<f64>,
    little_residual: Option<f64>,
    little_allowance: Option<f64>,
    sent_share: Option<f64>,
    due_per_s: Option<f64>,
    taken_per_s: Option<f64>,
    in_flight: InFlight,
    worker_cpu: WorkerCpu,
    run_delay: Option<f64>,
    stall_ms: f64,
    paused_ms: f64,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Parts>,
}

#[derive(Debug, Serialize)]
struct Lag {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Lag {
    fn of(lag: Quantiles) -> Self {
        let Quantiles { p50, p90, p99, max } = lag;
        Self { p50: millis(p50), p90: millis(p90), p99: millis(p99), max: millis(max) }
    }
}

#[derive(Debug, Serialize)]
struct InFlight {
    mean: Option<f64>,
    max: u64,
}

#[derive(Debug, Serialize)]
struct WorkerCpu {
    max: Option<f64>,
    collector: Option<f64>,
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

/// How complete the parts of a load are.
#[derive(Debug, Serialize)]
struct Parts {
    of: u64,
    given: u64,
    ended_early: u64,
    lost_share: Option<f64>,
    arrivals_off: u64,
    started_apart_s: f64,
    start_bound_s: Option<f64>,
    builds: u64,
}

impl Parts {
    fn of(figures: PartsFigures) -> Self {
        Self {
            of: figures.of,
            given: figures.given,
            ended_early: figures.ended_early,
            lost_share: finite(figures.lost_share),
            arrivals_off: figures.arrivals_off,
            started_apart_s: seconds(figures.started_apart),
            start_bound_s: figures.start_bound.map(seconds),
            builds: figures.builds,
        }
    }
}

impl Diagnostics {
    pub fn of(diagnostics: &Measured) -> Self {
        let Measured { requests, load, generator, run } = diagnostics;
        let used = |(used, limit)| Used { used, limit };
        Self {
            generator_lag_ms: generator.lag.map(Lag::of),
            loop_lag_ms: generator.loop_lag.map(Lag::of),
            area_residual: load.area_residual.and_then(finite),
            little_residual: load.little_residual.and_then(finite),
            little_allowance: finite(load.little_allowance),
            sent_share: load.sent_share.and_then(finite),
            due_per_s: load.due_per_s.and_then(finite),
            taken_per_s: load.taken_per_s.and_then(finite),
            in_flight: InFlight { mean: load.in_flight_mean.and_then(finite), max: load.in_flight_max },
            worker_cpu: WorkerCpu {
                max: generator.worker_cpu_max.and_then(finite),
                collector: generator.collector_cpu_max.and_then(finite),
                saturated: generator.worker_cpu_saturated.and_then(finite),
            },
            run_delay: generator.run_delay.and_then(finite),
            stall_ms: millis(generator.stall),
            paused_ms: millis(generator.paused),
            throttled: generator.throttled.map(|(periods, of)| Throttled { periods, of }),
            steal: generator.steal.and_then(finite),
            descriptors: generator.descriptors.map(used),
            ports: generator.ports.map(used),
            connections_opened: requests.connections_opened,
            generator_faults: requests.generator_faults,
            from_warm_up: requests.from_warm_up,
            censored: requests.censored.map(|(count, oldest)| Censored {
                count,
                oldest_s: seconds(oldest),
                stuck: requests.censored_stuck,
            }),
            bodies: Bodies::of(requests.bodies),
            wall_drift_ms: generator.wall_drift_ns as f64 / 1e6,
            suspended_s: generator.suspended.map(seconds),
            co_located: run.co_located,
            parts: run.parts.map(Parts::of),
        }
    }
}
