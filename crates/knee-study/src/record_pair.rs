//! Compares two saved runs: their figures, the differences, and the reasons why the services might still not differ.
//!
//! Draws no verdict: one run per side cannot separate change from noise. See [`super::compare`] for sides that are
//! loaded alternately.

use knee_core::plan::{Executor, Plan, Scenario, Stop};
use knee_core::record::{Build, Ending, Machine, Run};
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::study::{Calibration, Figure, Measured, Spent, TrialWarning};

/// Two runs beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordPair {
    /// The first.
    pub a: RecordedRun,
    /// The second.
    pub b: RecordedRun,
    /// Every metric that one of them has.
    pub metrics: Vec<MetricPair>,
    /// Reasons why they are not comparable, whatever the figures; empty if none is known.
    pub obstacles: Vec<String>,
    /// The machine's noise, if it is known.
    pub noise: Option<Calibration>,
}

/// The facts of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The name of its record.
    pub record: String,
    /// What was loaded.
    pub title: String,
    /// What it was sent.
    pub load: String,
    /// When it began, in nanoseconds since the Unix epoch.
    pub started: Nanos,
    /// The program that measured.
    pub build: Build,
    /// The machine that measured.
    pub machine: Machine,
    /// Requests measured.
    pub requests: u64,
    /// Whether it can be trusted.
    pub validity: Validity,
    /// Why not.
    pub warnings: Vec<TrialWarning>,
}

/// One metric of both runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricPair {
    /// Which.
    pub metric: Metric,
    /// What A measured; `None` if it did not.
    pub a: Option<Figure>,
    /// What B measured.
    pub b: Option<Figure>,
    /// From A to B: of shares the difference, of everything else `b / a - 1`. `None` unless both are exact.
    pub change: Option<f64>,
    /// The largest difference between two runs of the same service on this machine in 19 of 20 cases; in the sense of
    /// `change`.
    pub noise: Option<f64>,
    /// Whether the change is within that noise; `None` if either is unknown.
    pub within_noise: Option<bool>,
}

impl RecordPair {
    /// Compares two runs, each with the name of its record. `noise` is that of this machine.
    pub fn of(a: (&Run, &str), b: (&Run, &str), noise: Option<Calibration>) -> Self {
        let figures = |run| Measured::of(run, &Spent::default(), None);
        let (one, other) = (figures(a.0), figures(b.0));
        let pairs = Metric::ALL.into_iter().filter_map(|metric| {
            let of = |measured: &Measured| measured.figures.get(&metric).copied();
            pair(metric, of(&one), of(&other), noise.as_ref())
        });
        Self {
            metrics: pairs.collect(),
            obstacles: obstacles(a.0, b.0),
            a: recorded(a.0, a.1, one),
            b: recorded(b.0, b.1, other),
            noise,
        }
    }
}

fn recorded(run: &Run, record: &str, measured: Measured) -> RecordedRun {
    RecordedRun {
        record: record.to_owned(),
        title: run.head.title.clone(),
        load: load(&run.head.plan),
        started: run.head.started,
        build: run.head.build.clone(),
        machine: run.head.machine.clone(),
        requests: measured.requests,
        validity: measured.validity,
        warnings: measured.warnings,
    }
}

fn pair(
    metric: Metric,
    a: Option<Figure>,
    b: Option<Figure>,
    noise: Option<&Calibration>,
) -> Option<MetricPair> {
    if a.is_none() && b.is_none() {
        return None;
    }
    let exact = a.zip(b).filter(|(a, b)| !a.at_least && !b.at_least);
    let scaled = exact.and_then(|(a, b)| Some((metric.scaled(a.value)?, metric.scaled(b.value)?)));
    let reach = noise.and_then(|noise| noise.of_one(metric));
    let change = scaled.map(|(a, b)| metric.as_change(b - a));
    let noise = reach.map(|reach| metric.as_change(reach));
    let within_noise = scaled.zip(reach).map(|((a, b), reach)| (b - a).abs() <= reach);
    Some(MetricPair { metric, a, b, change, noise, within_noise })
}

/// Every difference besides the service, and every reason why a run is useless.
fn obstacles(a: &Run, b: &Run) -> Vec<String> {
    let (one, other) = (&a.head, &b.head);
    let mut found = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what} differ: {a} and {b}"));
        }
    };
    differ("the targets", one.title.clone(), other.title.clone());
    differ("the loads", load(&one.plan), load(&other.plan));
    differ("the workers of the generator", one.plan.workers.to_string(), other.plan.workers.to_string());
    differ("the time limits", limits(&one.plan), limits(&other.plan));
    differ("the machines", machine(&one.machine), machine(&other.machine));
    differ("the locations of the targets", place(one.co_located), place(other.co_located));
    differ("the versions of knee", build(&one.build), build(&other.build));
    for (name, run) in [("A", a), ("B", b)] {
        if !run.amendments.is_empty() {
            found.push(format!("{name} was steered by hand: its load changed during the run"));
        }
        if run.validity.validity == Validity::Invalid {
            let why = run
                .validity
                .warnings
                .first()
                .map_or_else(String::new, |reason| format!(": {}", reason.message));
            found.push(format!("{name} is invalid{why}"));
        }
        let ended = match run.ending {
            Ending::Completed => continue,
            Ending::Interrupted | Ending::Aborted => "ended early",
            Ending::Truncated => "has a record without an end",
        };
        found.push(format!("{name} {ended}"));
    }
    found
}

/// What is sent and when, in words.
pub fn load(plan: &Plan) -> String {
    let scenarios: Vec<String> = plan.scenarios.iter().map(|scenario| of_scenario(plan, scenario)).collect();
    scenarios.join(" and ")
}

fn of_scenario(plan: &Plan, scenario: &Scenario) -> String {
    let by = match &scenario.executor {
        Executor::Closed { vus } => format!("{}, closed", levels(vus, "connections")),
        Executor::Open { rate, users_max, .. } => {
            format!("{}, open, at most {users_max} in flight", levels(rate, "requests/s"))
        }
    };
    match scenario.stop {
        Stop::Requests(requests) => format!("{by}, {requests} requests"),
        Stop::At(end) if plan.warm_up > Nanos::ZERO => {
            format!("{by}, for {} after {} of warm-up", end.since(plan.warm_up), plan.warm_up)
        }
        Stop::At(end) => format!("{by}, for {end}"),
    }
}

fn levels(curve: &Curve, unit: &str) -> String {
    let steps = curve.stages.iter().map(|stage| format!(", {} within {}", stage.target, stage.duration));
    format!("{} {unit}{}", curve.start, steps.collect::<String>())
}

fn limits(plan: &Plan) -> String {
    let request = plan.request_timeout.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    format!("{request} per request and {} per connection", plan.connect_timeout)
}

fn machine(machine: &Machine) -> String {
    let cpu = machine.cpu.as_deref().unwrap_or(&machine.arch);
    format!("{} CPUs of {cpu} under {}", machine.cores, machine.system)
}

fn place(co_located: Option<bool>) -> String {
    let place = match co_located {
        Some(true) => "on the generator's machine",
        Some(false) => "on another machine",
        None => "unknown",
    };
    place.to_owned()
}

fn build(build: &Build) -> String {
    let commit = build.commit.as_ref().map_or_else(String::new, |commit| format!(" of {commit}"));
    format!("{}{commit}{}", build.version, if build.optimized { "" } else { ", a debug build" })
}
