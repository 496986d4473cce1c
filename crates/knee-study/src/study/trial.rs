//! What passes between a study and the code that runs its trials.
//!
//! Does not decide anything.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::resource_use::OfResource;
use super::times::ResponseTimes;
use crate::definition::Cell;
use crate::metric::Metric;
use crate::statistics::share::Counted;

/// The caller's options of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Fewer blocks and shorter trials: only large changes are detected.
    pub quick: bool,
    /// Only these variants, and the baseline they are compared with; all if empty.
    #[serde(alias = "arms")]
    pub variants: Vec<String>,
    /// This many blocks instead of the design's.
    pub blocks: Option<usize>,
    /// Only an A/A test of this variant, for the noise floor.
    #[serde(alias = "against_itself")]
    pub aa: Option<String>,
    /// Let the generator share its CPUs with services and databases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_cpus: bool,
    /// Whether what is started is observed, so that its databases also count their statements. That takes CPU time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// The flags that choose the agents of a fleet which make the loads, without addresses; empty if this machine does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fleet: Vec<String>,
}

/// Why a study cannot run as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The options name a variant that does not take part. Second field: those that do.
    #[error("no variant `{0}` takes part; variants: {1}")]
    UnknownVariant(String, String),
    /// The options leave one variant or none.
    #[error("nothing to compare with {0} alone")]
    NothingToCompare(String),
    /// No blocks at all.
    #[error("a study needs at least one block")]
    NoBlocks,
    /// A margin within this machine's noise. Shares: the requested margin, and the smallest allowed one.
    #[error("a margin of {:.1} % for {metric} is within this machine's noise; {blocks} blocks allow {:.1} % or more", asked * 100.0, least * 100.0)]
    MarginWithinNoise {
        /// The metric that is judged.
        metric: Metric,
        /// What was asked for.
        asked: f64,
        /// What is allowed.
        least: f64,
        /// With this many blocks.
        blocks: usize,
    },
    /// A claim is about an endpoint that no trial has.
    #[error("claim `{claim}` is about the endpoint `{endpoint}`, which no trial has; endpoints: {known}")]
    UnknownEndpoint {
        /// The short name of the claim.
        claim: String,
        /// What it names.
        endpoint: String,
        /// Those that trials of its variant and workload have.
        known: String,
    },
    /// A result for a trial that was not the next one.
    #[error("trial {0} is not the next one")]
    NotNext(usize),
    /// Stored results do not belong to this study, from this trial on.
    #[error("the stored results belong to another study or other options: they differ at trial {0}")]
    OtherStudy(usize),
}

/// One run to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Its index among all trials, from 0. A repeat keeps the index.
    pub number: usize,
    /// Its block, from 0.
    pub block: usize,
    /// Which attempt at it this is, from 1.
    pub attempt: u32,
    /// The variant.
    #[serde(alias = "arm")]
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// The seed of its arrivals: the same for all variants of a block.
    pub arrival_seed: u64,
    /// Whether the service must be a fresh process. If not, a running process of this variant can be reused.
    pub restart: bool,
    /// Whether data must be brought back to its seeded state before.
    pub reset: bool,
}

impl Trial {
    /// Whether it belongs to this variant and workload.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.variant == cell.variant && self.workload == cell.workload
    }
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every trial is measured, and a study keeps hundreds")]
pub enum TrialResult {
    /// It ran to its end.
    Measured(Measured),
    /// The service died while it ran. If it dies in two trials in a row, the variant is lost.
    Died {
        /// The cause, with the end of the service's log if there is one.
        reason: String,
    },
    /// The service was not ready in time. The variant is lost.
    NeverReady {
        /// The cause, with the end of the service's log if there is one.
        reason: String,
    },
}

/// What a trial measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Figures by metric. One that could not be measured is absent.
    pub figures: BTreeMap<Metric, Figure>,
    /// Requests measured.
    pub requests: u64,
    /// Response times of its requests, for percentiles of several trials together; `None` in trials that an older
    /// version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<ResponseTimes>,
    /// The responses, and how many of them are errors: those behind [`Metric::Errors`]. `None` in trials that an older
    /// version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<Counted>,
    /// The same by endpoint, if there are two at least and [`ENDPOINTS_MAX`] at most. Empty in trials that an older
    /// version stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, OfEndpoint>,
    /// The statements of databases that the study names, if they were counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statements: BTreeMap<String, OfStatement>,
    /// The resources that were observed beside it, by name; empty if nothing was observed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, OfResource>,
    /// Whether the measurement can be trusted.
    #[serde(alias = "state")]
    pub validity: Validity,
    /// The warnings of its validity check.
    #[serde(alias = "reasons")]
    pub warnings: Vec<TrialWarning>,
    /// Whether the service was steady while it was measured; `None` if the trial was too short to tell.
    pub steady: Option<bool>,
    /// Open load: whether responses came about as fast as requests were due. `None` for a closed load, whose arrivals
    /// wait for responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_up: Option<bool>,
    /// Share of this machine's CPUs, 0 to 1, that was busy with anything while it was measured. `None` if the platform does
    /// not report it, and in trials that an older version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_busy: Option<f64>,
    /// Where the record is saved, if it is.
    pub record: Option<String>,
    /// On which CPUs it ran.
    #[serde(default, alias = "place", skip_serializing_if = "Placement::is_unknown")]
    pub placement: Placement,
}

/// Most endpoints of a trial whose figures are stored apart.
pub const ENDPOINTS_MAX: usize = 12;

/// What a trial measured of one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfEndpoint {
    /// Response times of its requests.
    pub times: ResponseTimes,
    /// The responses to the requests that came due while it was measured, and how many of them are errors.
    pub responses: Counted,
    /// Bytes of the bodies of these responses, as received.
    pub body_bytes: u64,
}

/// Executions of a statement of a database while a trial was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfStatement {
    /// How many ended.
    pub calls: u64,
    /// How long they took together.
    pub time: Nanos,
    /// About how many requests of the trial ended meanwhile.
    pub requests: f64,
}

impl Measured {
    /// The figures of a part of it, which measured as many requests, with the validity of the whole trial.
    pub(super) fn part(&self, figures: BTreeMap<Metric, Figure>, requests: u64) -> Self {
        Self {
            figures,
            requests,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            validity: self.validity,
            warnings: self.warnings.clone(),
            steady: self.steady,
            kept_up: self.kept_up,
            host_busy: self.host_busy,
            record: self.record.clone(),
            placement: self.placement.clone(),
        }
    }

    /// The responses and the errors among them; for trials that an older version stored, from the share of errors.
    pub(super) fn counted(&self) -> Counted {
        self.responses.unwrap_or_else(|| {
            let share = self.figures.get(&Metric::Errors).map_or(0.0, |share| share.value.clamp(0.0, 1.0));
            Counted { failed: (share * self.requests as f64).round() as u64, of: self.requests }
        })
    }

    /// The messages of its warnings in one text.
    pub fn messages(&self) -> String {
        self.warnings.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// One warning of a trial's validity check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredWarning")]
pub struct TrialWarning {
    /// Short, stable name of the rule, as `knee explain` takes it; empty in trials that an older version stored.
    pub code: String,
    /// What was seen, with its figure.
    pub message: String,
}

/// A warning that a study adds to those of the validity check.
#[derive(Clone, Copy, Debug)]
pub struct TrialRule {
    /// Short, stable name.
    pub code: &'static str,
    /// What it means, and what can be done.
    pub meaning: &'static str,
}

/// A script ended before the time that the study declares.
pub const CUT_SHORT: TrialRule = TrialRule {
    code: "cut_short",
    meaning: "The script's options end the script before the time of `measure` is over. The trial still counts, but it measured for a shorter time. Let the script take its duration from `{duration}`, make it last as long as `warm_up` and `measure` together, or declare a shorter time.",
};

/// Every warning that a study adds.
pub const TRIAL_RULES: &[TrialRule] = &[CUT_SHORT];

impl TrialWarning {
    /// A warning of the rule `code`.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// A warning in `trials.jsonl`; older versions stored only the message.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredWarning {
    Whole { code: String, message: String },
    Message(String),
}

impl From<StoredWarning> for TrialWarning {
    fn from(stored: StoredWarning) -> Self {
        match stored {
            StoredWarning::Whole { code, message } => Self { code, message },
            StoredWarning::Message(message) => Self { code: String::new(), message },
        }
    }
}

/// On which CPUs a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Placement {
    /// CPUs that each part could use, as in `0-1,3`, by [`GENERATOR`], `service.NAME`, `postgres.NAME` and
    /// `redis.NAME`. A part whose CPUs the system does not report is absent.
    pub cpus: BTreeMap<String, String>,
    /// Declared entries that are unavailable on this machine, each with the reason.
    #[serde(default, alias = "not_here")]
    pub unavailable: BTreeMap<String, String>,
    /// CPU weight of the generator, if it was preferred: it got this many times the CPU time of a service or store
    /// that wanted the same CPU.
    #[serde(default, alias = "generator_weight", skip_serializing_if = "Option::is_none")]
    pub generator_cpu_weight: Option<u32>,
}

/// The load generator, in [`Placement::cpus`].
pub const GENERATOR: &str = "generator";

impl Placement {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.cpus.is_empty() && self.unavailable.is_empty()
    }
}

/// A trial and its result, as callers store them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The trial.
    pub trial: Trial,
    /// Its result.
    #[serde(alias = "told")]
    pub result: TrialResult,
}

impl Entry {
    /// Whether it is a valid measurement.
    pub(super) fn is_valid(&self) -> bool {
        self.usable().is_some_and(|measured| measured.validity == Validity::Valid)
    }

    /// Its measurement, if usable.
    pub fn usable(&self) -> Option<&Measured> {
        match &self.result {
            TrialResult::Measured(measured) if measured.validity != Validity::Invalid => Some(measured),
            _ => None,
        }
    }
}
