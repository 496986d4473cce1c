//! From usable trials to an [`Estimand`]: which blocks count, and what each contributes.
//!
//! A block counts if both sides have a usable trial in it, however slow it was. Does not test and does not choose
//! comparisons.

use knee_core::estimate::samples_needed;
use knee_core::unit::Nanos;

use super::Measured;
use super::times::{MergedTimes, ResponseTimes};
use super::usable::UsableTrials;
use crate::definition::Cell;
use crate::estimand::{Censored, Contrast, Counts, Estimand, Missing};
use crate::metric::{Metric, Unit};
use crate::statistics::share::Counted;

/// The blocks of one side or of two, in order: each with the trial of every side.
struct Blocks<'a, const SIDES: usize> {
    blocks: Vec<usize>,
    trials: Vec<[&'a Measured; SIDES]>,
}

impl<'a, const SIDES: usize> Blocks<'a, SIDES> {
    fn of(usable: &'a UsableTrials<'_>, cells: [&Cell; SIDES]) -> Self {
        let (mut blocks, mut trials) = (Vec::new(), Vec::new());
        for block in usable.blocks(cells[0]) {
            let found: Option<Vec<&'a Measured>> =
                cells.iter().map(|cell| usable.trial(block, cell)).collect();
            if let Some(found) = found.and_then(|found| found.try_into().ok()) {
                blocks.push(block);
                trials.push(found);
            }
        }
        Self { blocks, trials }
    }

    fn side(&self, side: usize) -> impl Iterator<Item = &'a Measured> {
        self.trials.iter().map(move |trials| trials[side])
    }
}

/// The change from `from` to `to` by a metric. `measure` is the measured time of a trial.
pub(super) fn change(
    usable: &UsableTrials<'_>,
    (from, to): (&Cell, &Cell),
    metric: Metric,
    measure: Nanos,
) -> Result<Estimand, Missing> {
    let blocks = Blocks::of(usable, [from, to]);
    estimand(&blocks, metric, measure, &|[from, to]: [f64; 2]| to - from, &|[from, to]: [bool; 2]| {
        Censored::of(from, to)
    })
    .map(|estimand| match [counted(&blocks, 0), counted(&blocks, 1)] {
        [Some(from), Some(to)] if metric.unit() == Unit::Share => {
            estimand.counted(Counts::Change { from, to })
        }
        _ => estimand,
    })
}

/// The level of a metric in one cell.
pub(super) fn level(
    usable: &UsableTrials<'_>,
    cell: &Cell,
    metric: Metric,
    measure: Nanos,
) -> Result<Estimand, Missing> {
    let blocks = Blocks::of(usable, [cell]);
    estimand(&blocks, metric, measure, &|[value]: [f64; 1]| value, &|[bound]: [bool; 1]| {
        Censored::of(false, bound)
    })
    .map(|estimand| match counted(&blocks, 0) {
        Some(of) if metric.unit() == Unit::Share => estimand.counted(Counts::Level(of)),
        _ => estimand,
    })
}

/// Requests of one side, and those that failed.
fn counted<const SIDES: usize>(blocks: &Blocks<'_, SIDES>, side: usize) -> Option<Counted> {
    let each = blocks.side(side).map(Measured::counted);
    each.reduce(Counted::plus).filter(|counted| counted.of > 0)
}

/// `combine` makes one value of the figures of every side, on the scale of the metric; it is linear.
fn estimand<const SIDES: usize>(
    blocks: &Blocks<'_, SIDES>,
    metric: Metric,
    measure: Nanos,
    combine: &dyn Fn([f64; SIDES]) -> f64,
    censored: &dyn Fn([bool; SIDES]) -> Censored,
) -> Result<Estimand, Missing> {
    if blocks.blocks.is_empty() {
        return Err(Missing::NoBlock);
    }
    let stored = blocks.trials.iter().flatten().all(|trial| trial.times.is_some());
    match metric.quantile() {
        Some(q) if stored => merged(blocks, metric, q, measure, combine, censored),
        _ => per_block(blocks, metric, measure, combine, censored),
    }
}

/// The figures of every block.
fn per_block<const SIDES: usize>(
    blocks: &Blocks<'_, SIDES>,
    metric: Metric,
    measure: Nanos,
    combine: &dyn Fn([f64; SIDES]) -> f64,
    censored: &dyn Fn([bool; SIDES]) -> Censored,
) -> Result<Estimand, Missing> {
    let standing =
        blocks.trials.iter().filter(|trials| trials.iter().any(|trial| stands(trial, metric))).count();
    if standing > 0 {
        return Err(Missing::Standstill { blocks: standing, of: blocks.blocks.len() });
    }
    let (mut of, mut values, mut bounds) = (Vec::new(), Vec::new(), [false; SIDES]);
    for (block, trials) in blocks.blocks.iter().zip(&blocks.trials) {
        let figures = trials.map(|trial| trial.figures.get(&metric).copied());
        let scaled = figures.map(|figure| metric.scaled(figure?.value));
        if scaled.iter().any(Option::is_none) {
            continue;
        }
        of.push(*block);
        values.push(combine(scaled.map(Option::unwrap_or_default)));
        for (bound, figure) in bounds.iter_mut().zip(figures) {
            *bound |= figure.is_some_and(|figure| figure.at_least);
        }
    }
    let found = Estimand::new(metric, Contrast::PerBlock, of, values);
    found.map(|found| found.censored_by(censored(bounds))).ok_or_else(|| {
        let few = metric.quantile().and_then(|q| {
            let fewest =
                (0..SIDES).map(|side| blocks.side(side).map(|trial| trial.requests).sum::<u64>()).min()?;
            too_few(fewest, samples_needed(q).saturating_mul(blocks.blocks.len() as u64), measure)
        });
        few.unwrap_or(Missing::NoBlock)
    })
}

/// Whether a trial has no value on the ratio scale of a metric because nothing was answered, or nothing well.
fn stands(trial: &Measured, metric: Metric) -> bool {
    let none = |metric: Metric| trial.figures.get(&metric).is_some_and(|figure| figure.value <= 0.0);
    match metric.unit() {
        Unit::PerSecond => none(metric),
        Unit::Time => none(Metric::Goodput) && !trial.figures.contains_key(&metric),
        _ => false,
    }
}

/// A quantile of the requests of all blocks together.
fn merged<const SIDES: usize>(
    blocks: &Blocks<'_, SIDES>,
    metric: Metric,
    q: f64,
    measure: Nanos,
    combine: &dyn Fn([f64; SIDES]) -> f64,
    censored: &dyn Fn([bool; SIDES]) -> Censored,
) -> Result<Estimand, Missing> {
    let times: [Vec<&ResponseTimes>; SIDES] =
        std::array::from_fn(|side| blocks.side(side).filter_map(|trial| trial.times.as_ref()).collect());
    let whole: [MergedTimes; SIDES] = std::array::from_fn(|side| MergedTimes::of(times[side].clone()));
    let fewest = whole.iter().map(MergedTimes::requests).min().unwrap_or_default();
    if let Some(missing) = too_few(fewest, samples_needed(q), measure) {
        return Err(missing);
    }
    let figures = whole.each_ref().map(|times| times.quantile(q));
    let scaled = figures.map(|figure| metric.scaled(figure?.value));
    let influences: [Vec<f64>; SIDES] =
        std::array::from_fn(|side| whole[side].influences(&times[side], q).unwrap_or_default());
    if scaled.iter().any(Option::is_none) || influences.iter().any(Vec::is_empty) {
        return Err(Missing::NoSuccess);
    }
    let estimate = combine(scaled.map(Option::unwrap_or_default));
    let contribution = |block: usize| estimate + combine(std::array::from_fn(|side| influences[side][block]));
    let contributions = (0..blocks.blocks.len()).map(contribution).collect();
    let bounds: [bool; SIDES] = std::array::from_fn(|side| {
        figures[side].is_some_and(|figure| figure.at_least) || whole[side].is_at_edge(&times[side], q)
    });
    let found = Estimand::new(metric, Contrast::Merged, blocks.blocks.clone(), contributions);
    found.map(|found| found.censored_by(censored(bounds))).ok_or(Missing::NoBlock)
}

/// If a percentile of `requests` requests needs more: what would do.
fn too_few(requests: u64, needed: u64, measure: Nanos) -> Option<Missing> {
    (requests < needed).then(|| Missing::TooFew {
        requests,
        needed,
        measure: (requests > 0).then(|| {
            let longer = measure.as_secs_f64() * needed as f64 / requests as f64;
            Nanos::from_secs_f64(longer.ceil())
        }),
    })
}
