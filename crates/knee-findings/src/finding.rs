//! What the rules found: findings with their evidence, and the rules that could not run.
//!
//! Plain data. Does not find anything and does not lay anything out.

use serde::Serialize;

use crate::bound::Bound;
use crate::breakdown::Breakdown;

pub use crate::remedy::Remedy;

/// Everything that the rules say about a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Findings with the largest predicted gain first, then hints.
    pub findings: Vec<Finding>,
    /// Codes of the rules that ran, in the order of the list of rules.
    pub ran: Vec<&'static str>,
    /// The rules that could not run, and why.
    pub could_not_run: Vec<NotRun>,
    /// What each resource allows, the tightest first. Empty if no resource was observed.
    pub bounds: Vec<Bound>,
    /// Where the mean response time goes. `None` if no work of the service was observed, or if the run is invalid.
    pub breakdown: Option<Breakdown>,
}

/// A rule that could not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// The rule.
    pub code: &'static str,
    /// What it lacks, as a phrase: "a PostgreSQL server (`--observe postgres://...`)".
    pub lacks: String,
}

/// One thing that limits the service, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule; `knee explain CODE` has its limits and their sources.
    pub code: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// What is the matter, in one sentence without a full stop.
    pub statement: String,
    /// The figures beyond their limits, each from a measurement of its own.
    pub evidence: Vec<Signal>,
    /// What to change.
    pub remedy: Remedy,
    /// What the change gains, as far as the evidence says.
    pub gain: Option<Gain>,
    /// How far the evidence goes.
    pub confidence: Confidence,
}

impl Finding {
    /// Whether it rests on one signal alone.
    pub fn is_hint(&self) -> bool {
        self.confidence == Confidence::Hint
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Its name: the text of a statement, the name of a table, process or endpoint. Foreign text, to be cleaned before
    /// it is shown.
    pub name: String,
    /// The observed source that it belongs to; `None` for what the run itself shows.
    pub source: Option<String>,
}

impl Subject {
    /// The service as a whole.
    pub(crate) fn service() -> Self {
        Self::of(SubjectKind::Service, "the service", None)
    }

    pub(crate) fn of(kind: SubjectKind, name: impl Into<String>, source: Option<&str>) -> Self {
        Self { kind, name: name.into(), source: source.map(str::to_owned) }
    }
}

/// Kinds of subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// The service as the load generator sees it.
    Service,
    /// One endpoint.
    Endpoint,
    /// A statement of a database, or a command of a cache.
    Statement,
    /// A table.
    Table,
    /// A process or one of its threads.
    Process,
    /// A pool, a queue, a disk, a server as a whole.
    Resource,
}

/// One measured figure beyond its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Signal {
    /// What was measured.
    pub what: String,
    /// The figure, finite.
    pub figure: f64,
    /// Its unit, and that of the limit.
    pub unit: Unit,
    /// The limit that it passed.
    pub limit: Limit,
    /// Where the figure comes from: `the run`, or a view, file or command of an observed source.
    pub source: &'static str,
}

impl Signal {
    /// The signal if `figure` reaches `limit`; `None` if not, or if the figure is unknown or not finite.
    pub(crate) fn at_least(
        what: impl Into<String>,
        unit: Unit,
        figure: Option<f64>,
        limit: f64,
        source: &'static str,
    ) -> Option<Self> {
        let figure = figure.filter(|figure| figure.is_finite() && *figure >= limit)?;
        Some(Self { what: what.into(), figure, unit, limit: Limit::AtLeast(limit), source })
    }

    /// The signal if `figure` is at most `limit`; `None` if not, or if the figure is unknown or not finite.
    pub(crate) fn at_most(
        what: impl Into<String>,
        unit: Unit,
        figure: Option<f64>,
        limit: f64,
        source: &'static str,
    ) -> Option<Self> {
        let figure = figure.filter(|figure| figure.is_finite() && *figure <= limit)?;
        Some(Self { what: what.into(), figure, unit, limit: Limit::AtMost(limit), source })
    }

    /// Whether a figure is known and does not reach `limit`: where a finding cannot be without it, this contradicts the
    /// finding. [`Self::at_least`] gives `None` for it, as for one that is unknown.
    pub(crate) fn falls_short(figure: Option<f64>, limit: f64) -> bool {
        figure.is_some_and(|figure| figure < limit)
    }
}

/// Where a figure counts as a signal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// From here on.
    AtLeast(f64),
    /// Up to here.
    AtMost(f64),
}

/// Units of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number of something.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share, usually 0 to 1.
    Share,
}

/// What a change gains by the measured times alone. Not a promise: where requests wait in queues, which become shorter as
/// well, it can gain more, and where the time is not all saved, less. What it does must be measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Gain {
    /// The mean response time, in seconds.
    MeanResponse {
        /// As measured.
        from: f64,
        /// Without what the change saves.
        to: f64,
        /// Where that comes from.
        bound: String,
    },
    /// Complete responses per second.
    Throughput {
        /// As measured.
        from: f64,
        /// Without what the change saves.
        to: f64,
        /// Where that comes from.
        bound: String,
    },
}

impl Gain {
    /// `saved` seconds less of a mean response time of `mean` seconds; `None` if that is nothing or unknown.
    pub(crate) fn saves(mean: Option<f64>, saved: Option<f64>, bound: impl Into<String>) -> Option<Self> {
        let (mean, saved) = (mean?, saved?);
        let counts = saved.is_finite() && mean.is_finite() && saved > 0.0 && mean > 0.0;
        counts.then(|| Self::MeanResponse { from: mean, to: mean - saved.min(mean), bound: bound.into() })
    }

    /// A throughput of `to` instead of `from` per second; `None` if that is no more, or unknown.
    pub(crate) fn reaches(from: Option<f64>, to: Option<f64>, bound: impl Into<String>) -> Option<Self> {
        let (from, to) = (from?, to?);
        let counts = from.is_finite() && to.is_finite() && from > 0.0 && to > from;
        counts.then(|| Self::Throughput { from, to, bound: bound.into() })
    }

    /// The part of the present time per request that the change saves, 0 to 1, by which findings are ranked.
    pub fn share(&self) -> f64 {
        match self {
            Self::MeanResponse { from, to, .. } => 1.0 - to / from,
            Self::Throughput { from, to, .. } => 1.0 - from / to,
        }
    }
}

/// How far the evidence goes, by the number of independent signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One signal: a place to look at.
    Hint,
    /// Two independent signals.
    Likely,
    /// Three or more.
    Strong,
}

impl Confidence {
    /// By the number of signals.
    pub(crate) const fn of(signals: usize) -> Self {
        match signals {
            0 | 1 => Self::Hint,
            2 => Self::Likely,
            _ => Self::Strong,
        }
    }

    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Likely => "likely",
            Self::Strong => "strong",
        }
    }
}
