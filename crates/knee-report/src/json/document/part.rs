//! What one of several machines contributed, as the JSON document has it.
//!
//! Does not compute.

use std::collections::BTreeMap;

use knee_core::outcome::Outcome;
use knee_core::record::{Contribution, Ending};
use knee_core::validity::Validity;
use knee_core::validity::diagnostics::Quantiles;
use serde::Serialize;

use super::warning::Warning;
use crate::json::figure::{finite, seconds};

/// One machine of several.
#[derive(Debug, Serialize)]
pub(super) struct Part<'v> {
    segment: &'v str,
    agent: Option<&'v str>,
    start_late_ms: Option<[f64; 2]>,
    planned: u64,
    by_outcome: BTreeMap<&'static str, u64>,
    lost: Option<u64>,
    lost_share: Option<f64>,
    response_time_ms: Option<Four>,
    generator_lag_ms: Option<Four>,
    worker_cpu_max: Option<f64>,
    ended_s: f64,
    ending: &'v Ending,
    validity: Validity,
    warnings: Vec<Warning<'v>>,
}

impl<'v> Part<'v> {
    pub(super) fn of(part: &'v Contribution) -> Self {
        let count = |outcome: Outcome| (outcome.name(), part.requests.count(outcome));
        Self {
            segment: &part.segment,
            agent: part.agent.as_deref(),
            start_late_ms: part.late.map(|late| [late.low as f64 / 1e6, late.high as f64 / 1e6]),
            planned: part.requests.planned,
            by_outcome: Outcome::ALL.into_iter().map(count).collect(),
            lost: part.lost,
            lost_share: part.lost_share.and_then(finite),
            response_time_ms: part.response.map(Four::of),
            generator_lag_ms: part.generator_lag.map(Four::of),
            worker_cpu_max: part.worker_cpu_max.and_then(finite),
            ended_s: seconds(part.ended),
            ending: &part.ending,
            validity: part.validity,
            warnings: part.warnings.iter().map(Warning::of).collect(),
        }
    }
}

/// Four points of a distribution, in milliseconds.
#[derive(Debug, Serialize)]
struct Four {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Four {
    fn of(quantiles: Quantiles) -> Self {
        let millis = |nanos: knee_core::unit::Nanos| nanos.0 as f64 / 1e6;
        Self {
            p50: millis(quantiles.p50),
            p90: millis(quantiles.p90),
            p99: millis(quantiles.p99),
            max: millis(quantiles.max),
        }
    }
}
