//! The members of the JSON document, in the order in which they are written.
//!
//! Units are part of the names: `_ms`, `_s`, `_bytes`, `_per_s`. Does not compute;
//! see [`crate::view`].

mod diagnostics;

mod interval;

mod metric;

mod observations;

mod part;

mod warning;

use std::borrow::Cow;
use std::collections::BTreeMap;

use knee_core::amendment::Amendment;
use knee_core::outcome::{Blame, Outcome};
use knee_core::plan::Plan;
use knee_core::record::{Build, Ending, Fleet, Machine, SegmentOf};
use knee_core::tally::Phase;
use knee_core::validity::Validity;
use serde::Serialize;

use super::figure::{Bodies, finite, reading, seconds};
use crate::View;
use crate::view::event_stats::EventStats;
use crate::view::missing;
use crate::view::request_stats::{self, RequestStats};
use crate::view::time_summary::TimeSummary;

use diagnostics::Diagnostics;
use interval::Series;
use metric::{Checked, Limit, Metric};
use observations::Observed;
use part::Part;
use warning::Warning;

/// The layout's version. Members can be added without a new one; it rises when a member is
/// removed or changes its meaning.
pub const VERSION: u32 = 1;

/// A change of the planned rate.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "members of a document are named after their units")]
struct Change {
    at_s: f64,
    from_per_s: f64,
    over_s: f64,
    to_per_s: f64,
}

impl Change {
    fn of(amendment: &Amendment) -> Self {
        let (at_s, over_s) = (amendment.at.as_secs_f64(), amendment.over.as_secs_f64());
        Self { at_s, from_per_s: amendment.from, over_s, to_per_s: amendment.to }
    }
}

/// The whole document.
#[derive(Debug, Serialize)]
pub struct Document<'v> {
    version: u32,
    title: &'v str,
    started_unix_s: f64,
    mode: &'static str,
    ending: &'v Ending,
    validity: Validity,
    warnings: Vec<Warning<'v>>,
    notes: &'v [String],
    requests: Requests<'v>,
    scheduled_requests_per_s: Option<f64>,
    goodput_per_s: Option<f64>,
    duration_s: f64,
    warm_up_s: f64,
    grace_s: f64,
    total_s: f64,
    response_time_ms: Summary,
    service_time_ms: Summary,
    percentiles_missing: Vec<MissingPercentile>,
    send_delay_ms: Summary,
    generator_lag_ms: Summary,
    ok_only: OkOnly,
    phases_ms: Phases<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Events>,
    status: BTreeMap<String, u64>,
    errors: Vec<Error<'v>>,
    bytes: Bytes,
    connections: Connections,
    bodies: Bodies,
    endpoints: Vec<Endpoint<'v>>,
    warm_up: WarmUp<'v>,
    diagnostics: Diagnostics,
    findings: &'v knee_findings::Report,
    build: &'v Build,
    machine: &'v Machine,
    plan: &'v Plan,
    /// Changes of the planned rate during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes_of_rate: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<&'v SegmentOf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<&'v Fleet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'v>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http2_streams: Option<u32>,
    /// What scripts counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Checked<'v>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<Metric<'v>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    thresholds: Vec<Limit<'v>>,
    /// Samples and checks of scripts that none of these has.
    #[serde(skip_serializing_if = "interval::is_zero")]
    not_counted: u64,
    series: Series<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observations: Option<Observed<'v>>,
}

impl<'v> Document<'v> {
    /// The document of a run.
    pub fn of(view: &'v View) -> Self {
        let total = &view.total;
        Self {
            version: VERSION,
            title: &view.head.title,
            started_unix_s: view.head.started.as_secs_f64(),
            mode: if view.head.plan.is_open() { "open" } else { "closed" },
            ending: &view.ending,
            validity: view.validity.validity,
            warnings: view.validity.warnings.iter().map(Warning::of).collect(),
            notes: &view.validity.notes,
            requests: Requests::of(total),
            scheduled_requests_per_s: view.rate.offered.and_then(finite),
            goodput_per_s: view.rate.achieved.and_then(finite),
            duration_s: seconds(view.span.window),
            warm_up_s: seconds(view.span.warm_up),
            grace_s: seconds(view.span.grace),
            total_s: seconds(view.span.total),
            response_time_ms: Summary::of(&total.response),
            service_time_ms: Summary::of(&total.service),
            percentiles_missing: view.missing.iter().map(MissingPercentile::of).collect(),
            send_delay_ms: Summary::of(&total.send_delay),
            generator_lag_ms: Summary::of(&total.generator_lag),
            ok_only: OkOnly::of(total),
            phases_ms: Phases::of(total),
            events: Events::of(view),
            status: status(total),
            errors: errors(total),
            bytes: Bytes::of(total),
            connections: Connections::of(total),
            bodies: Bodies::of(total.bodies),
            endpoints: view.endpoints.iter().map(|e| Endpoint::of(&e.name, &e.stats)).collect(),
            warm_up: WarmUp::of(&view.warm_up),
            diagnostics: Diagnostics::of(&view.validity.diagnostics),
            findings: &view.findings,
            build: &view.head.build,
            machine: &view.head.machine,
            plan: &view.head.plan,
            changes_of_rate: view.amendments.iter().map(Change::of).collect(),
            segment: view.head.segment.as_ref(),
            fleet: view.head.fleet.as_ref(),
            parts: view.contributions.iter().map(Part::of).collect(),
            http2_streams: view.head.http2_streams,
            checks: Checked::all(&view.metrics),
            metrics: Metric::all(&view.metrics),
            thresholds: Limit::all(&view.metrics),
            not_counted: view.metrics.left_out,
            series: Series(&view.series),
            observations: (!view.observations.sources.is_empty()).then_some(Observed(&view.observations)),
        }
    }

    /// The same without intervals.
    #[must_use]
    pub fn without_series(self) -> Self {
        Self { series: Series(&[]), ..self }
    }
}

/// Outcomes of the requests of a part of the run.
#[derive(Debug, Serialize)]
struct Requests<'v> {
    planned: u64,
    ok: u64,
    http_error: u64,
    transport_error: u64,
    timeout: u64,
    unsent: u64,
    censored: u64,
    /// Outcomes that this version does not know, under the names that the record gives them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown: BTreeMap<&'v str, u64>,
}

impl<'v> Requests<'v> {
    fn of(part: &'v RequestStats) -> Self {
        let count = |outcome| part.books.count(outcome);
        Self {
            planned: part.books.planned,
            ok: count(Outcome::Ok),
            http_error: count(Outcome::HttpError),
            transport_error: count(Outcome::TransportError),
            timeout: count(Outcome::Timeout),
            unsent: count(Outcome::Unsent),
            censored: count(Outcome::Censored),
            unknown: part.unknown_outcomes.iter().map(|(name, count)| (name.as_str(), *count)).collect(),
        }
    }
}

/// One kind of time, in milliseconds.
#[derive(Debug, Serialize)]
struct Summary {
    count: u64,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    #[serde(rename = "p99.9")]
    p99_9: Option<f64>,
    at_least: Vec<&'static str>,
}

impl Summary {
    fn of(times: &TimeSummary) -> Self {
        let [p50, p90, p95, p99, p99_9] = times.percentiles.map(reading);
        let bounds = times.rows().into_iter().filter(|(_, reading)| reading.is_lower_bound());
        Self {
            count: times.count,
            mean: reading(times.mean),
            min: reading(times.min),
            max: reading(times.max),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            at_least: bounds.map(|(name, _)| name).collect(),
        }
    }
}

/// A percentile that is null because the run is too short for it.
#[derive(Debug, Serialize)]
struct MissingPercentile {
    name: &'static str,
    requests: u64,
    duration_s: Option<f64>,
}

impl MissingPercentile {
    fn of(missing: &missing::MissingPercentile) -> Self {
        Self { name: missing.name, requests: missing.requests, duration_s: missing.duration.map(seconds) }
    }
}

/// Both times of OK responses alone.
#[derive(Debug, Serialize)]
struct OkOnly {
    response_time_ms: Summary,
    service_time_ms: Summary,
}

impl OkOnly {
    fn of(part: &RequestStats) -> Self {
        Self {
            response_time_ms: Summary::of(&part.response_ok),
            service_time_ms: Summary::of(&part.service_ok),
        }
    }
}

#[derive(Debug, Serialize)]
struct Phases<'v> {
    dns: Summary,
    connect: Summary,
    tls: Summary,
    send: Summary,
    wait: Summary,
    receive: Summary,
    /// Phases that this version does not know, under the names that the record gives them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown: BTreeMap<&'v str, Summary>,
}

impl<'v> Phases<'v> {
    fn of(part: &'v RequestStats) -> Self {
        let of = |phase| Summary::of(&part.phases[phase as usize]);
        let unknown = part.unknown_phases.iter();
        Self {
            dns: of(Phase::Dns),
            connect: of(Phase::Connect),
            tls: of(Phase::Tls),
            send: of(Phase::Send),
            wait: of(Phase::Wait),
            receive: of(Phase::Receive),
            unknown: unknown.map(|(name, times)| (name.as_str(), Summary::of(times))).collect(),
        }
    }
}

/// The events of responses.
#[derive(Debug, Serialize)]
struct Events {
    count: u64,
    responses: u64,
    per_response: Option<f64>,
    per_s: Option<f64>,
    first_event_ms: Summary,
    event_gap_ms: Summary,
    longest_gap_ms: Summary,
}

impl Events {
    /// `None` without an event.
    fn of(view: &View) -> Option<Self> {
        let events = EventStats::of(&view.total)?;
        Some(Self {
            count: events.events,
            responses: events.responses,
            per_response: finite(events.per_response()),
            per_s: finite(events.events as f64 / view.span.window.as_secs_f64()),
            first_event_ms: Summary::of(events.first),
            event_gap_ms: Summary::of(events.gap),
            longest_gap_ms: Summary::of(events.longest),
        })
    }
}

fn status(part: &RequestStats) -> BTreeMap<String, u64> {
    part.status.iter().map(|(code, count)| (code.to_string(), *count)).collect()
}

#[derive(Debug, Serialize)]
struct Error<'v> {
    fault: &'v str,
    blame: Option<&'static str>,
    outcome: Option<&'static str>,
    count: u64,
    sentence: Cow<'static, str>,
    examples: &'v [String],
}

fn errors(part: &RequestStats) -> Vec<Error<'_>> {
    part.errors.iter().map(Error::of).collect()
}

impl<'v> Error<'v> {
    fn of(error: &'v request_stats::Error) -> Self {
        Self {
            fault: error.name(),
            blame: error.blame().map(Blame::name),
            outcome: error.outcome().map(Outcome::name),
            count: error.count,
            sentence: error.sentence(),
            examples: &error.examples,
        }
    }
}

#[derive(Debug, Serialize)]
struct Bytes {
    sent: u64,
    received: u64,
    body: u64,
}

impl Bytes {
    fn of(part: &RequestStats) -> Self {
        Self { sent: part.bytes_sent, received: part.bytes_received, body: part.bytes_body }
    }
}

#[derive(Debug, Serialize)]
struct Connections {
    opened: u64,
    resent: u64,
    redirects: u64,
    surplus: u64,
}

impl Connections {
    fn of(part: &RequestStats) -> Self {
        Self {
            opened: part.connections,
            resent: part.resent,
            redirects: part.redirects,
            surplus: part.surplus,
        }
    }
}

#[derive(Debug, Serialize)]
struct Endpoint<'v> {
    name: &'v str,
    requests: Requests<'v>,
    response_time_ms: Summary,
    service_time_ms: Summary,
    ok_only: OkOnly,
    status: BTreeMap<String, u64>,
    errors: Vec<Error<'v>>,
    bytes: Bytes,
    bodies: Bodies,
}

impl<'v> Endpoint<'v> {
    fn of(name: &'v str, part: &'v RequestStats) -> Self {
        Self {
            name,
            requests: Requests::of(part),
            response_time_ms: Summary::of(&part.response),
            service_time_ms: Summary::of(&part.service),
            ok_only: OkOnly::of(part),
            status: status(part),
            errors: errors(part),
            bytes: Bytes::of(part),
            bodies: Bodies::of(part.bodies),
        }
    }
}

#[derive(Debug, Serialize)]
struct WarmUp<'v> {
    requests: Requests<'v>,
    response_time_ms: Summary,
    service_time_ms: Summary,
    bytes: Bytes,
    connections: Connections,
}

impl<'v> WarmUp<'v> {
    fn of(part: &'v RequestStats) -> Self {
        Self {
            requests: Requests::of(part),
            response_time_ms: Summary::of(&part.response),
            service_time_ms: Summary::of(&part.service),
            bytes: Bytes::of(part),
            connections: Connections::of(part),
        }
    }
}
