//! Claims: confirmed, refuted, undecided, open, or not testable here, and what each result rests on.
//!
//! Does not measure anything and has no words; it reads effects and figures, so that a claim never contradicts the effect
//! it is about.

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::times::ResponseTimes;
use super::usable::{self, UsableTrials};
use super::{Absence, Effect, Entry, Measured, Study, contrast, effect, endpoint, vouched};
use crate::definition::{Cell, Claim, Expectation, Test};
use crate::estimand::{Estimand, Missing};
use crate::metric::{Direction, Metric, Scale, Unit};
use crate::statistics::power::Level;
use crate::statistics::share::Counted;
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
    /// A variant, an endpoint or a statement that it is about has no valid trial, or fewer valid ones than others.
    Open,
    /// No measurement here can decide it.
    Untestable,
}

/// A claim and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Its short name.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Whether it is a goal of this study; otherwise it was published.
    pub goal: bool,
    /// The published figure in the words of the study, if it gives it.
    pub published: Option<String>,
    /// Whether the test compares what was published, in the words of the study, if it says so.
    pub like_for_like: Option<String>,
    /// What would confirm it.
    pub test: Test,
    /// Trials of the variants and workloads that it is about.
    pub trials: usize,
    /// Those that are valid.
    pub valid: usize,
    /// What became of it.
    pub verdict: ClaimVerdict,
    /// Why, with the figures.
    pub basis: Basis,
    /// If its test was added or changed after trials were run: when the last trials before the change began, since the
    /// Unix epoch.
    pub changed_after: Option<Nanos>,
}

/// What the result of a claim rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Basis {
    /// Nothing here can test it.
    Untestable {
        /// Why.
        reason: String,
    },
    /// It is a figure of another machine.
    OtherHardware {
        /// The metric that is judged.
        metric: Metric,
    },
    /// There is no valid trial, or there are too few.
    NoValidTrial {
        /// Of this variant and workload.
        cell: Cell,
        /// Why.
        absence: Absence,
    },
    /// There are valid trials, and no estimate.
    Missing {
        /// By what.
        metric: Metric,
        /// The sides.
        cells: Vec<Cell>,
        /// Why.
        missing: Missing,
    },
    /// A comparison.
    Change {
        /// The first side.
        from: Cell,
        /// The second side.
        to: Cell,
        /// By what.
        metric: Metric,
        /// The measured change.
        change: Estimate,
        /// Blocks of both.
        n_blocks: usize,
        /// The verdict of the comparison.
        effect: Verdict,
        /// The claimed size of the change, if the claim has one.
        claimed: Option<ClaimedSize>,
        /// Number of blocks that would decide; only of an undecided claim.
        blocks_needed: Option<usize>,
        /// The fewest blocks that can decide it, if it has fewer and they decide nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least_blocks: Option<usize>,
    },
    /// What one variant measured.
    Level {
        /// Variant and workload.
        cell: Cell,
        /// The metric that is judged.
        metric: Metric,
        /// The figure with its 95 % interval.
        level: Estimate,
        /// Whether it is a lower bound.
        at_least: bool,
        /// Blocks.
        n_blocks: usize,
        /// Claimed upper bound.
        below: Option<f64>,
        /// Claimed lower bound.
        above: Option<f64>,
        /// Why a published figure can be tested on this machine.
        testable: Option<String>,
        /// The fewest blocks that can decide it, if it has fewer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least_blocks: Option<usize>,
    },
    /// Requests that took longer than a limit, or did not succeed.
    Counted {
        /// Variant and workload.
        cell: Cell,
        /// The limit, in nanoseconds.
        limit: f64,
        /// Requests above it.
        above: u64,
        /// All requests.
        of: u64,
        /// The share that is above the limit with 95 % confidence at most.
        at_most: f64,
    },
    /// Trials in which a response took longer than a limit.
    Happens {
        /// Variant and workload.
        cell: Cell,
        /// The limit, in nanoseconds.
        limit: f64,
        /// Trials in which one did.
        trials: usize,
        /// All usable trials.
        of: usize,
    },
}

/// The claimed size of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedSize {
    /// This factor or more, in the claimed direction.
    AtLeast(f64),
    /// This change: of shares the difference, otherwise `to / from - 1`; and how far from it the claim still holds.
    About {
        /// The change.
        change: f64,
        /// The margin around it.
        within: f64,
    },
}

/// All claims of a study, in the order of its file.
pub(super) fn all(study: &Study, effects: &[Effect]) -> Vec<ClaimResult> {
    let usable = UsableTrials::of(study);
    study.definition.claims.iter().map(|claim| judged(study, &usable, effects, claim)).collect()
}

fn judged(study: &Study, usable: &UsableTrials<'_>, effects: &[Effect], claim: &Claim) -> ClaimResult {
    let absent =
        claim.test.cells().into_iter().find_map(|cell| Some((cell, absence(study, &claim.test, cell)?)));
    let (verdict, basis) = match (&claim.test, absent) {
        (Test::Untestable(reason), _) => {
            (ClaimVerdict::Untestable, Basis::Untestable { reason: reason.clone() })
        }
        (Test::Bound { metric, testable: None, .. }, _) if !claim.goal && is_of_hardware(*metric) => {
            (ClaimVerdict::Untestable, Basis::OtherHardware { metric: *metric })
        }
        (_, Some((cell, absence))) => {
            (ClaimVerdict::Open, Basis::NoValidTrial { cell: cell.clone(), absence })
        }
        (Test::Bound { cell, metric: Metric::Max, below: Some(limit), above: None, .. }, None) => {
            counted(usable, cell, *limit)
        }
        (Test::Bound { cell, metric: Metric::Max, below: None, above: Some(limit), .. }, None) => {
            happens(usable, cell, *limit)
        }
        (Test::Bound { .. }, None) => bounded(study, usable, &claim.test),
        (Test::Comparison { .. } | Test::Change { .. }, None) => compared(study, effects, &claim.test),
    };
    let changed_after = study.changed_claims().get(&claim.id).copied();
    let cells = claim.test.cells();
    let about = || study.entries.iter().filter(|entry| cells.iter().any(|cell| entry.trial.is_of(cell)));
    ClaimResult {
        id: claim.id.clone(),
        text: claim.text.clone(),
        goal: claim.goal,
        published: claim.published.clone(),
        like_for_like: claim.like_for_like.clone(),
        test: claim.test.clone(),
        trials: about().count(),
        valid: about().filter(|entry| entry.is_valid()).count(),
        verdict,
        basis,
        changed_after,
    }
}

/// Whether a figure depends on the machine: times, rates and sizes do; shares and counts per request hardly.
const fn is_of_hardware(metric: Metric) -> bool {
    matches!(metric.unit(), Unit::Time | Unit::PerSecond | Unit::Bytes)
}

/// Why a cell has no valid trial, or too few; `None` if it has enough.
fn absence(study: &Study, test: &Test, cell: &Cell) -> Option<Absence> {
    let tried: Vec<&Entry> = study.entries.iter().filter(|entry| entry.trial.is_of(cell)).collect();
    let valid: Vec<&Measured> =
        tried.iter().filter(|entry| vouches(entry, test)).filter_map(|entry| entry.usable()).collect();
    if !valid.is_empty() {
        return vouched::few_valid(&tried, &|entry| vouches(entry, test))
            .or_else(|| without_endpoint(cell, &valid))
            .or_else(|| without_statement(cell, &valid));
    }
    if let Some(reason) = study.lost.get(&cell.variant) {
        return Some(Absence::Lost { reason: reason.clone() });
    }
    if !study.lineup.variants.iter().any(|variant| variant.name == cell.variant) {
        return Some(Absence::NotTakingPart);
    }
    let Some(last) = tried.last() else { return Some(Absence::NotRun) };
    let suspect = tried.iter().filter(|entry| entry.usable().is_some()).count();
    Some(match suspect {
        0 => Absence::NoneUsable { trials: tried.len(), why: usable::why(&last.result) },
        trials => Absence::AllSuspect { trials },
    })
}

/// The code of the warning about a load that was not steady.
const UNSTEADY: &str = "littles_law";

/// Whether a trial counts for a claim: a valid one, and for a claim that slow responses happen also one whose load was
/// not steady and which has no other warning. Requests that pile up behind a stall are what such a claim is about, and one
/// that waited among them was slow all the same. A generator that is late has warnings of its own.
fn vouches(entry: &Entry, test: &Test) -> bool {
    let happens = matches!(test, Test::Bound { metric: Metric::Max, below: None, above: Some(_), .. });
    let is_unsteady = |measured: &Measured| {
        !measured.warnings.is_empty() && measured.warnings.iter().all(|warning| warning.code == UNSTEADY)
    };
    entry.is_valid() || (happens && entry.usable().is_some_and(is_unsteady))
}

/// The fewest blocks from which an interval decides a claim: as many as a verdict needs. The simulations of intervals
/// have no fewer.
fn least_blocks(study: &Study) -> usize {
    Level { alpha: effect::alpha(study), tests: 1 }.least_blocks()
}

/// Why valid trials have nothing of the endpoint of a cell; `None` if one has, or if the cell has all requests.
fn without_endpoint(cell: &Cell, valid: &[&Measured]) -> Option<Absence> {
    let name = cell.endpoint.as_ref()?;
    let known = endpoint::stored(valid.iter().copied());
    match known.len() {
        0 => Some(Absence::NoEndpoints { trials: valid.len() }),
        _ if known.contains(name) => None,
        _ => Some(Absence::UnknownEndpoint { known: known.into_iter().collect() }),
    }
}

/// Why valid trials have nothing of the statement of a cell; `None` if one has, or if the cell has no statement.
fn without_statement(cell: &Cell, valid: &[&Measured]) -> Option<Absence> {
    let name = cell.statement.as_ref()?;
    let counted: Vec<bool> = valid.iter().filter_map(|measured| measured.executed(name)).collect();
    if counted.is_empty() {
        return Some(Absence::NotCounted { trials: valid.len() });
    }
    (!counted.contains(&true)).then_some(Absence::NotExecuted { trials: counted.len() })
}

/// A claim about a comparison. With few blocks its interval decides nothing.
fn compared(study: &Study, effects: &[Effect], test: &Test) -> (ClaimVerdict, Basis) {
    let Some((from, to, metric)) = test.compared() else { return nothing(test, Missing::NoBlock) };
    let found = effects.iter().find(|effect| (&effect.from, &effect.to, effect.metric) == (from, to, metric));
    let Some((effect, change)) = found.and_then(|effect| Some((effect, effect.change?))) else {
        return nothing(test, found.and_then(|effect| effect.missing).unwrap_or(Missing::NoBlock));
    };
    let (verdict, claimed) = match test {
        Test::Change { change, within, .. } => {
            let within = within.unwrap_or(effect.margin);
            (by_size(effect, *change, within), Some(ClaimedSize::About { change: *change, within }))
        }
        Test::Comparison { expect, at_least: Some(factor), .. } => {
            (by_factor(effect, *expect, *factor), Some(ClaimedSize::AtLeast(*factor)))
        }
        Test::Comparison { expect, .. } => (by_direction(effect, *expect), None),
        Test::Untestable(_) | Test::Bound { .. } => (ClaimVerdict::Undecided, None),
    };
    let least = Some(least_blocks(study)).filter(|least| effect.n_blocks < *least);
    let verdict = if least.is_some() { ClaimVerdict::Undecided } else { verdict };
    let open = verdict == ClaimVerdict::Undecided && effect.verdict == Verdict::Undecided;
    let basis = Basis::Change {
        from: from.clone(),
        to: to.clone(),
        metric,
        change,
        n_blocks: effect.n_blocks,
        effect: effect.verdict,
        claimed,
        blocks_needed: effect.blocks_needed.filter(|_| open),
        least_blocks: least,
    };
    (verdict, basis)
}

fn nothing(test: &Test, missing: Missing) -> (ClaimVerdict, Basis) {
    let cells = test.cells().into_iter().cloned().collect();
    let metric = test.metric().unwrap_or(Metric::Goodput);
    (ClaimVerdict::Undecided, Basis::Missing { metric, cells, missing })
}

/// The result of the effect, in the terms of the claim.
fn by_direction(effect: &Effect, expect: Expectation) -> ClaimVerdict {
    let rises = effect.change.is_some_and(|change| change.estimate > 0.0);
    let holds = match (expect, effect.verdict) {
        (Expectation::NotFaster, _) => return at_most(better_by(effect), effect),
        (Expectation::NotSlower, _) => {
            let (least, most) = better_by(effect);
            return at_most((-most, -least), effect);
        }
        (_, Verdict::Undecided | Verdict::Open) => return ClaimVerdict::Undecided,
        (Expectation::Same, verdict) if verdict == Verdict::Same || effect.within_margin => true,
        // A difference that is sure can still be one that does not matter.
        (Expectation::Same, _) if !is_beyond_margin(effect) => return ClaimVerdict::Undecided,
        (_, Verdict::Same) | (Expectation::Same, _) => false,
        (Expectation::Faster, verdict) => verdict == Verdict::Better,
        (Expectation::Slower, verdict) => verdict == Verdict::Worse,
        (Expectation::More, _) => rises,
        (Expectation::Less, _) => !rises,
    };
    if holds { ClaimVerdict::Confirmed } else { ClaimVerdict::Refuted }
}

/// Both ends of the interval of an effect, on the scale of its metric; infinite where nothing bounds it.
fn ends(effect: &Effect) -> (f64, f64) {
    let scaled = |end: Option<f64>, open: f64| end.map_or(open, |end| scaled_change(effect.metric, end));
    let change = effect.change.unwrap_or(Estimate { estimate: 0.0, low: None, high: None });
    (scaled(change.low, f64::NEG_INFINITY), scaled(change.high, f64::INFINITY))
}

fn scaled_change(metric: Metric, change: f64) -> f64 {
    match metric.scale() {
        Scale::Difference => change,
        Scale::Ratio => change.ln_1p(),
    }
}

/// The margin of an effect, on the scale of its metric.
fn margin(effect: &Effect) -> f64 {
    effect.metric.scaled_margin(effect.margin)
}

/// Whether no part of the interval lies within the margin.
fn is_beyond_margin(effect: &Effect) -> bool {
    let (low, high) = ends(effect);
    low >= margin(effect) || high <= -margin(effect)
}

/// By how much the second side is better, at least and at most, on the scale of the metric.
fn better_by(effect: &Effect) -> (f64, f64) {
    let (low, high) = ends(effect);
    if effect.metric.direction() == Direction::More { (low, high) } else { (-high, -low) }
}

/// Whether a side is better by no more than the margin.
fn at_most((least, most): (f64, f64), effect: &Effect) -> ClaimVerdict {
    match margin(effect) {
        margin if most <= margin => ClaimVerdict::Confirmed,
        margin if least > margin => ClaimVerdict::Refuted,
        _ => ClaimVerdict::Undecided,
    }
}

/// A factor is reached if the whole interval is beyond it, and missed if no part of it is.
fn by_factor(effect: &Effect, expect: Expectation, factor: f64) -> ClaimVerdict {
    let (low, high) = ends(effect);
    let rising = match expect {
        Expectation::More => true,
        Expectation::Less => false,
        better => (effect.metric.direction() == Direction::More) == (better == Expectation::Faster),
    };
    let (least, most) = if rising { (low, high) } else { (-high, -low) };
    match by_direction(effect, expect) {
        ClaimVerdict::Confirmed if least >= factor.ln() => ClaimVerdict::Confirmed,
        _ if most < factor.ln() => ClaimVerdict::Refuted,
        ClaimVerdict::Refuted => ClaimVerdict::Refuted,
        _ => ClaimVerdict::Undecided,
    }
}

/// A size is confirmed if all of the interval lies within the margin around it, and refuted if none of it does.
fn by_size(effect: &Effect, change: f64, within: f64) -> ClaimVerdict {
    let (low, high) = ends(effect);
    let claimed = scaled_change(effect.metric, change);
    let margin = effect.metric.scaled_margin(within);
    match effect.verdict {
        _ if high < claimed - margin || low > claimed + margin => ClaimVerdict::Refuted,
        Verdict::Undecided | Verdict::Open => ClaimVerdict::Undecided,
        _ if low >= claimed - margin && high <= claimed + margin => ClaimVerdict::Confirmed,
        _ => ClaimVerdict::Undecided,
    }
}

/// A claim about one cell: compares the interval of its figure with the bound.
fn bounded(study: &Study, usable: &UsableTrials<'_>, test: &Test) -> (ClaimVerdict, Basis) {
    let Test::Bound { cell, metric, below, above, testable } = test else {
        return nothing(test, Missing::NoBlock);
    };
    let measure = study.measure_of(&cell.workload);
    let level: Estimand = match contrast::level(usable, cell, *metric, measure) {
        Ok(level) => level,
        Err(missing) => return nothing(test, missing),
    };
    let interval = level.interval(ALPHA);
    let end = |end: f64| end.is_finite().then(|| metric.unscaled(end));
    let found = Estimate {
        estimate: metric.unscaled(level.estimate()),
        low: end(interval.low),
        high: end(interval.high),
    };
    let least = found.low.unwrap_or(f64::NEG_INFINITY);
    let most = found.high.unwrap_or(f64::INFINITY);
    let under = |bound: f64| if most < bound { 1 } else { -i32::from(least >= bound) };
    let over = |bound: f64| if least > bound { 1 } else { -i32::from(most <= bound) };
    let held = [below.map(under), above.map(over)];
    let n_blocks = level.blocks().len();
    let too_few = Some(least_blocks(study)).filter(|least| n_blocks < *least);
    let verdict = match held.iter().flatten().min() {
        _ if too_few.is_some() => ClaimVerdict::Undecided,
        Some(-1) => ClaimVerdict::Refuted,
        Some(1) => ClaimVerdict::Confirmed,
        _ => ClaimVerdict::Undecided,
    };
    let basis = Basis::Level {
        cell: cell.clone(),
        metric: *metric,
        level: found,
        at_least: level.censored() != crate::estimand::Censored::No,
        n_blocks,
        below: *below,
        above: *above,
        testable: testable.clone(),
        least_blocks: too_few,
    };
    (verdict, basis)
}

/// Fewest trials without an event that show that most runs have none: of five, with 95 % confidence.
pub const WITHOUT_MIN: usize = 5;

/// A claim about every request: one above the limit refutes it.
fn counted(usable: &UsableTrials<'_>, cell: &Cell, limit: f64) -> (ClaimVerdict, Basis) {
    let mut counted = Counted::default();
    for trial in usable.of_cell(cell) {
        // The greatest time is exact, unlike the buckets.
        let max = trial.figures.get(&Metric::Max);
        let slower = trial.times.as_ref().map_or(0, |times| times.slower_than(limit));
        let failed = trial.times.as_ref().map_or(0, ResponseTimes::unsuccessful);
        let exceeded = failed > 0 || max.is_none_or(|max| max.value > limit || max.at_least);
        let above = if exceeded { slower.max(1) } else { 0 };
        counted = counted.plus(Counted { failed: above, of: trial.requests });
    }
    // One-sided at 5 %, as the upper end of an interval at 10 %.
    let at_most = counted.interval(2.0 * ALPHA).high;
    let verdict = match counted.failed {
        0 if usable.of_cell(cell).count() < WITHOUT_MIN => ClaimVerdict::Undecided,
        0 => ClaimVerdict::Confirmed,
        _ => ClaimVerdict::Refuted,
    };
    let basis = Basis::Counted { cell: cell.clone(), limit, above: counted.failed, of: counted.of, at_most };
    (verdict, basis)
}

/// A claim that responses take longer than a limit: one that did confirms it.
fn happens(usable: &UsableTrials<'_>, cell: &Cell, limit: f64) -> (ClaimVerdict, Basis) {
    let slowest = usable.of_cell(cell).map(|trial| trial.figures.get(&Metric::Max));
    let seen: Vec<bool> = slowest.map(|max| max.is_some_and(|max| max.value > limit)).collect();
    let (trials, of) = (seen.iter().filter(|seen| **seen).count(), seen.len());
    let verdict = match trials {
        0 if of < WITHOUT_MIN => ClaimVerdict::Undecided,
        0 => ClaimVerdict::Refuted,
        _ => ClaimVerdict::Confirmed,
    };
    (verdict, Basis::Happens { cell: cell.clone(), limit, trials, of })
}
