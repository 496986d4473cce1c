//! What a study is: variants, workloads, design, claims and published figures, as `study.toml` declares them.
//!
//! [`Definition::read`] resolves every name and refuses what does not fit, with its place. Does not open files: the
//! caller passes the text in, and reports which files exist. Every key is in `docs/reference/study-toml.md`.

mod variant;

mod claim;

mod plan;

mod lookup;

mod problem;

mod raw;

mod read;

mod resolve;

mod statement;

mod stored;

mod structure;

mod workload;

use std::collections::BTreeMap;

use knee_core::fixture::{Declaration, placeholder};
use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::metric::{Metric, Unit};

pub use problem::{Problem, Problems};

/// A study, resolved: names refer to what exists, and variants have all their settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Title of the report.
    pub title: String,
    /// The question of the study.
    pub question: Option<String>,
    /// URL of the story that it re-tests.
    pub source: Option<String>,
    /// Further files that have a table of its claims, relative to the study's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims_in: Vec<String>,
    /// Services, databases and caches, before a variant changes them.
    #[serde(alias = "rig", deserialize_with = "stored::declaration")]
    pub fixture: Declaration,
    /// The switches, by name.
    pub switches: BTreeMap<String, Switch>,
    /// Statements of databases that trials count, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statements: BTreeMap<String, Statement>,
    /// The variants, in the order of the file.
    #[serde(alias = "arms")]
    pub variants: Vec<Variant>,
    /// The workloads, in the order of the file.
    pub workloads: Vec<Workload>,
    /// How the variants are compared.
    pub design: Design,
    /// What is claimed, in the order of the file.
    pub claims: Vec<Claim>,
    /// What was published, in the order of the file.
    pub published: Vec<Published>,
}

/// A setting of a service that the study varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// What it changes, for the report.
    pub text: String,
    /// Its default value.
    pub default: String,
    /// All values it can have; empty for any.
    pub values: Vec<String>,
    /// How the service gets it.
    pub passed: Passed,
    /// The service that gets it.
    pub service: String,
    /// The only workloads that it can affect; all if absent. Under the others, variants that differ in nothing else are
    /// the same service: negative controls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affects: Option<Vec<String>>,
    /// The values that are remedies of a finding, by the finding's code. A search tries them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remedies: BTreeMap<String, String>,
}

/// How a service gets the value of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// By an environment variable of this name.
    Env(String),
    /// By an argument at the end of the command, with the value in place of `{value}`.
    Argument(String),
}

/// A statement of a PostgreSQL server, by a pattern of its text. If several statements match, they count together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What it does, for the report; can be empty.
    pub text: String,
    /// The server, by the name of its table.
    pub postgres: String,
    /// The text with `%` for any part of it; see [`Statement::is`].
    pub like: String,
}

/// One configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What it is, for the report; can be empty.
    pub text: String,
    /// The variant it builds on, if any.
    #[serde(alias = "on")]
    pub extends: Option<String>,
    /// The service that `env`, `command` and `revision` apply to.
    pub service: String,
    /// The value of every switch.
    pub switches: BTreeMap<String, String>,
    /// Environment on top of the service's own and of the switches.
    pub env: BTreeMap<String, String>,
    /// The command in place of the service's own.
    pub command: Option<Vec<String>>,
    /// The git revision the service is built from; the working tree if absent.
    pub revision: Option<String>,
    /// Statements of SQL by PostgreSQL server, which become part of the seeded data of the service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sql: BTreeMap<String, Vec<String>>,
    /// Settings by PostgreSQL server, on top of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
}

/// One kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// What it is, for the report; can be empty.
    pub text: String,
    /// The service it goes to.
    pub service: String,
    /// What is sent.
    pub load: Load,
    /// Measured time; the design's time if absent. Scripts that do not ask for it end by their own options.
    pub measure: Option<Nanos>,
    /// Whether data is reset to its seeded state before each trial.
    pub reset: bool,
}

/// What a workload sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// One request over and over.
    Request(Request),
    /// A k6 script.
    Script {
        /// Its file, relative to the study's folder.
        path: String,
        /// What `__ENV` has.
        env: BTreeMap<String, String>,
    },
    /// A load of the caller of the study, which no `study.toml` declares.
    OfCaller,
}

/// A request that is sent over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The path and what follows it, from `/`.
    pub path: String,
    /// The method, in capitals.
    pub method: String,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// The body, if any.
    pub body: Option<String>,
    /// Connections: users that wait for their responses or, with a rate, the most requests in flight.
    pub connections: u32,
    /// Arrivals per second; absent in a closed model.
    #[serde(alias = "rate")]
    pub arrival_rate: Option<f64>,
    /// How arrivals are spread, with a rate.
    pub arrivals: Arrivals,
    /// Time limit of one request.
    pub timeout: Option<Nanos>,
    /// Whether responses are streams of events.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Data of the event that ends a response; absent if the server ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// How arrivals of a rate are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Like those of independent users. Seeded by the trial's arrival seed, which is the same for every variant of a
    /// block.
    #[default]
    Poisson,
    /// Evenly.
    Uniform,
}

/// Which variants are compared with which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DesignKind {
    /// Each variant of an order with the one before, and with the first.
    Ladder,
    /// Each switch in which baseline and best variant differ: alone on the baseline, and removed alone from the best
    /// variant.
    Ablation,
    /// The pairs that are listed, or each variant with the baseline.
    Pairs,
    /// Each variant with itself at growing amounts of data.
    Growth,
}

/// How the variants are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Which variants are compared with which.
    pub kind: DesignKind,
    /// The variants that take part, in their order.
    pub order: Vec<String>,
    /// The baseline of pairs and of an ablation; in a ladder, the first of the order.
    #[serde(alias = "base")]
    pub baseline: String,
    /// The best variant of an ablation.
    pub best: Option<String>,
    /// The pairs, if they are listed: `[from, to]`.
    pub pairs: Vec<[String; 2]>,
    /// Amounts of data, for growth.
    pub growth: Option<Growth>,
    /// Blocks; each has every variant once with every workload. 8 or more.
    pub blocks: usize,
    /// The variants of a quick study, besides the baseline; all of them if empty.
    pub quick: Vec<String>,
    /// In every n-th block each trial needs a fresh process; 1 or more.
    pub restart_every: usize,
    /// Warm-up on a fresh process.
    pub warm_up: Nanos,
    /// Warm-up on a process that is reused from an earlier trial.
    #[serde(alias = "washout")]
    pub settle: Nanos,
    /// Measured time of a trial, unless its workload has its own.
    pub measure: Nanos,
    /// Seed of every order and every arrival.
    pub seed: u64,
    /// Equivalence margin as a share; `None` for 5 %, or more if the machine's noise requires it.
    pub margin: Option<f64>,
    /// The same for single metrics.
    pub margins: BTreeMap<Metric, f64>,
    /// Metrics that get a verdict, the most important first.
    pub metrics: Vec<Metric>,
    /// Whether an undecided study doubles its blocks once.
    pub extend: bool,
    /// Whether the baseline also runs as a second variant, to show the noise (A/A test).
    pub aa: bool,
}

impl Design {
    /// The margin in the definition, if any. A margin for all metrics does not apply to shares: 5 % errors would be a
    /// lot.
    pub(crate) fn margin_of(&self, metric: Metric) -> Option<f64> {
        let general = self.margin.filter(|_| metric.unit() != Unit::Share);
        self.margins.get(&metric).copied().or(general)
    }
}

/// Amounts of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// The switch that sets the amount.
    pub switch: String,
    /// The amounts, rising: at least four, the last at least eight times the first.
    pub sizes: Vec<u64>,
}

/// A statement that the study tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its short name.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Whether it is a goal of this study; otherwise it was published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goal: bool,
    /// The published figure in the words of the study; `None` shows what the test asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Whether the test compares what was published, and what differs, in the words of the study; `None` if it does not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like_for_like: Option<String>,
    /// What would confirm it.
    pub test: Test,
}

/// What would confirm a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Nothing here can; the reason.
    Untestable(String),
    /// The direction of a change, or a bound on it.
    Comparison {
        /// What it is compared with.
        from: Cell,
        /// The side that the claim is about.
        to: Cell,
        /// By what.
        metric: Metric,
        /// The claimed result.
        expect: Expectation,
        /// Least factor, above 1; not with `same`.
        at_least: Option<f64>,
    },
    /// A change of a certain size.
    Change {
        /// What it is compared with.
        from: Cell,
        /// The side that the claim is about.
        to: Cell,
        /// By what.
        metric: Metric,
        /// The claimed change: of shares the difference, otherwise `to / from - 1`.
        change: f64,
        /// How far the true change can be from it: of shares in points, otherwise a share of the claimed ratio. The
        /// equivalence margin of the metric if absent.
        within: Option<f64>,
    },
    /// A bound on what one variant measures. An upper bound of [`Metric::Max`] is one of every single request.
    Bound {
        /// Variant and workload.
        cell: Cell,
        /// The metric that is judged.
        metric: Metric,
        /// Claimed upper bound.
        below: Option<f64>,
        /// Claimed lower bound.
        above: Option<f64>,
        /// Why a published figure in units of a machine can be tested on this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        testable: Option<String>,
    },
}

impl Test {
    /// The two sides and the metric that it compares, if it compares.
    pub fn compared(&self) -> Option<(&Cell, &Cell, Metric)> {
        match self {
            Self::Comparison { from, to, metric, .. } | Self::Change { from, to, metric, .. } => {
                Some((from, to, *metric))
            }
            Self::Untestable(_) | Self::Bound { .. } => None,
        }
    }

    /// The metric; `None` if nothing is tested.
    pub const fn metric(&self) -> Option<Metric> {
        match self {
            Self::Comparison { metric, .. } | Self::Change { metric, .. } | Self::Bound { metric, .. } => {
                Some(*metric)
            }
            Self::Untestable(_) => None,
        }
    }

    /// The variants and workloads that it is about.
    pub fn cells(&self) -> Vec<&Cell> {
        match self {
            Self::Comparison { from, to, .. } | Self::Change { from, to, .. } => vec![from, to],
            Self::Bound { cell, .. } => vec![cell],
            Self::Untestable(_) => Vec::new(),
        }
    }
}

/// The claimed result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Better.
    #[serde(alias = "better")]
    Faster,
    /// Worse.
    #[serde(alias = "worse")]
    Slower,
    /// More of the metric, whether that is better or not.
    More,
    /// Less of it.
    Less,
    /// No difference that matters.
    Same,
    /// Not better by more than the margin; worse is no objection.
    #[serde(alias = "not-better")]
    NotFaster,
    /// Not worse by more than the margin; better is no objection.
    #[serde(alias = "not-worse")]
    NotSlower,
}

/// One variant under one workload, or what it measures of one endpoint or of one statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The variant.
    #[serde(alias = "arm")]
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// The endpoint that is measured, as in `GET /todos`; all requests of the workload if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The statement that is measured, by its name in the study; never together with an endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl Cell {
    /// A variant under a workload, with all its requests.
    pub fn new(variant: impl Into<String>, workload: impl Into<String>) -> Self {
        Self { variant: variant.into(), workload: workload.into(), endpoint: None, statement: None }
    }

    /// One endpoint of it; all its requests if absent.
    #[must_use]
    pub fn at(self, endpoint: Option<String>) -> Self {
        Self { endpoint, ..self }
    }

    /// One statement of it, by its name in the study; all of it if absent.
    #[must_use]
    pub fn of_statement(self, statement: Option<String>) -> Self {
        Self { statement, ..self }
    }

    /// The same variant and workload with everything that they measure.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self::new(&self.variant, &self.workload)
    }

    /// Whether it is a part of what its variant and workload measure.
    pub const fn is_part(&self) -> bool {
        self.endpoint.is_some() || self.statement.is_some()
    }
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Which variant and workload it corresponds to.
    pub cell: Cell,
    /// The metric that is judged.
    pub metric: Metric,
    /// The figure in the metric's own unit.
    pub value: f64,
    /// Where it was published; can be empty.
    pub source: String,
}

impl Definition {
    /// The variant of a name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The workload of a name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// How long the first trial of a process lasts under a workload, as declared: its warm-up and its measured time.
    pub fn lasts(&self, workload: &Workload) -> Nanos {
        self.design.warm_up.saturating_add(workload.measure.unwrap_or(self.design.measure))
    }
}

impl Workload {
    /// Whether its trials last as long as it is asked to: those of a request do, and those of a script whose environment
    /// has the placeholder `{duration}`.
    pub fn lasts_as_asked(&self) -> bool {
        match &self.load {
            Load::Request(_) => true,
            Load::Script { env, .. } => {
                env.values().any(|text| placeholder::named(text).contains(placeholder::DURATION))
            }
            Load::OfCaller => false,
        }
    }
}

#[cfg(test)]
mod tests;
