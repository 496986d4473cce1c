//! The conclusion: everything a report of a study shows, computed once.
//!
//! Does not lay anything out.

use std::collections::BTreeMap;

use knee_core::estimate::samples_needed;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

pub use super::usable::{LostBlock, Spread};

use super::times::{MergedTimes, ResponseTimes};
use super::usable::UsableTrials;
use super::{
    Bound, Calibration, ClaimResult, CpuUse, Effect, Entry, Figure, GrowthResult, Headline, Measured,
    ObservedResource, Relation, Study, TrialResult, bound, claim, cpus, effect, growth, resource,
};
use crate::definition::{Cell, DesignKind, Published};
use crate::metric::Metric;
use crate::statistics::power::Level;
use crate::statistics::verdict::{ALPHA, Verdict};

/// What a study showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Title of the report.
    pub title: String,
    /// The question of the study.
    pub question: Option<String>,
    /// URL of the story that it re-tests.
    pub source: Option<String>,
    /// How the variants were compared.
    pub kind: DesignKind,
    /// Whether it was a quick one, with few and short trials.
    pub quick: bool,
    /// Whether nothing was left to run.
    pub over: bool,
    /// Trials left, without later repeats and an extension.
    #[serde(default)]
    pub left: usize,
    /// Whether it doubled its blocks because a verdict was undecided.
    pub extended: bool,
    /// The seed of every order and every arrival.
    pub seed: u64,
    /// Blocks planned.
    pub blocks: usize,
    /// Chance of a false verdict in each comparison, all its metrics together, and among the primary comparisons of the
    /// study.
    pub alpha: f64,
    /// The fewest blocks that can give a verdict.
    pub least_blocks: usize,
    /// The metrics that get verdicts.
    pub metrics: Vec<Metric>,
    /// The variants, in the order of the study.
    pub variants: Vec<VariantSummary>,
    /// The workloads with what they are, in the order of the study.
    pub workloads: Vec<(String, String)>,
    /// The measurements of each variant: the timeline.
    pub timeline: Vec<Row>,
    /// Every comparison by every metric.
    pub effects: Vec<Effect>,
    /// The primary comparisons, the decisive one first.
    pub headline: Headline,
    /// Comparisons whose sides cannot differ.
    pub controls: Controls,
    /// How figures grow with the amount of data.
    pub growth: Vec<GrowthResult>,
    /// Results of the claims.
    pub claims: Vec<ClaimResult>,
    /// Published figures beside measured ones.
    pub published: Vec<PublishedResult>,
    /// The CPU bound of each variant whose CPU time per request is known.
    #[serde(default)]
    pub bounds: Vec<Bound>,
    /// Observed resources of each variant and workload, the fullest first; empty if nothing was observed.
    #[serde(default)]
    pub resources: Vec<ObservedResource>,
    /// Blocks without a usable trial of some variant and workload.
    pub lost: Vec<LostBlock>,
    /// What became of the trials.
    pub totals: Totals,
    /// How the CPUs were divided; `None` if knee started no service.
    #[serde(default)]
    pub cpus: Option<CpuUse>,
    /// The machine's noise, if it is known.
    pub noise: Option<Calibration>,
    /// Measured time of the trials of workloads that were lengthened after the first block.
    pub lengthened: BTreeMap<String, Nanos>,
    /// Every trial with its measurement.
    pub trials: Vec<Entry>,
}

/// Negative controls: A/A tests, and comparisons of switches that do not affect the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controls {
    /// Comparisons of two sides that cannot differ, with at least one metric measured and enough valid trials.
    pub comparisons: usize,
    /// Those in which some metric got a verdict of a difference: all of them are false.
    pub different: usize,
}

/// A variant of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// Its name.
    pub name: String,
    /// What it is.
    pub text: String,
    /// The switches that differ from the baseline, with their values.
    pub differs: BTreeMap<String, String>,
    /// The git revision, if it has one.
    pub revision: Option<String>,
    /// Why it was lost, if it was.
    pub lost: Option<String>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Variant and workload.
    pub cell: Cell,
    /// The metric.
    pub metric: Metric,
    /// Values of the blocks.
    pub spread: Spread,
    /// Of a percentile: that of the requests of all blocks together, if they are enough.
    #[serde(default)]
    pub merged: Option<Figure>,
    /// Of a percentile, if some requests did not succeed: that of the successful ones alone. It gets no verdict.
    #[serde(default)]
    pub successes: Option<f64>,
}

/// A published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedResult {
    /// What was published.
    pub published: Published,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Spread>,
    /// Measured median over published figure; `None` if either is missing or the published figure is zero.
    pub ratio: Option<f64>,
}

/// What became of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All that were run.
    pub trials: usize,
    /// Valid measurements.
    pub valid: usize,
    /// Suspect measurements; they count.
    pub suspect: usize,
    /// Measurements that do not count.
    pub invalid: usize,
    /// Trials in which the service died or did not come up.
    pub broken: usize,
    /// Trials that measured a service that was not steady.
    pub unsteady: usize,
    /// Trials that count, but were too short to show whether the service was steady.
    #[serde(default)]
    pub steady_unknown: usize,
    /// Trials that repeat another one, which neighbours on the host disturbed.
    #[serde(default)]
    pub repeats: usize,
    /// Requests measured in trials that count.
    pub requests: u64,
}

impl Conclusion {
    /// The confidence level of all intervals.
    pub const fn confidence(&self) -> f64 {
        1.0 - self.alpha
    }

    /// The noise of its A/A test, with the caller's description of the measurement; `None` if it had no A/A test.
    pub fn calibration(&self, of: impl Into<String>) -> Option<Calibration> {
        let twins = || self.effects.iter().filter(|effect| effect.relation == Relation::Aa);
        let mut calibration = Calibration { of: of.into(), ..Calibration::default() };
        for effect in twins().filter(|effect| effect.n_blocks > 1) {
            let known = calibration.deviations.entry(effect.metric).or_default();
            *known = known.max(effect.deviation);
            calibration.blocks = calibration.blocks.max(effect.n_blocks);
            let different =
                effect.verdict != Verdict::Same && effect.p_adjusted < ALPHA && effect.p_exact < ALPHA;
            if different && !calibration.suspicious.contains(&effect.metric) {
                calibration.suspicious.push(effect.metric);
            }
        }
        (!calibration.deviations.is_empty()).then_some(calibration)
    }
}

/// Draws the conclusion of a study.
pub(super) fn draw(study: &Study) -> Conclusion {
    let usable = UsableTrials::of(study);
    let (definition, design) = (&study.definition, &study.definition.design);
    let effects = effect::all(study);
    let claims = claim::all(study, &effects);
    let totals = totals(&study.entries);
    let lengthened = definition
        .workloads
        .iter()
        .filter_map(|workload| Some((workload.name.clone(), study.lengthened(&workload.name)?)));
    let alpha = effect::alpha(study);
    Conclusion {
        title: definition.title.clone(),
        question: definition.question.clone(),
        source: definition.source.clone(),
        kind: design.kind,
        quick: study.options.quick,
        over: study.is_over(),
        left: study.remaining(),
        extended: study.extended,
        seed: design.seed,
        blocks: study.blocks,
        alpha,
        least_blocks: Level { alpha, tests: 1 }.least_blocks(),
        metrics: design.metrics.clone(),
        variants: variants(study),
        workloads: definition.workloads.iter().map(|load| (load.name.clone(), load.text.clone())).collect(),
        timeline: timeline(study, &usable),
        headline: Headline::of(&effects),
        controls: controls(&effects),
        effects,
        growth: growth::all(study),
        claims,
        published: definition
            .published
            .iter()
            .map(|published| against_published(&usable, published))
            .collect(),
        totals,
        // The CPUs of agents are elsewhere, and nothing is known of them here.
        bounds: if study.options().fleet.is_empty() { bound::all(study, &usable) } else { Vec::new() },
        cpus: cpus::of(study, &usable),
        resources: resource::all(study, &usable),
        lost: usable.lost,
        noise: study.calibration.clone(),
        lengthened: lengthened.collect(),
        trials: study.entries.clone(),
    }
}

fn controls(effects: &[Effect]) -> Controls {
    let mut pairs: BTreeMap<(&Cell, &Cell), bool> = BTreeMap::new();
    let is_judged = |effect: &&Effect| effect.n_blocks > 0 && effect.verdict != Verdict::Open;
    for effect in effects.iter().filter(|effect| effect.inert).filter(is_judged) {
        *pairs.entry((&effect.from, &effect.to)).or_default() |= effect.verdict.is_difference();
    }
    let different = pairs.values().filter(|different| **different).count();
    Controls { comparisons: pairs.len(), different }
}

fn variants(study: &Study) -> Vec<VariantSummary> {
    let baseline = study.lineup.variants.first().map(|variant| &variant.switches);
    let differs = |switches: &BTreeMap<String, String>| {
        let other = |(name, value): &(&String, &String)| {
            baseline.and_then(|baseline| baseline.get(*name)) != Some(*value)
        };
        switches.iter().filter(other).map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let variants = study.lineup.variants.iter().map(|variant| VariantSummary {
        name: variant.name.clone(),
        text: variant.text.clone(),
        differs: differs(&variant.switches),
        revision: variant.revision.clone(),
        lost: study.lost.get(&variant.name).cloned(),
    });
    variants.collect()
}

/// Every metric that any trial measured, variant by variant within a workload.
fn timeline(study: &Study, usable: &UsableTrials<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in &study.definition.workloads {
        for variant in &study.lineup.variants {
            let cell = Cell::new(&variant.name, &workload.name);
            for metric in Metric::ALL {
                rows.extend(row(usable, &cell, metric));
            }
        }
    }
    rows
}

/// A metric of a cell, if any trial measured it, or all of them together did.
fn row(usable: &UsableTrials<'_>, cell: &Cell, metric: Metric) -> Option<Row> {
    let times: Vec<&ResponseTimes> = metric
        .quantile()
        .map_or_else(Vec::new, |_| usable.of_cell(cell).filter_map(|trial| trial.times.as_ref()).collect());
    let whole = MergedTimes::of(times.clone());
    let quantile = |times: &MergedTimes| {
        let q = metric.quantile().filter(|q| times.requests() >= samples_needed(*q))?;
        times.quantile(q)
    };
    let merged =
        quantile(&whole).filter(|_| usable.of_cell(cell).all(|trial: &Measured| trial.times.is_some()));
    let alone = |figure: Figure| Spread {
        n_blocks: times.len(),
        median: figure.value,
        low: figure.value,
        high: figure.value,
        at_least: figure.at_least,
    };
    // Blocks with too few requests for a percentile of their own are the slow ones: without them, the range is another.
    let of_all =
        usable.spread(cell, metric).filter(|spread| merged.is_none() || spread.n_blocks == times.len());
    let spread = of_all.or_else(|| merged.map(alone))?;
    let failed = whole.unsuccessful() > 0;
    let successes = merged.filter(|_| failed).and_then(|_| quantile(&whole.successes()));
    Some(Row { cell: cell.clone(), metric, spread, merged, successes: successes.map(|figure| figure.value) })
}

fn against_published(usable: &UsableTrials<'_>, published: &Published) -> PublishedResult {
    let measured = usable.spread(&published.cell, published.metric);
    let ratio = measured.filter(|_| published.value > 0.0).map(|spread| spread.median / published.value);
    PublishedResult { published: published.clone(), measured, ratio }
}

fn totals(entries: &[Entry]) -> Totals {
    let mut totals = Totals { trials: entries.len(), ..Totals::default() };
    for entry in entries {
        totals.repeats += usize::from(entry.trial.attempt > 1);
        let TrialResult::Measured(measured) = &entry.result else {
            totals.broken += 1;
            continue;
        };
        match measured.validity {
            Validity::Valid => totals.valid += 1,
            Validity::Suspect => totals.suspect += 1,
            Validity::Invalid => totals.invalid += 1,
        }
        if measured.validity != Validity::Invalid {
            totals.requests += measured.requests;
            totals.unsteady += usize::from(measured.steady == Some(false));
            totals.steady_unknown += usize::from(measured.steady.is_none());
        }
    }
    totals
}
