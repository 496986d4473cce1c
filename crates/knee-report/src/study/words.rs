//! The words of verdicts, their reasons, claims and notes: the only place that has them.
//!
//! Does not judge; every text here is that of a typed value of a conclusion.

use knee_study::definition::{Cell, Expectation, Test};
use knee_study::estimand::{Censored, Missing};
use knee_study::metric::{Metric, Unit};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{
    Absence, Basis, ClaimResult, ClaimVerdict, ENDPOINTS_MAX, Effect, Estimate, Reason, WITHOUT_MIN,
};

use super::value;
use crate::number;

/// The word of a verdict: times and rates of good responses become faster and slower, and so do statements and
/// iterations; everything else better and worse.
pub const fn verdict(metric: Metric, verdict: Verdict) -> &'static str {
    match (verdict, is_speed(metric)) {
        (Verdict::Better, true) => "faster",
        (Verdict::Worse, true) => "slower",
        (Verdict::Better, false) => "better",
        (Verdict::Worse, false) => "worse",
        (Verdict::More, _) => "more",
        (Verdict::Less, _) => "less",
        (Verdict::Same, _) => "same",
        (Verdict::Undecided, _) => "undecided",
        (Verdict::Open, _) => "open",
    }
}

/// Whether a metric is a time or a rate, of which one is faster and not better.
const fn is_speed(metric: Metric) -> bool {
    let is_timed = matches!(
        metric,
        Metric::Goodput
            | Metric::StatementTime
            | Metric::IterationTime
            | Metric::FirstEvent
            | Metric::EventGap
            | Metric::LongestGap
            | Metric::Events
    );
    metric.is_response_time() || is_timed
}

/// The verdict of an effect, with what must stand beside it wherever it is shown. A difference that is certain and
/// smaller than the margin is not called `same`.
pub fn verdict_of(effect: &Effect) -> String {
    let word = verdict(effect.metric, effect.verdict);
    let margin = || format!("less than the margin of {}", value::unsigned(effect.metric, effect.margin));
    if effect.verdict == Verdict::Same && effect.change.is_some_and(excludes_none) {
        return margin();
    }
    let beside = effect.reasons.iter().find_map(|reason| match reason {
        Reason::NotLarge { change } => {
            Some(format!(", no change of {} or more", value::unsigned(effect.metric, *change)))
        }
        Reason::WithinMargin => Some(format!(", {}", margin())),
        _ => None,
    });
    format!("{word}{}", beside.unwrap_or_default())
}

/// The same where nothing else says why a verdict is open: `open: stock, list: 1 of 8 trials valid, fewer than half`.
pub fn explained(effect: &Effect) -> String {
    let why = open(effect).map_or_else(String::new, |why| format!(": {why}"));
    format!("{}{why}", verdict_of(effect))
}

/// Why a verdict is open; `None` for every other verdict.
pub fn open(effect: &Effect) -> Option<String> {
    let is_it = |reason: &&Reason| matches!(reason, Reason::NotValid { .. });
    effect.reasons.iter().find(is_it).and_then(|why| reason(effect.metric, why))
}

/// Why an interval on one side of no change is no difference; `None` for every other interval.
pub fn although(effect: &Effect) -> Option<String> {
    effect.change.filter(|change| excludes_none(*change))?;
    if effect.verdict == Verdict::Same {
        return Some(verdict_of(effect));
    }
    effect.reasons.iter().find_map(|reason| self::reason(effect.metric, reason))
}

/// Whether all of an interval lies on one side of no change.
fn excludes_none(change: Estimate) -> bool {
    change.low.is_some_and(|low| low > 0.0) || change.high.is_some_and(|high| high < 0.0)
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
    let needed =
        effect.blocks_needed.map_or_else(|| too_few(effect), |blocks| format!("; ~{blocks} blocks needed"));
    format!("{change}, {}{needed}", explained(effect))
}

/// `; a verdict needs 6 blocks` where there are fewer; nothing otherwise.
fn too_few(effect: &Effect) -> String {
    let is_few = |reason: &&Reason| matches!(reason, Reason::TooFewBlocks { .. });
    let why = effect.reasons.iter().find(is_few).and_then(|few| reason(effect.metric, few));
    why.map_or_else(String::new, |why| format!("; {why}"))
}

/// The change of an effect by its metric, with the interval and the verdict: `39.3× goodput (95 % CI 35.7× to 43.1×, 8
/// blocks), faster`.
pub fn amount(effect: &Effect, level: f64) -> String {
    let Some(change) = &effect.change else { return result(effect, level) };
    let written = value::estimate(effect.metric, change, level, effect.n_blocks);
    let verdict = explained(effect) + &too_few(effect);
    match written.split_once(' ') {
        Some((factor, interval)) if factor.ends_with('×') => {
            format!("{factor} {} {interval}, {verdict}", effect.metric)
        }
        _ => format!("{} {written}, {verdict}", effect.metric),
    }
}

/// Both sides of an effect: `best vs stock, index`, or `best vs stock, mixed, GET /todos`.
pub fn sides(from: &Cell, to: &Cell) -> String {
    let part = part_of(&[from, to]).map_or_else(String::new, |part| format!(", {part}"));
    format!("{}, {}{part}", versus(&from.variant, &to.variant), versus(&from.workload, &to.workload))
}

fn versus(from: &str, to: &str) -> String {
    if from == to { to.to_owned() } else { format!("{to} vs {from}") }
}

/// The endpoint or the statement of one cell, or those of both; `None` if they have all requests.
pub fn part_of(cells: &[&Cell]) -> Option<String> {
    let name = |cell: &Cell| part(cell).unwrap_or_else(|| "all endpoints".to_owned());
    let to = cells.last().filter(|_| cells.iter().any(|cell| cell.is_part()))?;
    let from = cells.first().unwrap_or(to);
    Some(versus(&name(from), &name(to)))
}

/// The endpoint or the statement of a cell.
fn part(cell: &Cell) -> Option<String> {
    let statement = cell.statement.as_ref().map(|name| format!("statement {name}"));
    statement.or_else(|| cell.endpoint.clone())
}

/// The same behind a comma; nothing if the cell has all requests.
fn behind(cell: &Cell) -> String {
    part(cell).map_or_else(String::new, |part| format!(", {part}"))
}

/// A metric, with the endpoint or the statement that it is of: `p95 of GET /todos`.
fn metric_of(metric: Metric, cells: &[&Cell]) -> String {
    part_of(cells).map_or_else(|| metric.to_string(), |part| format!("{metric} of {part}"))
}

/// A metric and the two sides of a change by it: `p95 of GET /todos, replica vs stock`. Names of variants and workloads
/// that are the same on both sides are left out: they belong to the whole row.
fn metric_between(metric: Metric, from: &Cell, to: &Cell) -> String {
    let differing = [(&from.variant, &to.variant), (&from.workload, &to.workload)];
    let sides = differing.into_iter().filter(|(from, to)| from != to);
    let sides: Vec<String> = sides.map(|(from, to)| versus(from, to)).collect();
    std::iter::once(metric_of(metric, &[from, to])).chain(sides).collect::<Vec<_>>().join(", ")
}

/// The name of a side where its workload is known: the variant, and its endpoint or statement if it has one.
pub fn side(cell: &Cell) -> String {
    format!("{}{}", cell.variant, behind(cell))
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
        Reason::NotValid { cell, absence } => format!("{}: {}", self::cell(cell), self::absence(absence)),
        Reason::TooFewBlocks { needed } => {
            format!("a verdict needs {}", value::count(*needed, "block"))
        }
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
        Missing::Standstill { blocks, of } => {
            format!(
                "in {blocks} of {} a side answered nothing, so that there is no ratio",
                value::count(*of, "block")
            )
        }
        Missing::TooFew { requests, needed, measure } => {
            let (requests, needed) = (number::count(*requests), number::counted(*needed, "request"));
            let longer =
                measure.map_or_else(String::new, |measure| format!("; trials of {measure} would do"));
            format!("{metric} needs {needed} per variant, the fewest are {requests}{longer}")
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

/// What a claim states, in the terms of its test: `goodput: faster, 5.65× or more`.
pub fn claimed(test: &Test) -> String {
    let of = |metric: &Metric| metric_of(*metric, &test.cells());
    match test {
        Test::Untestable(_) => value::UNKNOWN.to_owned(),
        Test::Comparison { metric, expect, at_least, .. } => {
            let factor =
                at_least.map_or_else(String::new, |least| format!(", {} or more", value::factor(least)));
            format!("{}: {}{factor}", of(metric), expectation(*metric, *expect))
        }
        Test::Change { metric, change, .. } => {
            format!("{}: {}", of(metric), value::change(*metric, *change))
        }
        Test::Bound { metric, .. } => format!("{}: {}", of(metric), bounds(test)),
    }
}

/// The bounds of a claim: `above 5.15 ms and below 10.0 ms`; nothing for other claims.
fn bounds(test: &Test) -> String {
    let Test::Bound { metric, below, above, .. } = test else { return String::new() };
    let bounds = [("below", below), ("above", above)];
    let bounds = bounds
        .into_iter()
        .filter_map(|(word, bound)| bound.map(|bound| format!("{word} {}", value::figure(*metric, bound))));
    bounds.collect::<Vec<_>>().join(" and ")
}

const fn expectation(metric: Metric, expect: Expectation) -> &'static str {
    match expect {
        Expectation::Faster => verdict(metric, Verdict::Better),
        Expectation::Slower => verdict(metric, Verdict::Worse),
        Expectation::More => "more",
        Expectation::Less => "less",
        Expectation::Same => "same",
        Expectation::NotFaster if is_speed(metric) => "not faster",
        Expectation::NotFaster => "not better",
        Expectation::NotSlower if is_speed(metric) => "not slower",
        Expectation::NotSlower => "not worse",
    }
}

/// What was measured of a claim, with its interval in brackets; `effect` is the comparison that it is about. A change
/// names its two sides, for which the statement often has other words.
pub fn measured(claim: &ClaimResult, effect: Option<&Effect>) -> String {
    let of = |metric: &Metric| metric_of(*metric, &claim.test.cells());
    let bracketed = |ends: Option<String>| ends.map_or_else(String::new, |ends| format!(" [{ends}]"));
    match &claim.basis {
        Basis::Change { from, to, metric, change, effect: verdict, .. } => {
            let between = metric_between(*metric, from, to);
            let ends = bracketed(value::ends(*metric, change));
            let word = effect.map_or_else(|| self::verdict(*metric, *verdict).to_owned(), verdict_of);
            format!("{between}: {}{ends}, {word}", value::change(*metric, change.estimate))
        }
        Basis::Level { metric, level, at_least, n_blocks, .. } => {
            let written = |end: Option<f64>| end.map_or("?".to_owned(), |end| value::figure(*metric, end));
            let ends = (*n_blocks > 1).then(|| format!("{} to {}", written(level.low), written(level.high)));
            let least = if *at_least { "≥ " } else { "" };
            format!("{}: {least}{}{}", of(metric), written(Some(level.estimate)), bracketed(ends))
        }
        Basis::Counted { cell, limit, above, of: all, at_most } => {
            let limit = value::figure(Metric::Max, *limit);
            let part = part_of(&[cell]).map_or_else(String::new, |part| format!(" of {part}"));
            let all = format!("{}{part}", number::counted(*all, "request"));
            match above {
                0 => format!("none of {all} above {limit} [at most {}]", value::percent(*at_most)),
                above => format!("{} of {all} above {limit}, or without success", number::count(*above)),
            }
        }
        Basis::Happens { limit, trials, of: all, .. } => {
            let limit = value::figure(Metric::Max, *limit);
            format!("a response above {limit} in {trials} of {}", value::count(*all, "trial"))
        }
        Basis::Untestable { .. }
        | Basis::OtherHardware { .. }
        | Basis::NoValidTrial { .. }
        | Basis::Missing { .. } => value::UNKNOWN.to_owned(),
    }
}

/// The verdict on a claim, with the reason if nothing was measured, and what would decide it.
pub fn judged(claim: &ClaimResult) -> String {
    let word = self::claim(claim.verdict);
    let beside = match &claim.basis {
        Basis::Untestable { reason } => Some(reason.clone()),
        Basis::OtherHardware { .. } => Some("a figure of another machine".to_owned()),
        Basis::NoValidTrial { cell, absence } => {
            Some(format!("{}: {}", self::cell(cell), self::absence(absence)))
        }
        Basis::Missing { metric, missing, .. } => {
            let part = part_of(&claim.test.cells()).map(|part| format!("{part}: "));
            Some(part.unwrap_or_default() + &missing_of(*metric, missing))
        }
        Basis::Change { least_blocks: Some(least), .. } | Basis::Level { least_blocks: Some(least), .. } => {
            Some(format!("a verdict needs {}", value::count(*least, "block")))
        }
        Basis::Change { blocks_needed, .. } => {
            blocks_needed.map(|blocks| format!("~{blocks} blocks would decide"))
        }
        // The table has the published figure, which is often another than the bound.
        Basis::Level { .. } if claim.published.is_some() && !claim.goal => {
            return format!("{word} (asked: {})", bounds(&claim.test));
        }
        Basis::Counted { .. } | Basis::Happens { .. } if claim.verdict == ClaimVerdict::Undecided => {
            Some(format!("a verdict needs {}", value::count(WITHOUT_MIN, "trial")))
        }
        Basis::Level { .. } | Basis::Counted { .. } | Basis::Happens { .. } => None,
    };
    beside.map_or_else(|| word.to_owned(), |beside| format!("{word}: {beside}"))
}

/// A variant, its workload, and its endpoint or statement if it has one.
pub fn cell(cell: &Cell) -> String {
    format!("{}, {}{}", cell.variant, cell.workload, behind(cell))
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
        Absence::FewValid { valid, trials } => {
            format!("{valid} of {} valid, fewer than half", value::count(*trials, "trial"))
        }
        Absence::NoEndpoints { trials } => {
            let trials = value::count(*trials, "valid trial");
            let how_many = format!("fewer than 2 or more than {ENDPOINTS_MAX} of them");
            format!("{trials} without figures by endpoint: of an older version, or with {how_many}")
        }
        Absence::UnknownEndpoint { known } => {
            format!("no valid trial has this endpoint; endpoints: {}", known.join(", "))
        }
        Absence::NotCounted { trials } => {
            format!("no statements were counted in {}", value::count(*trials, "valid trial"))
        }
        Absence::NotExecuted { trials } => {
            format!("not executed in {}", value::count(*trials, "valid trial"))
        }
    }
}
