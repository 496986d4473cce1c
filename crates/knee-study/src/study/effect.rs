//! Effects: the change from one side of a comparison to the other, with its interval, its verdict and the reasons.
//!
//! Does not choose the comparisons (see [`super::lineup`]), does not calculate (see [`crate::estimand`]) and has no words.

use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::lineup::{Pairing, Relation};
use super::usable::UsableTrials;
use super::{Absence, Study, contrast, vouched};
use crate::definition::Cell;
use crate::estimand::{Censored, Contrast, Estimand, Missing, Rule};
use crate::metric::{Metric, Scale, Unit};
use crate::statistics::holm;
use crate::statistics::paired::ConfidenceInterval;
use crate::statistics::power::Level;
use crate::statistics::verdict::{self, Verdict};

/// Equivalence margin when none is given.
const MARGIN: f64 = 0.05;

/// The same for shares: an error budget of one in a thousand.
const MARGIN_OF_SHARES: f64 = 0.001;

/// A change that reports call large: what an undecided study can still exclude.
const LARGE: f64 = 0.25;

/// The same for shares.
const LARGE_OF_SHARES: f64 = 0.05;

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
    /// How blocks become one change; `None` without an estimate.
    pub contrast: Option<Contrast>,
    /// Which figures are lower bounds only.
    pub censored: Censored,
    /// Why there is no estimate.
    pub missing: Option<Missing>,
    /// Blocks in which both sides were measured.
    pub n_blocks: usize,
    /// The verdict on `to`.
    pub verdict: Verdict,
    /// What belongs beside the verdict.
    pub reasons: Vec<Reason>,
    /// The change from `from` to `to`; `None` without a block.
    pub change: Option<Estimate>,
    /// The change by the Hodges-Lehmann estimate, which is robust against single outliers.
    pub robust_change: Option<f64>,
    /// Equivalence margin, in the sense of `change`.
    pub margin: f64,
    /// Whether all of the interval is within the margin: a difference that is certain, and small.
    pub within_margin: bool,
    /// Minimum detectable effect of this many blocks by the rule of the verdict; `None` if they detect none.
    pub mde: Option<f64>,
    /// Number of blocks that would decide. Only if undecided, and `None` if there is no estimate.
    pub blocks_needed: Option<usize>,
    /// Two-sided p of no difference by Student's test.
    pub p: f64,
    /// The same after Holm's correction for the tests that it is corrected with.
    pub p_adjusted: f64,
    /// Two-sided p of no difference by the exact test.
    pub p_exact: f64,
    /// How many tests it is corrected with.
    pub tests: usize,
    /// Standard deviation of the blocks' contributions, on the scale of the metric.
    pub deviation: f64,
    /// The contribution of each block to the change, on that scale (for ratios the natural logarithm).
    pub differences: Vec<f64>,
    /// The blocks of those.
    pub blocks: Vec<usize>,
    /// Blocks whose removal changes the verdict.
    pub moved_by: Vec<usize>,
    /// The published change, if figures of both sides were published.
    pub published: Option<f64>,
    /// Whether it is one of the study's primary comparisons, which are corrected together: a comparison of the design by
    /// the first metric, or, where the design has none, one of a claim.
    pub primary: bool,
    /// Whether the two sides cannot differ: an A/A test, or switches that do not affect the workload. A negative control.
    pub inert: bool,
}

/// What belongs beside a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// The verdict is open: a side has no valid trial, or too few, as a claim says it.
    NotValid {
        /// The side.
        cell: Cell,
        /// Why.
        absence: Absence,
    },
    /// With fewer blocks than these, chance alone can produce the most extreme result.
    TooFewBlocks {
        /// The fewest that give a verdict.
        needed: usize,
    },
    /// The interval excludes no change, but so many tests find one like it by chance.
    Corrected {
        /// How many are corrected together.
        tests: usize,
    },
    /// Undecided, but all of the interval is within a large change.
    NotLarge {
        /// That change.
        change: f64,
    },
    /// The difference is certain, and smaller than the margin.
    WithinMargin,
    /// Some figure is a lower bound: requests did not succeed.
    LowerBound {
        /// Of which side.
        side: Censored,
    },
    /// Some blocks lie far to one side.
    Skewed {
        /// The robust estimate of the change.
        robust: f64,
    },
    /// Without one of these blocks, the verdict changes.
    DependsOn {
        /// From 0.
        blocks: Vec<usize>,
    },
    /// Blocks vary over twice as much as at calibration.
    NoisierThanCalibrated,
    /// Trials of an older version have no times that could be merged, so the percentiles of each block are compared.
    NotMerged,
}

impl Effect {
    /// Whether `to` is certainly worse, with a point estimate beyond the margin: a reason for a pipeline to stop.
    /// Compares on the scale of the metric, so that falling rates and rising times are treated alike.
    pub fn is_regression(&self) -> bool {
        self.verdict == Verdict::Worse && self.distance() > self.metric.scaled_margin(self.margin)
    }

    /// How far the estimate is from no change, on the scale of the metric; 0 without an estimate.
    pub fn distance(&self) -> f64 {
        self.change.map_or(0.0, |change| match self.metric.scale() {
            Scale::Difference => change.estimate.abs(),
            Scale::Ratio => change.estimate.ln_1p().abs(),
        })
    }
}

/// All effects of a study, in the order of its comparisons.
pub(super) fn all(study: &Study) -> Vec<Effect> {
    let usable = UsableTrials::of(study);
    let mut found: Vec<Comparison<'_>> =
        study.lineup.pairings.iter().flat_map(|pairing| Comparison::all(study, &usable, pairing)).collect();
    correct_together(&mut found);
    found.into_iter().map(|comparison| comparison.effect(study)).collect()
}

/// The level of the tests of a study.
pub(super) const fn alpha(study: &Study) -> f64 {
    if study.can_extend() { verdict::ALPHA_OF_TWO } else { verdict::ALPHA }
}

/// The equivalence margin, as users state it.
pub(super) fn margin(study: &Study, metric: Metric) -> f64 {
    if let Some(margin) = study.definition.design.margin_of(metric) {
        return margin;
    }
    let margin = if metric.unit() == Unit::Share { MARGIN_OF_SHARES } else { MARGIN };
    let least = study.calibration.as_ref().and_then(|known| known.least_margin(metric, study.blocks));
    margin.max(least.unwrap_or_default())
}

/// One metric of a pairing, before its verdict.
struct Comparison<'a> {
    pairing: &'a Pairing,
    metric: Metric,
    found: Result<Estimand, Missing>,
    primary: bool,
    p: f64,
    p_adjusted: f64,
    tests: usize,
}

impl<'a> Comparison<'a> {
    /// The metrics of one pairing, which are corrected together.
    fn all(study: &Study, usable: &UsableTrials<'_>, pairing: &'a Pairing) -> Vec<Self> {
        let measure = study.measure_of(&pairing.to.workload);
        let found: Vec<_> = pairing
            .metrics
            .iter()
            .map(|metric| contrast::change(usable, (&pairing.from, &pairing.to), *metric, measure))
            .collect();
        let p: Vec<f64> = found.iter().map(|found| found.as_ref().map_or(1.0, Estimand::p)).collect();
        let tests = found.iter().filter(|found| found.is_ok()).count();
        let measured: Vec<f64> =
            found.iter().zip(&p).filter(|(found, _)| found.is_ok()).map(|(_, p)| *p).collect();
        let mut adjusted = holm::adjust(&measured).into_iter();
        let first = study.definition.design.metrics.first();
        let by_claims = study.lineup.compares_by_claims_alone();
        let is_asked = |metric: &Metric| {
            if by_claims {
                pairing.relation == Relation::Claim
            } else {
                pairing.is_of_design() && Some(metric) == first
            }
        };
        let comparisons = pairing.metrics.iter().zip(found).zip(p).map(|((metric, found), p)| Self {
            pairing,
            metric: *metric,
            p_adjusted: if found.is_ok() { adjusted.next().unwrap_or(1.0) } else { 1.0 },
            found,
            primary: is_asked(metric) && !pairing.inert,
            p,
            tests,
        });
        comparisons.collect()
    }

    fn effect(self, study: &Study) -> Effect {
        let level = Level { alpha: alpha(study), tests: self.tests.max(1) };
        let rule = Rule { level, margin: self.metric.scaled_margin(margin(study, self.metric)) };
        let bare = self.bare(study);
        match self.found {
            Ok(estimand) => judged(study, &estimand, &rule, bare),
            Err(missing) => Effect { missing: Some(missing), ..bare },
        }
    }

    /// The effect without what the blocks say.
    fn bare(&self, study: &Study) -> Effect {
        let (pairing, metric) = (self.pairing, self.metric);
        Effect {
            from: pairing.from.clone(),
            to: pairing.to.clone(),
            relation: pairing.relation.clone(),
            metric,
            contrast: None,
            censored: Censored::No,
            missing: None,
            n_blocks: 0,
            verdict: Verdict::Undecided,
            reasons: Vec::new(),
            change: None,
            robust_change: None,
            margin: margin(study, metric),
            within_margin: false,
            mde: None,
            blocks_needed: None,
            p: self.p,
            p_adjusted: self.p_adjusted,
            p_exact: 1.0,
            tests: self.tests,
            deviation: 0.0,
            differences: Vec::new(),
            blocks: Vec::new(),
            moved_by: Vec::new(),
            published: published(study, pairing, metric),
            primary: self.primary,
            inert: pairing.inert,
        }
    }
}

/// Corrects the primary comparisons together, on top of the correction within each.
fn correct_together(comparisons: &mut [Comparison<'_>]) {
    let mut primary: Vec<&mut Comparison<'_>> =
        comparisons.iter_mut().filter(|comparison| comparison.primary && comparison.found.is_ok()).collect();
    let p: Vec<f64> = primary.iter().map(|comparison| comparison.p).collect();
    for (comparison, adjusted) in primary.iter_mut().zip(holm::adjust(&p)) {
        comparison.p_adjusted = comparison.p_adjusted.max(adjusted);
        comparison.tests = comparison.tests.max(p.len());
    }
}

fn judged(study: &Study, estimand: &Estimand, rule: &Rule, bare: Effect) -> Effect {
    let metric = bare.metric;
    let p_exact = estimand.exact_p(study.definition.design.seed);
    let open = not_valid(study, &bare);
    let verdict =
        if open.is_some() { Verdict::Open } else { estimand.verdict(bare.p_adjusted, p_exact, rule) };
    let interval = estimand.interval(rule.level.alpha);
    let moved = estimand.moved_by(rule);
    let undecided = verdict == Verdict::Undecided;
    // Too few blocks give no verdict, with one of them or without it.
    let too_few = estimand.blocks().len() < rule.level.least_blocks();
    let is_moved = open.is_none() && !(undecided && (too_few || moved.len() > 1));
    let moved_by = if is_moved { moved } else { Vec::new() };
    let bounded = |end: f64| end.is_finite().then(|| metric.as_change(end));
    let mut effect = Effect {
        contrast: Some(estimand.contrast()),
        censored: estimand.censored(),
        n_blocks: estimand.blocks().len(),
        verdict,
        change: Some(Estimate {
            estimate: metric.as_change(estimand.estimate()),
            low: bounded(interval.low),
            high: bounded(interval.high),
        }),
        robust_change: Some(metric.as_change(estimand.robust())),
        within_margin: interval.within(rule.margin),
        mde: estimand.mde(rule).map(|mde| metric.as_change(mde)),
        blocks_needed: if undecided { estimand.blocks_needed(rule) } else { None },
        p_exact,
        deviation: estimand.deviation(),
        differences: estimand.contributions().to_vec(),
        blocks: estimand.blocks().to_vec(),
        moved_by,
        ..bare
    };
    effect.reasons = open.into_iter().chain(reasons(study, estimand, rule, &interval, &effect)).collect();
    effect
}

/// The first side of which too few trials are valid, as the reason for an open verdict.
fn not_valid(study: &Study, effect: &Effect) -> Option<Reason> {
    let sides = [&effect.from, &effect.to];
    let open = |cell: &Cell| {
        vouched::absence(study, cell).map(|absence| Reason::NotValid { cell: cell.clone(), absence })
    };
    sides.into_iter().find_map(open)
}

fn reasons(
    study: &Study,
    estimand: &Estimand,
    rule: &Rule,
    interval: &ConfidenceInterval,
    effect: &Effect,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let undecided = effect.verdict == Verdict::Undecided;
    let needed = rule.level.least_blocks();
    let too_few = effect.n_blocks < needed;
    if undecided && too_few {
        reasons.push(Reason::TooFewBlocks { needed });
    } else if undecided && interval.excludes(0.0) {
        reasons.push(Reason::Corrected { tests: effect.tests });
    }
    let large = if effect.metric.unit() == Unit::Share { LARGE_OF_SHARES } else { LARGE };
    // An interval of too few blocks excludes no change either.
    let is_small = !too_few && interval.within(effect.metric.scaled_margin(large));
    if undecided && study.options.quick && is_small {
        reasons.push(Reason::NotLarge { change: large });
    }
    if effect.within_margin && effect.verdict.is_difference() {
        reasons.push(Reason::WithinMargin);
    }
    if effect.censored != Censored::No {
        reasons.push(Reason::LowerBound { side: effect.censored });
    }
    if estimand.is_skewed() {
        reasons.push(Reason::Skewed { robust: effect.robust_change.unwrap_or_default() });
    }
    if !effect.moved_by.is_empty() {
        reasons.push(Reason::DependsOn { blocks: effect.moved_by.clone() });
    }
    // The calibration measured all requests together.
    let calibration = study.calibration.as_ref().filter(|_| !effect.to.is_part());
    let stored = calibration.and_then(|known| known.deviations.get(&effect.metric));
    if stored.is_some_and(|stored| *stored > 0.0 && estimand.deviation() > 2.0 * stored) {
        reasons.push(Reason::NoisierThanCalibrated);
    }
    if effect.metric.quantile().is_some() && estimand.contrast() == Contrast::PerBlock {
        reasons.push(Reason::NotMerged);
    }
    reasons
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
    match metric.scale() {
        Scale::Difference => Some(to - from),
        Scale::Ratio => (from > 0.0).then(|| to / from - 1.0),
    }
}
