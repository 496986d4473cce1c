//! Effects: the change from one side of a comparison to the other, with its interval and verdict.
//!
//! Does not choose the comparisons; see [`super::lineup`].

use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::lineup::Pairing;
use super::usable::UsableTrials;
use super::{Relation, Study, wording};
use crate::definition::Cell;
use crate::metric::{Metric, Unit};
use crate::statistics::paired::Paired;
use crate::statistics::verdict::{self, Rule, Verdict};
use crate::statistics::{holm, location, power, sign_flip};

/// Equivalence margin when none is given.
const MARGIN: f64 = 0.05;

/// The same for shares: an error budget of one in a thousand.
const MARGIN_OF_SHARES: f64 = 0.001;

/// The smallest change that a quick study detects.
const MARGIN_QUICK: f64 = 0.25;

/// The same for shares.
const MARGIN_QUICK_OF_SHARES: f64 = 0.05;

/// Skewness beyond which reports also show a robust estimate.
const SKEWED: f64 = 1.0;

/// One comparison by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The first side.
    pub from: Cell,
    /// The second side, which is judged.
    pub to: Cell,
    /// Why the two are compared.
    pub relation: Relation,
    /// By what.
    pub metric: Metric,
    /// Blocks in which both sides were measured.
    pub n_blocks: usize,
    /// The verdict on `to`.
    pub verdict: Verdict,
    /// The change from `from` to `to`; `None` without a block.
    pub change: Option<Estimate>,
    /// The change by the Hodges-Lehmann estimate, which is robust against single outliers.
    pub robust_change: Option<f64>,
    /// Equivalence margin, in the sense of `change`.
    pub margin: f64,
    /// Whether all of the interval is within the margin: a difference that is certain, and small.
    pub within_margin: bool,
    /// Minimum detectable effect of this many blocks; `None` below two blocks.
    pub mde: Option<f64>,
    /// Estimated number of blocks for a verdict. Only if undecided, and `None` if no practical number suffices.
    pub blocks_needed: Option<usize>,
    /// Exact two-sided p of no difference.
    pub p: f64,
    /// The same after Holm's correction for the metrics of this comparison.
    pub p_adjusted: f64,
    /// Standard deviation of the blocks' differences, on the scale of the differences.
    pub deviation: f64,
    /// The difference of each block, on that scale (for ratios the natural logarithm).
    pub differences: Vec<f64>,
    /// The blocks of those.
    pub blocks: Vec<usize>,
    /// Blocks whose removal changes the verdict.
    pub moved_by: Vec<usize>,
    /// The published change, if figures of both sides were published.
    pub published: Option<f64>,
    /// Whether it is one of the study's main comparisons.
    pub primary: bool,
    /// Notes.
    pub notes: Vec<String>,
}

impl Effect {
    /// Whether `to` is certainly worse, with a point estimate beyond the margin: a reason for a pipeline to stop.
    /// Compares on the scale of the differences, so that falling rates and rising times are treated alike.
    pub fn is_regression(&self) -> bool {
        self.verdict == Verdict::Slower
            && location::mean(&self.differences).abs() > self.metric.scaled_margin(self.margin)
    }
}

/// All effects of a study, in the order of its comparisons.
pub(super) fn all(study: &Study) -> Vec<Effect> {
    let usable = UsableTrials::of(&study.entries);
    study.lineup.pairings.iter().flat_map(|pairing| of_pairing(study, &usable, pairing)).collect()
}

/// The level of the tests of a study.
pub(super) const fn alpha(study: &Study) -> f64 {
    if study.can_extend() { verdict::ALPHA_OF_TWO } else { verdict::ALPHA }
}

/// The confidence level of all intervals; `None` for a quick study, which divides its level among the measured metrics.
pub(super) fn confidence(study: &Study) -> Option<f64> {
    (!study.options.quick).then(|| 1.0 - alpha(study))
}

/// The equivalence margin, as users state it.
pub(super) fn margin(study: &Study, metric: Metric) -> f64 {
    let share = metric.unit() == Unit::Share;
    if study.options.quick {
        return if share { MARGIN_QUICK_OF_SHARES } else { MARGIN_QUICK };
    }
    if let Some(margin) = study.definition.design.margin_of(metric) {
        return margin;
    }
    let margin = if share { MARGIN_OF_SHARES } else { MARGIN };
    let least = study.calibration.as_ref().and_then(|known| known.least_margin(metric, study.blocks));
    margin.max(least.unwrap_or_default())
}

/// The effects of one comparison: its metrics are tested together.
fn of_pairing(study: &Study, usable: &UsableTrials<'_>, pairing: &Pairing) -> Vec<Effect> {
    let compared: Vec<Compared> =
        pairing.metrics.iter().map(|metric| Compared::new(usable, pairing, *metric)).collect();
    let p_values: Vec<f64> = compared
        .iter()
        .filter_map(|compared| compared.paired.as_ref())
        .map(|paired| sign_flip::p_value(paired.differences(), study.definition.design.seed))
        .collect();
    let mut tested = p_values.iter().copied().zip(holm::adjust(&p_values));
    let together = p_values.len();
    let mut effects = Vec::new();
    for compared in compared {
        let measured = compared.paired.clone().zip(compared.paired.as_ref().and_then(|_| tested.next()));
        effects.push(match measured {
            Some((paired, p)) => judged(study, pairing, &compared, &paired, p, together),
            None => unmeasured(study, pairing, compared.metric),
        });
    }
    effects
}

/// One metric of a comparison, block by block.
struct Compared {
    metric: Metric,
    paired: Option<Paired>,
    blocks: Vec<usize>,
    /// Mean value of `from` on the scale of the differences.
    level: f64,
    at_least: bool,
}

impl Compared {
    fn new(usable: &UsableTrials<'_>, pairing: &Pairing, metric: Metric) -> Self {
        let (mut blocks, mut levels, mut differences, mut at_least) =
            (Vec::new(), Vec::new(), Vec::new(), false);
        for (block, from) in usable.figures(&pairing.from, metric) {
            let Some(to) = usable.figure(block, &pairing.to, metric) else { continue };
            if let (Some(before), Some(after)) = (metric.scaled(from.value), metric.scaled(to.value)) {
                blocks.push(block);
                levels.push(before);
                differences.push(after - before);
                at_least |= from.at_least || to.at_least;
            }
        }
        let level = if levels.is_empty() { 0.0 } else { location::mean(&levels) };
        Self { metric, paired: Paired::new(differences), blocks, level, at_least }
    }

    /// Converts a value on the scale of the differences to a change.
    fn change(&self, difference: f64) -> f64 {
        match self.metric.unit() {
            Unit::Share => self.metric.unscaled(self.level + difference) - self.metric.unscaled(self.level),
            _ => difference.exp_m1(),
        }
    }

    fn bounded(&self, difference: f64) -> Option<f64> {
        difference.is_finite().then(|| self.change(difference))
    }
}

fn rule(study: &Study, metric: Metric, together: usize) -> Rule {
    // A quick study has too few blocks for Holm's correction of the exact test, so its intervals are wider instead.
    let quick = study.options.quick;
    let alpha = if quick { verdict::ALPHA / together.max(1) as f64 } else { alpha(study) };
    Rule {
        alpha,
        margin: metric.scaled_margin(margin(study, metric)),
        large_only: quick,
        more_is_better: metric.more_is_better(),
    }
}

fn judged(
    study: &Study,
    pairing: &Pairing,
    compared: &Compared,
    paired: &Paired,
    (p, p_adjusted): (f64, f64),
    together: usize,
) -> Effect {
    let (metric, rule) = (compared.metric, rule(study, compared.metric, together));
    let certain = if study.options.quick { f64::from(p >= verdict::ALPHA) } else { p_adjusted };
    let verdict = verdict::read(paired, certain, &rule);
    let interval = paired.interval(rule.alpha);
    let moved = paired.moved_by(|paired| verdict::by_interval(paired, &rule));
    let moved = if verdict == Verdict::Undecided && moved.len() > 1 { Vec::new() } else { moved };
    let mde = power::mde(paired.deviation(), paired.n_blocks(), rule.alpha);
    let mut effect = Effect {
        n_blocks: paired.n_blocks(),
        verdict,
        change: Some(Estimate {
            estimate: compared.change(paired.mean()),
            low: compared.bounded(interval.low),
            high: compared.bounded(interval.high),
        }),
        robust_change: Some(compared.change(location::hodges_lehmann(paired.differences()))),
        within_margin: interval.within(rule.margin),
        mde: mde.is_finite().then(|| match metric.unit() {
            Unit::Share => metric.unscaled(mde),
            _ => mde.exp_m1(),
        }),
        blocks_needed: if verdict == Verdict::Undecided { needed(paired, &rule, together) } else { None },
        p,
        p_adjusted,
        deviation: paired.deviation(),
        differences: paired.differences().to_vec(),
        moved_by: moved.into_iter().map(|position| compared.blocks[position]).collect(),
        blocks: compared.blocks.clone(),
        ..unmeasured(study, pairing, metric)
    };
    effect.notes = notes(study, compared, paired, &effect);
    effect
}

/// An effect without data.
fn unmeasured(study: &Study, pairing: &Pairing, metric: Metric) -> Effect {
    Effect {
        from: pairing.from.clone(),
        to: pairing.to.clone(),
        relation: pairing.relation.clone(),
        metric,
        n_blocks: 0,
        verdict: Verdict::Undecided,
        change: None,
        robust_change: None,
        margin: margin(study, metric),
        within_margin: false,
        mde: None,
        blocks_needed: None,
        p: 1.0,
        p_adjusted: 1.0,
        deviation: 0.0,
        differences: Vec::new(),
        blocks: Vec::new(),
        moved_by: Vec::new(),
        published: published(study, pairing, metric),
        primary: !matches!(pairing.relation, Relation::Claim | Relation::Aa),
        notes: vec!["no block measured both sides".to_owned()],
    }
}

/// Estimated number of blocks for a verdict: enough to detect the distance to the nearer of the two possible verdicts,
/// and enough for the exact test to become significant.
fn needed(paired: &Paired, rule: &Rule, together: usize) -> Option<usize> {
    let distance = paired.mean().abs().max(rule.margin - paired.mean().abs());
    let by_spread = power::blocks_needed(paired.deviation(), distance, rule.alpha)?;
    let speaks = |n_blocks: &usize| sign_flip::least_p(*n_blocks) * (together.max(1) as f64) < rule.alpha;
    let least = (2..power::BLOCKS_MAX).find(speaks)?;
    Some(by_spread.max(least).max(paired.n_blocks() + 1))
}

fn published(study: &Study, pairing: &Pairing, metric: Metric) -> Option<f64> {
    let figure = |cell: &Cell| {
        let known = study.definition.published.iter();
        known
            .filter(|figure| figure.metric == metric && figure.cell == *cell)
            .map(|figure| figure.value)
            .next()
    };
    let (from, to) = (figure(&pairing.from)?, figure(&pairing.to)?);
    match metric.unit() {
        Unit::Share => Some(to - from),
        _ => (from > 0.0).then(|| to / from - 1.0),
    }
}

fn notes(study: &Study, compared: &Compared, paired: &Paired, effect: &Effect) -> Vec<String> {
    let mut notes = Vec::new();
    if compared.at_least {
        notes.push("lower bound: requests were given up before they ended".to_owned());
    }
    if paired.n_blocks() >= 5 && location::skewness(paired.differences()).abs() > SKEWED {
        let robust = wording::change(effect.metric, effect.robust_change.unwrap_or_default());
        notes.push(format!("skewed blocks; robust estimate {robust}"));
    }
    if !effect.moved_by.is_empty() {
        let blocks: Vec<String> = effect.moved_by.iter().map(|block| (block + 1).to_string()).collect();
        notes.push(format!("without block {} the verdict changes", blocks.join(" or ")));
    }
    if effect.within_margin && matches!(effect.verdict, Verdict::Faster | Verdict::Slower) {
        notes.push("significant, but within the margin".to_owned());
    }
    let stored = study.calibration.as_ref().and_then(|known| known.deviations.get(&effect.metric));
    if stored.is_some_and(|stored| *stored > 0.0 && paired.deviation() > 2.0 * stored) {
        notes.push("blocks vary over twice as much as in the calibration".to_owned());
    }
    notes
}
