//! Computes everything that reports show about a run, once.
//!
//! Text, JSON and CSV lay a [`View`] out and calculate nothing, so that they cannot disagree.
//! Does not judge the run; its validity is part of the record.

pub mod bars;

pub mod beside;

pub mod column;

pub mod event_stats;

pub mod foreign;

pub mod missing;

pub mod moment;
pub mod observed;

pub mod request_stats;

pub mod reading;

pub mod script;

pub mod spectrum;

pub mod time_summary;

use knee_core::amendment::Amendment;
use knee_core::estimate::Distribution;
use knee_core::metric::Metrics;
use knee_core::observation::Observations;
use knee_core::outcome::{Fault, Outcome};
use knee_core::record::{Contribution, Ending, Head, Point, Run};
use knee_core::tally::EndpointTally;
use knee_core::unit::Nanos;
use knee_core::validity::ValidityReport;
use knee_findings::Evidence;

use bars::Bar;
use beside::Beside;
use foreign::Foreign;
use missing::MissingPercentile;
use reading::Reading;
use request_stats::{Error, ErrorKind, RequestStats};
use spectrum::Spectrum;

/// A run, as every report shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Facts known before the first request: plan, title, build, machine.
    pub head: Head,
    /// How the run ended.
    pub ending: Ending,
    /// The validity check and its diagnostics.
    pub validity: ValidityReport,
    /// The time spans of the run.
    pub span: Span,
    /// Requests per second.
    pub rate: Rate,
    /// All endpoints together, without the warm-up.
    pub total: RequestStats,
    /// Every endpoint, by id.
    pub endpoints: Vec<EndpointStats>,
    /// The requests that were due during the warm-up.
    pub warm_up: RequestStats,
    /// How many of `total` came due in the warm-up and stayed open throughout the measured time.
    pub from_warm_up: u64,
    /// Percentiles of the response time for which the run has too few requests.
    pub missing: Vec<MissingPercentile>,
    /// Response times of all outcomes, as rows of a histogram.
    pub histogram: Vec<Bar>,
    /// Many percentiles of response time and service time.
    pub spectrum: Spectrum,
    /// Figures that only other tools' formats need.
    pub foreign: Foreign,
    /// What limits the service, by the rules of `knee-findings`.
    pub findings: knee_findings::Report,
    /// The intervals, in order; [`moment::Moment`] has the figures of one.
    pub series: Vec<Point>,
    /// What observers saw beside the run, in a few figures per source.
    pub beside: Vec<Beside>,
    /// All of it.
    pub observations: Observations,
    /// What scripts counted; empty for the load of a URL.
    pub metrics: Metrics,
    /// What each of several machines contributed; empty in the run of one machine.
    pub contributions: Vec<Contribution>,
    /// Changes of the planned rate during the run, in order.
    pub amendments: Vec<Amendment>,
}

/// The parts of a run on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From the start to the first measured request's due time; zero without a warm-up.
    pub warm_up: Nanos,
    /// From there to the last planned arrival, or to the last response if the plan sets no time: the span of all rates.
    pub window: Nanos,
    /// From there to the end: the used part of the grace period.
    pub grace: Nanos,
    /// All of it.
    pub total: Nanos,
}

/// Requests and bytes per second over [`Span::window`]; `None` if that is zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests that came due.
    pub offered: Option<f64>,
    /// Requests that ended ok within the window. Requests that ended in the grace period do not count, because the
    /// server did not answer them during the load. Errors do not count either.
    pub achieved: Option<f64>,
    /// Bytes received within the window.
    pub received: Option<f64>,
}

/// One endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointStats {
    /// Its name. It can contain foreign text, so it must pass through [`crate::clean`] before it is shown.
    pub name: String,
    /// What was measured.
    pub stats: RequestStats,
}

impl View {
    /// Computes everything that is shown about `run`.
    pub fn of(run: &Run) -> Self {
        let tally = run.measured.all();
        let response = Distribution::response(&tally);
        let span = Span::of(run);
        let total = RequestStats::of(&tally);
        let window = (run.head.measured_from, run.head.measured_from.saturating_add(span.window));
        Self {
            rate: Rate::of(run.from_warm_up, &total, &run.series, window),
            missing: MissingPercentile::all(&total.response, span.window),
            histogram: bars::bars(&response),
            spectrum: Spectrum::of(&tally, &response),
            foreign: Foreign::of(&tally, &response, &total, &run.series, window),
            head: run.head.clone(),
            ending: run.ending.clone(),
            validity: validity(run, &total),
            span,
            total,
            endpoints: endpoints(run),
            warm_up: RequestStats::of(&run.warm_up.all()),
            from_warm_up: run.from_warm_up,
            findings: knee_findings::examine(&Evidence::of(run, &run.observations)),
            series: run.series.clone(),
            beside: beside::beside(run),
            observations: run.observations.clone(),
            metrics: run.metrics.clone(),
            contributions: run.contributions.clone(),
            amendments: run.amendments.clone(),
        }
    }

    /// The p99 of the response time over all outcomes and over OK responses alone, in nanoseconds, if the two differ
    /// by more than a quarter: failures then cause the tail or hide it.
    pub fn tail_contrast(&self) -> Option<(Reading, Reading)> {
        let (all, ok) = (self.total.response.percentile("p99"), self.total.response_ok.percentile("p99"));
        let (all_nanos, ok_nanos) = (all.nanos()?, ok.nanos()?);
        let differs = all_nanos > 1.25 * ok_nanos || ok_nanos > 1.25 * all_nanos;
        differs.then_some((all, ok))
    }
}

/// The validity of a run. If each response was complete and none was a stream of events, a run without an answer says so,
/// because the service is running.
fn validity(run: &Run, total: &RequestStats) -> ValidityReport {
    let mut validity = run.validity.clone();
    let no_events = |error: &&Error| error.kind == ErrorKind::Known(Fault::NoEvents);
    let without: u64 = total.errors.iter().filter(no_events).map(|error| error.count).sum();
    if without > 0 && without == total.books.planned {
        for warning in validity.warnings.iter_mut().filter(|warning| warning.code == "no_answer") {
            warning.message.push_str(" with a stream of events");
            "leave out `--stream`, or check the content-type of the response".clone_into(&mut warning.hint);
        }
    }
    validity
}

impl Span {
    fn of(run: &Run) -> Self {
        let window = run.window();
        let warm_up = run.head.measured_from.min(run.ended);
        let grace = run.ended.since(warm_up.saturating_add(window));
        Self { warm_up, window, grace, total: run.ended }
    }
}

impl Rate {
    fn of(from_warm_up: u64, total: &RequestStats, series: &[Point], (from, to): (Nanos, Nanos)) -> Self {
        let seconds = to.since(from).as_secs_f64();
        let per_second = |number: f64| (seconds > 0.0).then(|| number / seconds);
        // A record without intervals still has its totals.
        let within = |figure: fn(&Point) -> u64, all: u64| {
            if series.is_empty() { all as f64 } else { moment::within(series, from, to, figure) }
        };
        Self {
            offered: per_second(total.books.planned.saturating_sub(from_warm_up) as f64),
            achieved: per_second(within(
                |point| point.by_outcome[Outcome::Ok as usize],
                total.books.count(Outcome::Ok),
            )),
            received: per_second(within(|point| point.bytes_received, total.bytes_received)),
        }
    }
}

/// Every endpoint that has a name or a count. Counts without a name are shown by their id.
fn endpoints(run: &Run) -> Vec<EndpointStats> {
    let empty = EndpointTally::default();
    let positions = run.endpoints.len().max(run.measured.endpoints.len());
    (0..positions)
        .map(|position| EndpointStats {
            name: match run.endpoints.get(position) {
                Some(endpoint) => endpoint.name.clone(),
                None => format!("endpoint {position}"),
            },
            stats: RequestStats::of(run.measured.endpoints.get(position).unwrap_or(&empty)),
        })
        .collect()
}
