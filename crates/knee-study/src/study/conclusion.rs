//! The conclusion: everything a report of a study shows, computed once.
//!
//! Does not lay anything out.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use serde::{Deserialize, Serialize};

pub use super::usable::{LostBlock, Spread};

use super::usable::UsableTrials;
use super::{
    Bound, Calibration, ClaimResult, Effect, Entry, GrowthResult, Relation, Study, TrialResult, bound, claim,
    effect, growth, wording,
};
use crate::definition::{Cell, DesignKind, Published};
use crate::metric::Metric;
use crate::statistics::sign_flip;
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
    /// Whether it was a quick one, which reports only large changes.
    pub quick: bool,
    /// Whether nothing was left to run.
    pub over: bool,
    /// Whether it doubled its blocks because a verdict was undecided.
    pub extended: bool,
    /// The seed of every order and every arrival.
    pub seed: u64,
    /// Blocks planned.
    pub blocks: usize,
    /// Chance of a false verdict in each comparison, all its metrics together.
    pub alpha: f64,
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
    /// How figures grow with the amount of data.
    pub growth: Vec<GrowthResult>,
    /// Results of the claims.
    pub claims: Vec<ClaimResult>,
    /// Published figures beside measured ones.
    pub published: Vec<PublishedResult>,
    /// The CPU bound of each variant whose CPU time per request is known.
    #[serde(default)]
    pub bounds: Vec<Bound>,
    /// Blocks without a usable trial of some variant and workload.
    pub lost: Vec<LostBlock>,
    /// What became of the trials.
    pub totals: Totals,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Every trial with its measurement.
    pub trials: Vec<Entry>,
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
    /// Requests measured in trials that count.
    pub requests: u64,
}

impl Conclusion {
    /// The confidence level of all intervals; `None` for a quick study, which divides its level among the measured
    /// metrics.
    pub fn confidence(&self) -> Option<f64> {
        (!self.quick).then_some(1.0 - self.alpha)
    }

    /// The noise of its A/A test, with the caller's description of the measurement; `None` if it had no A/A test.
    pub fn calibration(&self, of: impl Into<String>) -> Option<Calibration> {
        let twins = || self.effects.iter().filter(|effect| effect.relation == Relation::Aa);
        let mut calibration = Calibration { of: of.into(), ..Calibration::default() };
        for effect in twins().filter(|effect| effect.n_blocks > 1) {
            let known = calibration.deviations.entry(effect.metric).or_default();
            *known = known.max(effect.deviation);
            calibration.blocks = calibration.blocks.max(effect.n_blocks);
            let different = effect.verdict != Verdict::Same && effect.p_adjusted < ALPHA;
            if different && !calibration.suspicious.contains(&effect.metric) {
                calibration.suspicious.push(effect.metric);
            }
        }
        (!calibration.deviations.is_empty()).then_some(calibration)
    }
}

/// Draws the conclusion of a study.
pub(super) fn draw(study: &Study) -> Conclusion {
    let usable = UsableTrials::of(&study.entries);
    let (definition, design) = (&study.definition, &study.definition.design);
    let effects = effect::all(study);
    let claims = claim::all(study, &effects);
    let totals = totals(&study.entries);
    let mut conclusion = Conclusion {
        title: definition.title.clone(),
        question: definition.question.clone(),
        source: definition.source.clone(),
        kind: design.kind,
        quick: study.options.quick,
        over: study.is_over(),
        extended: study.extended,
        seed: design.seed,
        blocks: study.blocks,
        alpha: effect::alpha(study),
        metrics: design.metrics.clone(),
        variants: variants(study),
        workloads: definition.workloads.iter().map(|load| (load.name.clone(), load.text.clone())).collect(),
        timeline: timeline(study, &usable),
        effects,
        growth: growth::all(study),
        claims,
        published: definition
            .published
            .iter()
            .map(|published| against_published(&usable, published))
            .collect(),
        totals,
        bounds: bound::all(study, &usable),
        lost: usable.lost,
        notes: Vec::new(),
        trials: study.entries.clone(),
    };
    conclusion.notes = notes(study, &conclusion);
    conclusion
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
            let cell = Cell { variant: variant.name.clone(), workload: workload.name.clone() };
            for metric in Metric::ALL {
                if let Some(spread) = usable.spread(&cell, metric) {
                    rows.push(Row { cell: cell.clone(), metric, spread });
                }
            }
        }
    }
    rows
}

fn against_published(usable: &UsableTrials<'_>, published: &Published) -> PublishedResult {
    let measured = usable.spread(&published.cell, published.metric);
    let ratio = measured.filter(|_| published.value > 0.0).map(|spread| spread.median / published.value);
    PublishedResult { published: published.clone(), measured, ratio }
}

fn totals(entries: &[Entry]) -> Totals {
    let mut totals = Totals { trials: entries.len(), ..Totals::default() };
    for entry in entries {
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

fn notes(study: &Study, conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    if !conclusion.over {
        let left = wording::count(study.remaining(), "trial");
        notes.push(format!("unfinished: {left} left; the results can change"));
    }
    if conclusion.quick {
        notes.push("quick study: detects only changes of 25 % or more (errors: 5 points)".to_owned());
    }
    let tests = study.definition.design.metrics.len();
    if !conclusion.quick && sign_flip::least_p(study.blocks) * tests as f64 >= conclusion.alpha {
        let blocks = wording::count(study.blocks, "block");
        let metrics = wording::count(tests, "metric");
        notes.push(format!("{blocks} cannot decide {metrics}: use more blocks or fewer metrics"));
    }
    for variant in &conclusion.variants {
        if let Some(reason) = &variant.lost {
            notes.push(format!("variant {} was lost: {reason}", variant.name));
        }
    }
    let lost = conclusion.lost.len();
    if lost > 0 {
        notes.push(format!("{} lost: both attempts failed", wording::count(lost, "trial")));
    }
    if conclusion.totals.suspect > 0 {
        notes.push(format!("{} suspect; they count", wording::count(conclusion.totals.suspect, "trial")));
    }
    if conclusion.totals.unsteady > 0 {
        let unsteady = wording::count(conclusion.totals.unsteady, "trial");
        notes.push(format!("{unsteady} measured an unsteady service: try a longer warm-up"));
    }
    notes.extend(
        study.calibration.as_ref().map(|noise| noise.words(&study.definition.design.metrics, study.blocks)),
    );
    notes.extend(chance(conclusion));
    notes
}

/// Notes on the expected number of false verdicts among all comparisons, and on the result of the A/A test.
fn chance(conclusion: &Conclusion) -> Vec<String> {
    let mut notes = Vec::new();
    let mut pairs: Vec<_> = conclusion
        .effects
        .iter()
        .filter(|effect| effect.primary && effect.n_blocks > 0)
        .map(|e| (&e.from, &e.to))
        .collect();
    pairs.dedup();
    if pairs.len() > 10 {
        let expected = pairs.len() as f64 * 0.05;
        notes.push(format!("{} comparisons: expect up to {expected:.0} false positives", pairs.len()));
    }
    let twins: Vec<&Effect> = conclusion
        .effects
        .iter()
        .filter(|effect| effect.relation == Relation::Aa && effect.n_blocks > 0)
        .collect();
    let wrong = twins.iter().filter(|twin| matches!(twin.verdict, Verdict::Faster | Verdict::Slower)).count();
    if !twins.is_empty() {
        let tests = wording::count(twins.len(), "test");
        notes.push(format!("A/A test: different in {wrong} of {tests}"));
    }
    notes
}
