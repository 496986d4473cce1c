//! The words of verdicts, their reasons, claims and notes: the only place that has them.
//!
//! Does not judge; every text here is that of a typed value of a conclusion.

use knee_study::definition::Cell;
use knee_study::estimand::{Censored, Missing};
use knee_study::metric::{Metric, Unit};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Absence, Basis, ClaimResult, ClaimVerdict, ClaimedSize, Effect, Estimate, Reason};

use super::value;
use crate::number;

/// The word of a verdict: times and rates of good responses become faster and slower, everything else better and worse.
pub const fn verdict(metric: Metric, verdict: Verdict) -> &'static str {
    let speed = metric.is_response_time() || matches!(metric, Metric::Goodput);
    match (verdict, speed) {
        (Verdict::Better, true) => "faster",
        (Verdict::Worse, true) => "slower",
        (Verdict::Better, false) => "better",
        (Verdict::Worse, false) => "worse",
        (Verdict::More, _) => "more",
        (Verdict::Less, _) => "less",
        (Verdict::Same, _) => "same",
        (Verdict::Undecided, _) => "undecided",
    }
}

/// The verdict of an effect, with what must stand beside it wherever it is shown.
pub fn verdict_of(effect: &Effect) -> String {
    let word = verdict(effect.metric, effect.verdict);
    let beside = effect.reasons.iter().find_map(|reason| match reason {
        Reason::NotLarge { change } => {
            Some(format!(", no change of {} or more", value::unsigned(effect.metric, *change)))
        }
        Reason::WithinMargin => Some(", within the margin".to_owned()),
        _ => None,
    });
    format!("{word}{}", beside.unwrap_or_default())
}

/// An effect in a sentence: `goodput, checked vs simple, redis: -4.8 % (95 % CI -27.1 % to +24.4 %, 8 blocks),
/// undecided; ~339 blocks needed`.
pub fn sentence(effect: &Effect, level: f64) -> String {
    format!("{}, {}: {}", effect.metric, sides(&effect.from, &effect.to), result(effect, level))
}

/// The change of an effect and its verdict: `-4.8 % (95 % CI …, 8 blocks), undecided; ~339 blocks needed`.
pub fn result(effect: &Effect, level: f64) -> String {
    let Some(change) = &effect.change else {
        let why = effect.missing.map(|missing| missing_of(effect.metric, &missing));
        return format!("undecided: {}", why.unwrap_or_else(|| "nothing was measured".to_owned()));
    };
    let change = value::estimate(effect.metric, change, level, effect.n_blocks);
    let needed = effect.blocks_needed.map_or_else(String::new, |blocks| format!("; ~{blocks} blocks needed"));
    format!("{change}, {}{needed}", verdict_of(effect))
}

/// Both sides of an effect: `best vs stock, index`.
pub fn sides(from: &Cell, to: &Cell) -> String {
    let versus = |from: &str, to: &str| if from == to { to.to_owned() } else { format!("{to} vs {from}") };
    format!("{}, {}", versus(&from.variant, &to.variant), versus(&from.workload, &to.workload))
}

/// What belongs beside a verdict, as notes of a table.
pub fn reasons(effect: &Effect) -> String {
    let mut notes: Vec<String> =
        effect.reasons.iter().filter_map(|reason| self::reason(effect.metric, reason)).collect();
    notes.extend(effect.missing.iter().map(|missing| missing_of(effect.metric, missing)));
    if effect.inert {
        notes.push("negative control: the sides cannot differ".to_owned());
    }
    notes.join("; ")
}

/// One reason; `None` for those that the verdict itself shows.
fn reason(metric: Metric, reason: &Reason) -> Option<String> {
    let text = match reason {
        Reason::NotLarge { .. } | Reason::WithinMargin => return None,
        Reason::TooFewBlocks { needed } => format!("a verdict of a difference needs {needed} blocks"),
        Reason::Corrected { tests } => format!("not significant among {tests} tests"),
        Reason::LowerBound { side } => match side {
            Censored::From => "the first side is a lower bound: requests failed or did not end".to_owned(),
            Censored::To => "the second side is a lower bound: requests failed or did not end".to_owned(),
            _ => "both sides are lower bounds: requests failed or did not end".to_owned(),
        },
        Reason::Skewed { robust } => {
            format!("skewed blocks; robust estimate {}", value::change(metric, *robust))
        }
        Reason::DependsOn { blocks } => {
            let blocks: Vec<String> = blocks.iter().map(|block| (block + 1).to_string()).collect();
            format!("without block {} the verdict changes", blocks.join(" or "))
        }
        Reason::NoisierThanCalibrated => "blocks vary over twice as much as at calibration".to_owned(),
        Reason::NotMerged => "percentiles of single trials: an older version stored no times".to_owned(),
    };
    Some(text)
}

/// Why there is no estimate.
pub fn missing_of(metric: Metric, missing: &Missing) -> String {
    match missing {
        Missing::NoBlock => "no block measured both sides".to_owned(),
        Missing::NoSuccess => "no request succeeded on one side".to_owned(),
        Missing::TooFew { requests, needed, measure } => {
            let (requests, needed) = (number::count(*requests), number::count(*needed));
            let longer =
                measure.map_or_else(String::new, |measure| format!("; trials of {measure} would do"));
            format!("{metric} needs {needed} requests per variant, the fewest are {requests}{longer}")
        }
    }
}

/// What is not ruled out of an undecided change: `a loss beyond the 5.0 % margin is not ruled out`.
pub fn not_ruled_out(effect: &Effect) -> Option<String> {
    let change = effect.change.filter(|_| effect.verdict == Verdict::Undecided)?;
    let rises = change.high.is_none_or(|high| high > effect.margin);
    let least = match effect.metric.unit() {
        Unit::Share => -effect.margin,
        _ => (1.0 + effect.margin).recip() - 1.0,
    };
    let falls = change.low.is_none_or(|low| low < least);
    let (better, worse) = match effect.metric.direction() {
        knee_study::metric::Direction::More => (rises, falls),
        knee_study::metric::Direction::Less => (falls, rises),
        knee_study::metric::Direction::None => (rises && falls, rises && falls),
    };
    let what = match (better, worse) {
        (true, true) => "a change",
        (false, true) => "a loss",
        (true, false) => "a gain",
        (false, false) => return None,
    };
    let margin = value::unsigned(effect.metric, effect.margin);
    Some(format!("{what} beyond the margin of {margin} is not ruled out"))
}

/// The words of a claim's result.
pub const fn claim(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Confirmed => "confirmed",
        ClaimVerdict::Refuted => "refuted",
        ClaimVerdict::Undecided => "undecided",
        ClaimVerdict::Open => "open",
        ClaimVerdict::Untestable => "not testable here",
    }
}

/// Why a claim has its result, with the figures.
pub fn why(claim: &ClaimResult, level: f64) -> String {
    match &claim.basis {
        Basis::Untestable { reason } => reason.clone(),
        Basis::OtherHardware { metric } => format!("{metric} of another machine"),
        Basis::NoValidTrial { cell, absence } => format!("{}: {}", of(cell), self::absence(absence)),
        Basis::Missing { metric, cells, missing } => {
            let cells: Vec<String> = cells.iter().map(of).collect();
            format!("{}: {}", cells.join(" and "), missing_of(*metric, missing))
        }
        Basis::Change { from, to, metric, change, n_blocks, effect, claimed, blocks_needed } => {
            let change = value::estimate(*metric, change, level, *n_blocks);
            let word = verdict(*metric, *effect);
            let claimed = claimed.as_ref().map_or_else(String::new, |claimed| size(*metric, claimed));
            let needed =
                blocks_needed.map_or_else(String::new, |blocks| format!("; ~{blocks} blocks needed"));
            format!("{metric}, {}: {change}, {word}{claimed}{needed}", sides(from, to))
        }
        Basis::Level { cell, metric, level: found, at_least, n_blocks, below, above, testable } => {
            let bounds = [("below", below), ("above", above)].map(|(word, bound)| {
                bound.map(|bound| format!("{word} {}", value::figure(*metric, bound))).unwrap_or_default()
            });
            let bounds: Vec<&str> =
                bounds.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
            let why = testable.as_ref().map_or_else(String::new, |why| format!("; comparable: {why}"));
            let found = self::level(*metric, found, *at_least, *n_blocks);
            format!("{metric}, {}: {found}; claimed: {}{why}", of(cell), bounds.join(" and "))
        }
        Basis::Counted { cell, limit, above, of: all, at_most } => {
            let limit = value::figure(Metric::Max, *limit);
            let all = number::count(*all);
            let found = match above {
                0 => format!("none of {all} requests above {limit} (at most {})", value::percent(*at_most)),
                above => {
                    format!("{} of {all} requests above {limit}, or without success", number::count(*above))
                }
            };
            format!("{}: {found}", of(cell))
        }
    }
}

fn of(cell: &Cell) -> String {
    format!("{}, {}", cell.variant, cell.workload)
}

fn absence(absence: &Absence) -> String {
    match absence {
        Absence::Lost { reason } => format!("the variant was lost: {reason}"),
        Absence::NotTakingPart => "the variant did not take part".to_owned(),
        Absence::NotRun => "no trial was run".to_owned(),
        Absence::NoneUsable { trials, why } => {
            format!("{}, none usable: {why}", value::count(*trials, "trial"))
        }
        Absence::AllSuspect { trials } => {
            format!("no valid trial: {} suspect", value::count(*trials, "trial"))
        }
    }
}

fn size(metric: Metric, claimed: &ClaimedSize) -> String {
    match claimed {
        ClaimedSize::AtLeast(factor) => format!("; claimed: {} or more", value::factor(*factor)),
        ClaimedSize::About { change, within } => {
            let within = value::either_way(metric, *within);
            format!("; claimed: {} {within}", value::change(metric, *change))
        }
    }
}

/// A figure with its interval.
fn level(metric: Metric, level: &Estimate, at_least: bool, n_blocks: usize) -> String {
    let written = |value: Option<f64>| value.map_or("?".to_owned(), |value| value::figure(metric, value));
    let least = if at_least { "at least " } else { "" };
    let blocks = value::count(n_blocks, "block");
    let interval = if n_blocks < 2 {
        format!("{blocks}; a verdict needs 2")
    } else {
        format!("95 % CI {} to {}, {blocks}", written(level.low), written(level.high))
    };
    format!("{least}{} ({interval})", written(Some(level.estimate)))
}
