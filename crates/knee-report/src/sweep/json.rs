//! A sweep as JSON: the layout of `docs/reference/sweep-json.md`, checked by
//! `docs/reference/sweep.schema.json`.
//!
//! Units are part of the names; levels are in `unit`. Does not
//! shorten and does not compute.

use knee_core::fixture::division::Division;
use knee_core::record::{Build, Machine};
use knee_core::validity::{Validity, Warning};
use knee_study::cpu::CpuFinding;
use knee_study::sweep::bound::{CpuUse, ProgramUse, Queue};
use knee_study::sweep::conclusion::{LevelEstimate, Recovery};
use knee_study::sweep::course::Ended;
use knee_study::sweep::knee::{Basis, Knee};
use knee_study::sweep::resource::ResourceUse;
use knee_study::sweep::rule::Broken;
use knee_study::sweep::saturating::Saturating;
use knee_study::sweep::shedding::Shedding;
use knee_study::sweep::tried::Tried;
use knee_study::sweep::usl::Law;
use knee_study::sweep::{FinishedStep, LevelRange, StepLoad};
use serde::Serialize;

use super::stops::Stops;
use super::{SweepView, word};
use crate::json::{finite, pretty};
use crate::view::reading::Reading;

/// The layout's version; rises when a member is removed or changes its meaning.
pub const VERSION: u32 = 2;

/// The document as text, indented, with a line feed at the end.
pub fn render(view: &SweepView<'_>) -> String {
    pretty(&Document::of(view))
}

#[derive(Serialize)]
struct Document<'v> {
    version: u32,
    title: &'v str,
    started_unix_s: f64,
    unit: &'static str,
    seed: u64,
    slo: Vec<String>,
    errors_max: f64,
    ended: &'static str,
    validity: Validity,
    warnings: &'v [String],
    notes: &'v [String],
    headline: &'v str,
    findings: Option<Findings<'v>>,
    capacity: Level,
    failed_below: Vec<FailedBelow>,
    saturation: Option<Saturation>,
    shedding: Option<SheddingFigures>,
    knee: Option<KneeFigures>,
    breaking_point: Level,
    broken: Option<&'static str>,
    recovery: Recovered,
    usl: Option<Usl>,
    cpu: Option<Cpu<'v>>,
    resource: Option<&'v Saturating>,
    queue: Option<QueueFigures>,
    worth: Option<Worth>,
    response_time_judged_from_ms: Option<f64>,
    next: &'v [String],
    remarks: Vec<&'v str>,
    steps: Vec<Step<'v>>,
    co_located: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<&'v Division>,
    build: &'v Build,
    machine: &'v Machine,
}

/// What stops the service at the limit.
#[derive(Serialize)]
struct Findings<'v> {
    step: usize,
    level: f64,
    is_beyond: bool,
    lower_step: Option<usize>,
    lower_level: Option<f64>,
    also_at_lower_level: &'v [Option<bool>],
    report: &'v knee_findings::Report,
}

impl<'v> Findings<'v> {
    fn of(stops: &'v Stops) -> Self {
        let (lower_step, lower_level) = stops.lower.unzip();
        Self {
            step: stops.step,
            level: stops.level,
            is_beyond: stops.is_beyond,
            lower_step,
            lower_level,
            also_at_lower_level: &stops.also,
            report: &stops.found,
        }
    }
}

/// A level below the capacity at which steps failed.
#[derive(Serialize)]
struct FailedBelow {
    level: f64,
    failed: usize,
    steps: usize,
}

impl FailedBelow {
    fn of(tried: &Tried<'_>) -> Self {
        Self { level: tried.level, failed: tried.failed.len(), steps: tried.steps() }
    }
}

#[derive(Default, Serialize)]
struct Level {
    known: &'static str,
    low: Option<f64>,
    high: Option<f64>,
    confirmed: bool,
    why: Vec<String>,
}

#[derive(Serialize)]
struct SheddingFigures {
    level: f64,
    goodput: f64,
    rejected_share: f64,
}

#[derive(Serialize)]
struct Saturation {
    goodput: f64,
    low: f64,
    high: f64,
    reached: bool,
}

#[derive(Serialize)]
struct KneeFigures {
    level: f64,
    low: f64,
    high: f64,
    basis: &'static str,
    repeats: usize,
    at_the_end: bool,
    at_the_start: bool,
    kneedle: f64,
}

#[derive(Serialize)]
struct Recovered {
    state: &'static str,
    level: Option<f64>,
    after_s: Option<f64>,
    lower_level: Option<f64>,
}

#[derive(Serialize)]
struct Usl {
    gamma: f64,
    sigma: f64,
    kappa: f64,
    r2: f64,
    in_flight_max: f64,
    peak: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Cpu<'v> {
    seconds_per_request: Option<f64>,
    cores: Option<f64>,
    bound_per_s: Option<f64>,
    reached_share: Option<f64>,
    busy: Option<f64>,
    shared_with_generator: Option<usize>,
    finding: &'static str,
    full_thread_of: Option<&'v str>,
    programs: &'v [ProgramUse],
}

#[derive(Serialize)]
struct QueueFigures {
    workers: u32,
    service_ms: f64,
    at_per_s: f64,
    predicted_ms: f64,
    measured_ms: f64,
}

#[derive(Serialize)]
struct Worth {
    peak_per_s: f64,
    peak_factor: f64,
    requests_per_month: f64,
    users: Option<f64>,
    cost_per_million_requests: Option<f64>,
    cost_per_user_month: Option<f64>,
}

#[derive(Serialize)]
struct Step<'v> {
    number: usize,
    purpose: &'static str,
    closed: bool,
    level: f64,
    seconds: f64,
    warm_up_s: f64,
    seed: u64,
    reset: bool,
    outcome: &'static str,
    why: &'v str,
    broken: Option<&'static str>,
    arrival_rate: f64,
    throughput: f64,
    goodput: f64,
    requests_per_arrival: f64,
    failed_share: f64,
    rejected: u64,
    requests: u64,
    response_time_ms: StepTimes,
    service_time_ms: StepTimes,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_event_ms: Option<StepTimes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_gap_ms: Option<StepTimes>,
    in_flight_max: u64,
    cpu_s: Option<f64>,
    resources: &'v [ResourceUse],
    generator: Generator,
    record: Option<&'v str>,
}

#[derive(Serialize)]
struct StepTimes {
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
}

#[derive(Serialize)]
struct Generator {
    validity: Validity,
    warnings: Vec<StepWarning>,
}

/// A warning of a step's validity check.
#[derive(Serialize)]
struct StepWarning {
    code: String,
    message: String,
}

impl StepWarning {
    fn of(warning: &Warning) -> Self {
        Self { code: warning.code.clone(), message: warning.message.clone() }
    }
}

impl<'v> Document<'v> {
    fn of(view: &'v SweepView<'_>) -> Self {
        let report = view.report;
        Self {
            version: VERSION,
            title: &view.about.title,
            started_unix_s: view.about.started.as_secs_f64(),
            unit: report.unit(),
            seed: report.config.seed,
            slo: report.config.slos.iter().map(ToString::to_string).collect(),
            errors_max: report.config.errors_max,
            ended: match report.ended {
                Ended::Complete => "complete",
                Ended::Interrupted => "interrupted",
                Ended::OutOfTime => "out_of_time",
                Ended::Early => "early",
                Ended::GeneratorLimit => "generator_limit",
            },
            validity: view.state,
            warnings: &view.reasons,
            notes: &view.notes,
            headline: &view.headline,
            findings: view.stops.as_ref().map(Findings::of),
            capacity: level(&report.capacity),
            failed_below: report.failed_below().iter().map(FailedBelow::of).collect(),
            saturation: report.saturation.map(|found| {
                let LevelRange { low, high } = found.interval;
                Saturation { goodput: found.rate, low, high, reached: found.reached }
            }),
            shedding: report.shedding.map(|found| {
                let Shedding { at, keeps, rejected } = found;
                SheddingFigures { level: at, goodput: keeps, rejected_share: rejected }
            }),
            knee: report.knee.as_ref().map(knee),
            breaking_point: level(&report.breaking),
            broken: report.broken.map(Broken::words),
            recovery: recovered(report.recovery),
            usl: report.law.as_ref().ok().map(usl),
            cpu: report.cpu.as_ref().map(cpu),
            resource: report.resource.as_ref(),
            queue: report.queue.as_ref().map(queue),
            worth: report.worth.map(|found| Worth {
                peak_per_s: found.peak,
                peak_factor: found.assumptions.peak_factor,
                requests_per_month: found.per_month,
                users: found.users,
                cost_per_million_requests: found.per_million,
                cost_per_user_month: found.per_user,
            }),
            response_time_judged_from_ms: report.resolution.map(|seconds| seconds * 1e3),
            next: &view.next,
            remarks: view.remarks.iter().flat_map(|remark| &remark.sentences).map(String::as_str).collect(),
            steps: report.trials.iter().zip(&view.rows).map(|(trial, row)| step(trial, &row.why)).collect(),
            co_located: view.about.co_located,
            cpus: view.about.division.as_ref(),
            build: &view.about.build,
            machine: &view.about.machine,
        }
    }
}

fn level(named: &LevelEstimate) -> Level {
    let (known, low, high) = match named {
        LevelEstimate::Between { interval, .. } => ("between", Some(interval.low), Some(interval.high)),
        LevelEstimate::AtLeast(low) => ("at_least", Some(*low), None),
        LevelEstimate::Below(high) => ("below", None, Some(*high)),
        LevelEstimate::Refused { at_least, .. } => ("refused", *at_least, None),
        LevelEstimate::Unknown => ("unknown", None, None),
    };
    let confirmed = matches!(named, LevelEstimate::Between { confirmed: true, .. });
    let why = if let LevelEstimate::Refused { why, .. } = named { why.clone() } else { Vec::new() };
    Level { known, low, high, confirmed, why }
}

fn knee(knee: &Knee) -> KneeFigures {
    let LevelRange { low, high } = knee.interval;
    KneeFigures {
        level: knee.level,
        low,
        high,
        basis: match knee.basis {
            Basis::Ladder => "ladder",
            Basis::Grid => "grid",
            Basis::Repeats => "repeats",
        },
        repeats: knee.repeats,
        at_the_end: knee.at_the_end,
        at_the_start: knee.at_the_start,
        kneedle: knee.kneedle,
    }
}

fn recovered(recovery: Recovery) -> Recovered {
    let (state, level, after_s, lower) = match recovery {
        Recovery::AtOnce(level) => ("at_once", Some(level), None, None),
        Recovery::After(level, seconds) => ("after", Some(level), Some(seconds), None),
        Recovery::Metastable { at, lower } => ("metastable", Some(at), None, lower),
        Recovery::Changed { at, lower, .. } => ("changed", Some(at), None, lower),
        Recovery::NotTried => ("not_tried", None, None, None),
    };
    Recovered { state, level, after_s, lower_level: lower }
}

fn usl(law: &Law) -> Usl {
    let Law { gamma, sigma, kappa, r2, reach, peak } = *law;
    Usl { gamma, sigma, kappa, r2, in_flight_max: reach, peak }
}

fn cpu(used: &CpuUse) -> Cpu<'_> {
    let (finding, full_thread_of) = match &used.finding {
        CpuFinding::KeptUp => ("kept_up", None),
        CpuFinding::Cpus => ("cpus", None),
        CpuFinding::OneThread(name) => ("one_thread", Some(name.as_str())),
        CpuFinding::AllBusy => ("all_busy", None),
        CpuFinding::MostlyCpus => ("mostly_cpus", None),
        CpuFinding::Shared => ("shared", None),
        CpuFinding::Elsewhere => ("elsewhere", None),
        CpuFinding::Unknown => ("unknown", None),
    };
    Cpu {
        seconds_per_request: used.bound.map(|bound| bound.demand),
        cores: used.bound.map(|bound| bound.cores),
        bound_per_s: used.bound.map(|bound| bound.bound),
        reached_share: used.bound.map(|bound| bound.share),
        busy: used.busy,
        shared_with_generator: used.shared,
        finding,
        full_thread_of,
        programs: &used.programs,
    }
}

fn queue(queue: &Queue) -> QueueFigures {
    QueueFigures {
        workers: queue.workers,
        service_ms: queue.service * 1e3,
        at_per_s: queue.at,
        predicted_ms: queue.predicted * 1e3,
        measured_ms: queue.measured * 1e3,
    }
}

fn step<'v>(trial: &'v FinishedStep, why: &'v str) -> Step<'v> {
    let (result, asked) = (&trial.result, &trial.step);
    let is_streamed = result.first_event.n() > 0;
    Step {
        number: asked.number,
        purpose: asked.purpose.name(),
        closed: matches!(asked.load, StepLoad::Connections(_)),
        level: asked.load.level(),
        seconds: asked.seconds,
        warm_up_s: asked.warm_up,
        seed: asked.seed,
        reset: asked.reset,
        outcome: word(trial.judged.outcome),
        why,
        broken: trial.judged.broken.map(Broken::words),
        arrival_rate: result.offered,
        throughput: result.achieved,
        goodput: result.goodput,
        requests_per_arrival: result.requests_per_arrival,
        failed_share: result.failed(),
        rejected: result.rejected,
        requests: result.books.planned,
        response_time_ms: times(&result.response),
        service_time_ms: times(&result.service),
        first_event_ms: is_streamed.then(|| times(&result.first_event)),
        longest_gap_ms: is_streamed.then(|| times(&result.longest_gap)),
        in_flight_max: result.in_flight_max,
        cpu_s: result.cpu,
        resources: &result.resources,
        generator: Generator {
            validity: result.state,
            warnings: result.reasons.iter().map(StepWarning::of).collect(),
        },
        record: result.record.as_deref(),
    }
}

/// The figures that a sample supports; the others are null.
fn times(times: &knee_core::estimate::Distribution) -> StepTimes {
    let at = |q: f64| Reading::from(times.quantile(q)).nanos().map(|nanos| nanos / 1e6);
    StepTimes {
        mean: times.all().mean().and_then(|nanos| finite(nanos / 1e6)),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
    }
}
