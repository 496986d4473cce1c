//! The layout of oha's JSON, for programs that read that.
//!
//! The members are oha's; the figures are this project's, and differ where oha's mislead:
//!
//! - `successRate` counts requests that ended ok (status 200 to 399) among all that came due; oha counts every
//!   response, even a 500, and omits requests that were open at the deadline.
//! - Times are response times of all outcomes; requests that were given up count with the time they had waited. oha
//!   omits errors. A percentile that the sample does not support is null.
//! - `requestsPerSec` counts OK responses within the span of the load.
//! - `firstByte` is the time from the last byte sent to the first byte of the response. `DNSDialup` is the connection
//!   alone, because connections often need no name lookup.
//! - `rps` comes from whole intervals of the record, not from gaps between responses.
//! - The last row of a histogram contains a long tail, and the first row is not a single value.
//!
//! This layout has no field for the validity; the JSON of [`crate::json`] has one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use knee_core::tally::Phase;
use serde::Serialize;

use crate::View;
use crate::json::{finite, pretty};
use crate::view::bars::Bar;
use crate::view::foreign::FOREIGN_SHARES;
use crate::view::reading::Reading;
use crate::view::time_summary::TimeSummary;

/// The document as text, indented, with a line feed at the end.
pub fn render(view: &View) -> String {
    pretty(&Document::of(view))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    summary: Summary,
    metrics: Metrics,
    response_time_histogram: Map<u64>,
    latency_percentiles: Map<Option<f64>>,
    first_byte_histogram: Map<u64>,
    first_byte_percentiles: Map<Option<f64>>,
    rps: Rps,
    details: Details,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<Cow<'static, str>, u64>,
}

impl Document {
    fn of(view: &View) -> Self {
        let total = &view.total;
        Self {
            summary: Summary::of(view),
            metrics: Metrics::of(view),
            response_time_histogram: histogram(&view.histogram),
            latency_percentiles: percentiles(&view.foreign.response),
            first_byte_histogram: histogram(&view.foreign.wait_histogram),
            first_byte_percentiles: percentiles(&view.foreign.wait),
            rps: Rps::of(view),
            details: Details::of(view),
            status_code_distribution: total.status.iter().map(|(c, n)| (c.to_string(), *n)).collect(),
            error_distribution: total.errors.iter().map(|e| (e.sentence(), e.count)).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    success_rate: Option<f64>,
    total: f64,
    slowest: Option<f64>,
    fastest: Option<f64>,
    average: Option<f64>,
    requests_per_sec: Option<f64>,
    total_data: u64,
    size_per_request: Option<u64>,
    size_per_sec: Option<f64>,
}

impl Summary {
    fn of(view: &View) -> Self {
        let total = &view.total;
        Self {
            success_rate: view.foreign.ok_share.and_then(finite),
            total: view.span.window.as_secs_f64(),
            slowest: seconds(total.response.max),
            fastest: seconds(total.response.min),
            average: seconds(total.response.mean),
            requests_per_sec: view.rate.achieved.and_then(finite),
            total_data: total.bytes_body,
            size_per_request: view.foreign.body_bytes_per_answer,
            size_per_sec: view.foreign.body_bytes_per_second.and_then(finite),
        }
    }
}

#[derive(Serialize)]
struct Metrics {
    success_rate: Option<f64>,
    requests_per_sec: Option<f64>,
    latency_ms: Millis,
}

#[derive(Serialize)]
struct Millis {
    min: Option<f64>,
    mean: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl Metrics {
    fn of(view: &View) -> Self {
        let times = &view.total.response;
        let millis = |reading: Reading| reading.nanos().and_then(finite).map(|nanos| nanos / 1e6);
        Self {
            success_rate: view.foreign.ok_share.and_then(finite),
            requests_per_sec: view.rate.achieved.and_then(finite),
            latency_ms: Millis {
                min: millis(times.min),
                mean: millis(times.mean),
                p50: millis(times.percentile("p50")),
                p95: millis(times.percentile("p95")),
                p99: millis(times.percentile("p99")),
                max: millis(times.max),
            },
        }
    }
}

#[derive(Serialize)]
struct Rps {
    mean: Option<f64>,
    stddev: Option<f64>,
    max: Option<f64>,
    min: Option<f64>,
    percentiles: Map<Option<f64>>,
}

impl Rps {
    fn of(view: &View) -> Self {
        let rates = &view.foreign.rates;
        let named = FOREIGN_SHARES.iter().zip(rates.percentiles);
        Self {
            mean: rates.mean.and_then(finite),
            stddev: rates.deviation.and_then(finite),
            max: rates.max.and_then(finite),
            min: rates.min.and_then(finite),
            percentiles: Map(named.map(|((name, _), rate)| ((*name).to_owned(), rate)).collect()),
        }
    }
}

#[derive(Serialize)]
struct Details {
    #[serde(rename = "DNSDialup")]
    dns_dialup: Detail,
    #[serde(rename = "DNSLookup")]
    dns_lookup: Detail,
    #[serde(rename = "firstByte")]
    first_byte: Detail,
}

impl Details {
    fn of(view: &View) -> Self {
        let phase = |phase: Phase| Detail::of(&view.total.phases[phase as usize]);
        Self {
            dns_dialup: phase(Phase::Connect),
            dns_lookup: phase(Phase::Dns),
            first_byte: phase(Phase::Wait),
        }
    }
}

#[derive(Serialize)]
struct Detail {
    average: Option<f64>,
    fastest: Option<f64>,
    slowest: Option<f64>,
}

impl Detail {
    fn of(times: &TimeSummary) -> Self {
        Self { average: seconds(times.mean), fastest: seconds(times.min), slowest: seconds(times.max) }
    }
}

/// Members in the order given; oha's percentiles and histograms ascend.
struct Map<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn histogram(rows: &[Bar]) -> Map<u64> {
    Map(rows.iter().map(|row| (format!("{}", row.upto.round() / 1e9), row.count)).collect())
}

fn percentiles(readings: &[Reading; 9]) -> Map<Option<f64>> {
    let named = FOREIGN_SHARES.iter().zip(readings);
    Map(named.map(|((name, _), reading)| ((*name).to_owned(), seconds(*reading))).collect())
}

fn seconds(reading: Reading) -> Option<f64> {
    reading.nanos().and_then(finite).map(|nanos| nanos.round() / 1e9)
}
