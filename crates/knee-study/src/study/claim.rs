//! Claims: confirmed, refuted, undecided, or not to be tested here.
//!
//! Does not measure anything; it reads effects and figures.

use serde::{Deserialize, Serialize};

use super::usable::UsableTrials;
use super::{Effect, Entry, Figure, Study, effect, measured, wording};
use crate::definition::{Cell, Claim, Expectation, Test};
use crate::metric::{Metric, Unit};
use crate::statistics::paired::Paired;
use crate::statistics::sign_flip;
use crate::statistics::verdict::{ALPHA, Verdict};

/// Result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It holds here.
    Confirmed,
    /// It does not hold here.
    Refuted,
    /// The measurements do not decide it.
    Undecided,
    /// No measurement here can decide it.
    Untestable,
}

impl ClaimVerdict {
    /// The words shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
            Self::Untestable => "not testable",
        }
    }
}

/// A claim and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Its short name.
    pub id: String,
    /// The statement.
    pub text: String,
    /// What became of it.
    pub verdict: ClaimVerdict,
    /// Why, with the figures.
    pub why: String,
}

/// All claims of a study, in the order of its file.
pub(super) fn all(study: &Study, effects: &[Effect]) -> Vec<ClaimResult> {
    let usable = UsableTrials::of(&study.entries);
    study.definition.claims.iter().map(|claim| judged(study, &usable, effects, claim)).collect()
}

fn judged(study: &Study, usable: &UsableTrials<'_>, effects: &[Effect], claim: &Claim) -> ClaimResult {
    let (verdict, why) = match &claim.test {
        Test::Untestable(reason) => (ClaimVerdict::Untestable, reason.clone()),
        Test::Comparison { from, to, metric, expect, at_least } => {
            let found = effects
                .iter()
                .find(|effect| (&effect.from, &effect.to, &effect.metric) == (from, to, metric));
            match found.filter(|effect| effect.n_blocks > 0) {
                Some(effect) => compared(study, effect, *expect, *at_least),
                None => (ClaimVerdict::Undecided, absent(study, usable, &[from, to], *metric)),
            }
        }
        Test::Bound { cell, metric, below, above } => bounded(study, usable, cell, *metric, (*below, *above)),
    };
    ClaimResult { id: claim.id.clone(), text: claim.text.clone(), verdict, why }
}

/// Why there is no basis for a judgement.
fn absent(study: &Study, usable: &UsableTrials<'_>, cells: &[&Cell], metric: Metric) -> String {
    for cell in cells {
        if let Some(reason) = study.lost.get(&cell.variant) {
            return format!("variant {} was lost: {reason}", cell.variant);
        }
        if !study.lineup.variants.iter().any(|variant| variant.name == cell.variant) {
            return format!("variant {} did not take part", cell.variant);
        }
    }
    for cell in cells {
        let tried: Vec<&Entry> = study.entries.iter().filter(|entry| entry.trial.is_of(cell)).collect();
        if let Some(last) = tried.last().filter(|_| tried.iter().all(|entry| entry.usable().is_none())) {
            let trials = wording::count(tried.len(), "trial");
            let why = super::usable::why(&last.result);
            return format!("{}, {}: {trials}, none usable: {why}", cell.variant, cell.workload);
        }
    }
    let small = |cell: &&Cell| {
        let why = measured::too_few(metric, usable.largest(cell))?;
        Some(format!("{}, {}: {why}", cell.variant, cell.workload))
    };
    cells.iter().find_map(small).unwrap_or_else(|| "no block measured this metric".to_owned())
}

/// The figure of a single block, without an interval.
fn alone(cell: &Cell, metric: Metric, figure: Figure) -> String {
    let least = if figure.at_least { "at least " } else { "" };
    let value = wording::figure(metric, figure.value);
    format!("{metric}, {}, {}: {least}{value} (1 block); a verdict needs 2", cell.variant, cell.workload)
}

/// The fewest blocks that can show any difference: with fewer, chance alone can produce the most extreme result of the
/// exact test.
fn least_blocks(study: &Study) -> usize {
    let quick = study.options.quick;
    let together = if quick { 1 } else { study.definition.design.metrics.len().max(1) };
    let level = if quick { ALPHA } else { effect::alpha(study) };
    (2..64).find(|blocks| sign_flip::least_p(*blocks) * (together as f64) < level).unwrap_or(64)
}

fn compared(
    study: &Study,
    effect: &Effect,
    expect: Expectation,
    at_least: Option<f64>,
) -> (ClaimVerdict, String) {
    let verdict = match (expect, effect.verdict) {
        // All that a quick study says by "same" is that there is no large change.
        (_, Verdict::Same) if study.options.quick => ClaimVerdict::Undecided,
        (_, Verdict::Undecided) => ClaimVerdict::Undecided,
        (Expectation::Same, Verdict::Same) => ClaimVerdict::Confirmed,
        (Expectation::Same, _) if effect.within_margin => ClaimVerdict::Confirmed,
        (Expectation::Faster, Verdict::Faster) | (Expectation::Slower, Verdict::Slower) => {
            ClaimVerdict::Confirmed
        }
        _ => ClaimVerdict::Refuted,
    };
    let verdict = match at_least {
        Some(factor) => by_factor(study, effect, expect, factor, verdict),
        None => verdict,
    };
    (verdict, sentence(study, effect, at_least, verdict))
}

/// A factor is reached if the whole interval is beyond it, and missed if no part of it is.
fn by_factor(
    study: &Study,
    effect: &Effect,
    expect: Expectation,
    factor: f64,
    otherwise: ClaimVerdict,
) -> ClaimVerdict {
    let Some(paired) = Paired::new(effect.differences.clone()) else { return ClaimVerdict::Undecided };
    let interval = paired.interval(effect::alpha(study));
    let rising = effect.metric.more_is_better() == (expect == Expectation::Faster);
    let (least, most) = if rising { (interval.low, interval.high) } else { (-interval.high, -interval.low) };
    match otherwise {
        ClaimVerdict::Confirmed if least >= factor.ln() => ClaimVerdict::Confirmed,
        _ if most < factor.ln() => ClaimVerdict::Refuted,
        ClaimVerdict::Confirmed => ClaimVerdict::Undecided,
        other => other,
    }
}

/// The measurement, in words. Omits the block estimate of decided claims.
fn sentence(study: &Study, effect: &Effect, at_least: Option<f64>, claim: ClaimVerdict) -> String {
    let open = claim == ClaimVerdict::Undecided;
    let few = effect.verdict == Verdict::Undecided && effect.n_blocks < least_blocks(study);
    let found = match effect.verdict {
        Verdict::Undecided if !open => String::new(),
        _ => format!(
            ", {}",
            wording::verdict(effect.metric, effect.verdict, effect.margin, study.options.quick)
        ),
    };
    let change = effect.change.map_or_else(String::new, |change| {
        let confidence = effect::confidence(study);
        let change = wording::estimate(effect.metric, &change, confidence, effect.n_blocks);
        format!(": {change}{found}")
    });
    let claimed = at_least.map_or_else(String::new, |factor| format!("; claimed: {factor}×"));
    let needed = match (effect.verdict, effect.blocks_needed) {
        _ if !open => String::new(),
        _ if few => format!("; a verdict needs {} blocks", least_blocks(study)),
        (Verdict::Undecided, Some(blocks)) => format!("; ~{blocks} blocks needed"),
        (Verdict::Undecided, None) => "; no practical number of blocks decides it".to_owned(),
        _ => String::new(),
    };
    format!("{}, {}{change}{claimed}{needed}", effect.metric, sides(effect))
}

/// Both sides of an effect: `best vs stock, index`.
fn sides(effect: &Effect) -> String {
    let (from, to) = (&effect.from, &effect.to);
    let versus = |from: &str, to: &str| if from == to { to.to_owned() } else { format!("{to} vs {from}") };
    format!("{}, {}", versus(&from.variant, &to.variant), versus(&from.workload, &to.workload))
}

/// A claim about one cell: compares the interval of the mean of its blocks with the bound.
fn bounded(
    study: &Study,
    usable: &UsableTrials<'_>,
    cell: &Cell,
    metric: Metric,
    (below, above): (Option<f64>, Option<f64>),
) -> (ClaimVerdict, String) {
    let figures = usable.figures(cell, metric);
    let at_least = figures.iter().any(|(_, figure)| figure.at_least);
    let positions: Vec<f64> = figures.iter().filter_map(|(_, figure)| metric.scaled(figure.value)).collect();
    let Some(paired) = Paired::new(positions).filter(|paired| paired.n_blocks() > 1) else {
        let why = match figures.first() {
            Some((_, figure)) => alone(cell, metric, *figure),
            None => absent(study, usable, &[cell], metric),
        };
        return (ClaimVerdict::Undecided, why);
    };
    let interval = paired.interval(ALPHA);
    let (low, mut high) = (metric.unscaled(interval.low), metric.unscaled(interval.high));
    if metric.unit() == Unit::Share && paired.mean() <= 0.0 {
        // None in n: with 95 % fewer than 3 in n (Hanley and Lippman-Hand, JAMA 249, 1983).
        high = high.max(3.0 / usable.requests(cell).max(3) as f64);
    }
    let under = |bound: f64| if high < bound && !at_least { 1 } else { -i32::from(low >= bound) };
    let over = |bound: f64| if low > bound { 1 } else { -i32::from(high <= bound && !at_least) };
    let held = [below.map(under), above.map(over)];
    let verdict = match held.iter().flatten().min() {
        Some(-1) => ClaimVerdict::Refuted,
        Some(1) => ClaimVerdict::Confirmed,
        _ => ClaimVerdict::Undecided,
    };
    let written = |value: f64| wording::figure(metric, value);
    let claimed = [("below", below), ("above", above)]
        .map(|(word, bound)| bound.map(|bound| format!("{word} {}", written(bound))).unwrap_or_default());
    let bounds = claimed.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(" and ");
    let range = format!(
        "{} (95 % CI {} to {}, {})",
        written(metric.unscaled(paired.mean())),
        written(low),
        written(high),
        wording::count(paired.n_blocks(), "block")
    );
    (verdict, format!("{metric}, {}, {}: {range}; claimed: {bounds}", cell.variant, cell.workload))
}
