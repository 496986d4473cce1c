//! Computes everything that reports show about a sweep, once.
//!
//! Text, Markdown, JSON and SVG lay a [`SweepView`] out and calculate nothing, so that they cannot
//! disagree. Does not judge steps and does not find the capacity; both are in the sweep's result.

mod cpu;

pub mod curve;

pub mod events;

mod goal;

pub mod json;

pub mod markdown;

mod next;

pub mod note;

mod resource;

mod sentence;

pub mod stops;

pub mod svg;

pub mod text;

use knee_core::fixture::division::Division;
use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_study::sweep::rule::Outcome;
use knee_study::sweep::{Config, FinishedStep, LoadKind, Purpose, Report, Slo, StepLoad};

use crate::number::{self, level};
use crate::view::reading::Reading;
use curve::Curve;
use events::Events;
use stops::{StepFindings, Stops};

pub(crate) use cpu::sentences as cpu_sentences;
pub use goal::Tail;
pub(crate) use resource::sentences as resource_sentences;
pub use sentence::{Finding, Remark};

/// Facts about a sweep besides its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// What was loaded: the URL without credentials, or the script's name.
    pub title: String,
    /// The program that measured.
    pub build: Build,
    /// The machine it ran on.
    pub machine: Machine,
    /// Wall-clock time of the start, since the Unix epoch.
    pub started: Nanos,
    /// Whether the target runs on this machine; `None` if that is unknown.
    pub co_located: Option<bool>,
    /// The CPUs that target and load generator can both use, ascending; empty if unknown.
    pub shared_cpus: Vec<usize>,
    /// How the CPUs were divided; `None` if the target was not started for the sweep.
    pub division: Option<Division>,
    /// The command that loads the target once, without an amount: `knee http://127.0.0.1:8080/`. `None` if no short one does.
    pub again: Option<String>,
    /// Whether that command also needs options that the sweep had: of the request, the connection, the fleet or its hosts.
    pub with_options: bool,
}

impl About {
    fn place(&self) -> next::Place<'_> {
        next::Place { co_located: self.co_located, cpus: &self.shared_cpus, division: self.division.as_ref() }
    }
}

/// A sweep, as every report shows it.
#[derive(Clone, Debug)]
pub struct SweepView<'r> {
    /// What is known besides.
    pub about: &'r About,
    /// The findings, as numbers.
    pub report: &'r Report,
    /// The settings, as pieces of a line.
    pub terms: Vec<String>,
    /// The result in a sentence or two.
    pub headline: String,
    /// The findings, one per line.
    pub findings: Vec<Finding>,
    /// What stops the service at the limit; `None` if the runs of the steps were not examined.
    pub stops: Option<Stops>,
    /// Results of the models, and the users and cost that the capacity supports; sentences.
    pub remarks: Vec<Remark>,
    /// What to do next; sentences.
    pub next: Vec<String>,
    /// The steps.
    pub rows: Vec<Row>,
    /// Name of the tail's column: the highest percentile that most steps support.
    pub tail: &'static str,
    /// The percentiles that the limits are about.
    pub tails: Vec<Tail>,
    /// Names of the columns of requests over a limit: `over 250 ms`. One for each limit on a percentile that most steps do
    /// not support: it is judged by the share of requests above it.
    pub limits: Vec<String>,
    /// The times of events, if responses are streams of them.
    pub events: Option<Events>,
    /// The curve to draw.
    pub curve: Curve,
    /// Whether it can be trusted.
    pub state: Validity,
    /// Why not; sentences.
    pub reasons: Vec<String>,
    /// What else the result depends on; notes with their codes.
    pub notes: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number.
    pub number: usize,
    /// Why it was made.
    pub purpose: Purpose,
    /// The level, with its unit if that differs from the table's.
    pub level: String,
    /// Arrivals per second that came due.
    pub offered: String,
    /// Arrivals per second that were answered ok.
    pub goodput: String,
    /// Response time at the median.
    pub p50: Reading,
    /// Response time in the tail.
    pub tail: Reading,
    /// Share of the requests that failed.
    pub failed: String,
    /// Most in flight.
    pub in_flight: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Why, in a few words; empty for a pass.
    pub why: String,
    /// The first reason, in a shorter form.
    pub brief: String,
    /// The share of requests that took longer than each limit of [`SweepView::limits`] allows.
    pub over: Vec<String>,
    /// Name of its record.
    pub record: Option<String>,
}

impl<'r> SweepView<'r> {
    /// Computes everything that is shown.
    pub fn of(report: &'r Report, about: &'r About) -> Self {
        let (tail, q) = tail(report);
        let tails = goal::tails(report, (tail, q));
        let counted = goal::counted(report);
        let rows: Vec<Row> =
            report.trials.iter().map(|trial| row(trial, &report.config, q, &counted)).collect();
        Self {
            about,
            report,
            terms: sentence::terms(report),
            headline: sentence::headline(report),
            findings: sentence::findings(report),
            stops: None,
            remarks: sentence::remarks(report),
            next: next::steps(report, about.place(), (about.again.as_deref(), about.with_options)),
            events: Events::of(report, rows.iter().map(|row| row.level.clone()).collect()),
            rows,
            limits: counted.iter().map(|slo| format!("over {}", slo.limit)).collect(),
            tail,
            curve: Curve::of(report, (tail, q), &tails),
            tails,
            state: report.state,
            reasons: report.reasons.clone(),
            notes: note::notes(report, about.co_located),
        }
    }

    /// With what the rules found in the runs of the steps.
    #[must_use]
    pub fn with_findings(mut self, steps: &[StepFindings]) -> Self {
        self.stops = Stops::of(self.report, steps);
        self
    }
}

/// The highest percentile that at least half of the ladder's steps support.
fn tail(report: &Report) -> (&'static str, f64) {
    goal::TAILS.into_iter().find(|(_, q)| goal::carries(report, *q)).unwrap_or(goal::TAILS[2])
}

/// One step as a row; also used for the line that is printed when the step is done.
pub fn row(trial: &FinishedStep, config: &Config, tail: f64, counted: &[Slo]) -> Row {
    let (result, kind) = (&trial.result, config.kind);
    Row {
        number: trial.step.number,
        purpose: trial.step.purpose,
        level: match (trial.step.load, kind) {
            (StepLoad::Connections(count), LoadKind::Requests | LoadKind::Iterations) => {
                format!("{count} conn.")
            }
            (load, _) => level(load.level()),
        },
        offered: level(result.offered),
        goodput: level(result.goodput),
        p50: goal::reading(trial, 0.5),
        tail: goal::reading(trial, tail),
        failed: if result.failed() > 0.0 { number::percent(result.failed()) } else { "0".to_owned() },
        in_flight: number::count(result.in_flight_max),
        outcome: trial.judged.outcome,
        why: sentence::why(&trial.judged),
        brief: sentence::brief(&trial.judged),
        over: counted.iter().map(|slo| goal::over(trial, *slo)).collect(),
        record: result.record.clone(),
    }
}

/// The word for the outcome of a step.
pub const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Void => "void",
    }
}
