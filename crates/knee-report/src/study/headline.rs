//! What a study says first: the answer of its primary comparisons, what shows no difference, its claims, and how far
//! its data can be trusted.
//!
//! Does not choose the comparisons; the conclusion has them in order.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::{Cell, DesignKind};
use knee_study::metric::Metric;
use knee_study::study::{ClaimVerdict, Conclusion, Effect, Relation, TrialResult};

use super::{code, growth, value, words};
use crate::number;

/// Comparisons without a difference that are named.
const OTHERS_SHOWN: usize = 4;

/// Share of failed requests from which on they stand beside the answer.
const FAILING: f64 = 0.05;

/// Most characters of the description of a variant.
const DESCRIPTION_MAX: usize = 120;

/// The answer: whether anything is proven, and the largest differences.
pub(super) fn lead(conclusion: &Conclusion) -> String {
    let answer = answer(conclusion);
    nothing_valid(conclusion).map_or_else(|| answer.clone(), |first| format!("{first} {answer}"))
}

/// Without a valid trial, nothing is proven.
fn nothing_valid(conclusion: &Conclusion) -> Option<String> {
    let totals = &conclusion.totals;
    let usable = totals.suspect;
    match (totals.trials, totals.valid) {
        (0, _) => None,
        (_, 0) if usable > 0 => Some(format!(
            "No trial is valid ({} suspect): what follows can be the doing of this machine.",
            number::count(usable as u64)
        )),
        (_, 0) => Some("No trial is valid: nothing can be said.".to_owned()),
        _ => None,
    }
}

fn answer(conclusion: &Conclusion) -> String {
    let effect = |index: &usize| conclusion.effects.get(*index);
    let mut decided = conclusion.headline.decided.iter().filter_map(effect);
    if let Some(first) = decided.next() {
        let largest = largest(conclusion, first);
        let second = decided.find(|next| !contains(&next.relation) && !is_same_pair(first, next));
        let next = second.map(|second| {
            let known = second.to.variant == first.to.variant;
            let second = if known { plain(conclusion, second) } else { described(conclusion, second) };
            format!(" Next: {second}.")
        });
        let failing = failing(conclusion, first).unwrap_or_default();
        return format!("{largest}{failing}.{}", next.unwrap_or_default());
    }
    if let Some(first) = conclusion.headline.others.first().and_then(effect) {
        let open = words::not_ruled_out(first).map_or_else(String::new, |open| format!("; {open}"));
        return format!("No difference shown. {}{open}.", described(conclusion, first));
    }
    growth::in_short(conclusion)
        .or_else(|| equal_sides(conclusion))
        .unwrap_or_else(|| "Nothing was compared yet.".to_owned())
}

/// The sides of an effect of which so many requests fail that its figure is one of failures, too.
fn failing(conclusion: &Conclusion, effect: &Effect) -> Option<String> {
    if effect.metric == Metric::Errors {
        return None;
    }
    let side = |cell: &Cell| {
        let share = value::middle(conclusion, cell, Metric::Errors).filter(|share| *share > FAILING)?;
        let name = if effect.from.variant == effect.to.variant { &cell.workload } else { &cell.variant };
        Some(format!("{} of the requests of {name} fail", value::percent(share)))
    };
    let sides: Vec<String> = [&effect.from, &effect.to].into_iter().filter_map(side).collect();
    (!sides.is_empty()).then(|| format!("; {}", sides.join(", and ")))
}

/// What an A/A test found.
fn equal_sides(conclusion: &Conclusion) -> Option<String> {
    let controls = conclusion.controls;
    let sides = value::count(controls.comparisons, "comparison");
    (controls.comparisons > 0)
        .then(|| format!("A/A test: {} of {sides} of equal sides found a difference.", controls.different))
}

/// Whether two comparisons have the same variants, perhaps under other workloads.
fn is_same_pair(one: &Effect, other: &Effect) -> bool {
    (&one.from.variant, &one.to.variant) == (&other.from.variant, &other.to.variant)
}

/// An effect without a description of its variant.
fn plain(conclusion: &Conclusion, effect: &Effect) -> String {
    let sides = words::sides(&effect.from, &effect.to);
    format!("{sides}: {}", words::amount(effect, conclusion.confidence()))
}

/// Whether other comparisons are parts of it.
const fn contains(relation: &Relation) -> bool {
    matches!(relation, Relation::SinceFirst)
}

/// The largest difference, by what the design asks.
fn largest(conclusion: &Conclusion, effect: &Effect) -> String {
    let several = conclusion.headline.decided.len() + conclusion.headline.others.len() > 1;
    let begin = match (conclusion.kind, &effect.relation) {
        (DesignKind::Ladder, Relation::Step) if several => "The largest step is ",
        (DesignKind::Ablation, Relation::Whole) => "All switches together: ",
        (DesignKind::Pairs, _) if several => "The largest difference is ",
        _ => "",
    };
    format!("{begin}{}", described(conclusion, effect))
}

/// An effect, with the description of its variant: `seqscan (no sequential scans) vs index, units: 39.3× goodput (…)`.
fn described(conclusion: &Conclusion, effect: &Effect) -> String {
    let (from, to) = (&effect.from, &effect.to);
    let variant = conclusion.variants.iter().find(|variant| variant.name == to.variant);
    let text = variant.map(|variant| variant.text.trim()).filter(|text| !text.is_empty());
    let text = text.map_or_else(String::new, |text| format!(" ({})", shortened(text, DESCRIPTION_MAX)));
    let sides = match (from.variant == to.variant, from.workload == to.workload) {
        (false, true) => format!("{}{text} vs {}, {}", to.variant, from.variant, to.workload),
        (true, false) => format!("{}{text}, {} vs {}", to.variant, to.workload, from.workload),
        _ => format!("{}{text}, {} vs {}, {}", to.variant, to.workload, from.variant, from.workload),
    };
    format!("{sides}: {}", words::amount(effect, conclusion.confidence()))
}

/// At most so many characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// What stands below the verdict.
pub(super) fn points(conclusion: &Conclusion) -> Vec<String> {
    let mut points: Vec<String> = Vec::new();
    points.extend(other_workloads(conclusion));
    points.extend(whole_ladder(conclusion));
    points.extend(others(conclusion));
    points.extend(claims(conclusion, false));
    points.extend(claims(conclusion, true));
    points
}

/// All steps of a ladder together, under the workload of the largest step.
fn whole_ladder(conclusion: &Conclusion) -> Option<String> {
    let first = conclusion.effects.get(*conclusion.headline.decided.first()?)?;
    let last = &conclusion.variants.last()?.name;
    let whole = conclusion.effects.iter().find(|effect| {
        effect.relation == Relation::SinceFirst
            && effect.primary
            && effect.n_blocks >= conclusion.least_blocks
            && effect.to.variant == *last
            && effect.to.workload == first.to.workload
    })?;
    // Two variants have one step.
    (!is_same_pair(first, whole)).then(|| format!("All steps together, {}.", plain(conclusion, whole)))
}

/// The decisive comparison under the other workloads, where it shows a difference.
fn other_workloads(conclusion: &Conclusion) -> Option<String> {
    let mut decided = conclusion.headline.decided.iter().filter_map(|index| conclusion.effects.get(*index));
    let first = decided.next()?;
    let others: Vec<String> = decided
        .filter(|other| is_same_pair(first, other))
        .map(|other| format!("{}: {}", other.to.workload, words::amount(other, conclusion.confidence())))
        .collect();
    (!others.is_empty()).then(|| format!("The same under other workloads: {}.", others.join("; ")))
}

/// Comparisons that show no difference, with what they exclude.
fn others(conclusion: &Conclusion) -> Option<String> {
    let others = &conclusion.headline.others;
    // Without a difference anywhere, the first is the verdict.
    let skip = usize::from(conclusion.headline.decided.is_empty());
    let shown: Vec<String> = others
        .iter()
        .skip(skip)
        .filter_map(|index| conclusion.effects.get(*index))
        .take(OTHERS_SHOWN)
        .map(|effect| {
            let ends = effect.change.as_ref().and_then(|change| value::ends(effect.metric, change));
            let why = words::although(effect).map_or_else(String::new, |why| format!(", {why}"));
            let ends = ends.map_or_else(String::new, |ends| format!(" ({ends}{why})"));
            format!("{}{ends}", words::sides(&effect.from, &effect.to))
        })
        .collect();
    let more = others.len().saturating_sub(skip + shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("No difference shown: {}{more}.", shown.join("; ")))
}

/// How many claims came out how: those that were published, or the study's own goals.
fn claims(conclusion: &Conclusion, goals: bool) -> Option<String> {
    let claims: Vec<_> = conclusion.claims.iter().filter(|claim| claim.goal == goals).collect();
    let count = |verdict: ClaimVerdict| {
        let number = claims.iter().filter(|claim| claim.verdict == verdict).count();
        (number > 0).then(|| format!("{number} {}", words::claim(verdict)))
    };
    let counts: Vec<String> = [
        ClaimVerdict::Confirmed,
        ClaimVerdict::Refuted,
        ClaimVerdict::Undecided,
        ClaimVerdict::Open,
        ClaimVerdict::Untestable,
    ]
    .into_iter()
    .filter_map(count)
    .collect();
    let what = value::count(claims.len(), if goals { "goal" } else { "published claim" });
    (!claims.is_empty()).then(|| format!("{what}: {}.", counts.join(", ")))
}

/// How far the data can be trusted: the number of trials by validity, and the most frequent reason.
pub(crate) fn trust(conclusion: &Conclusion) -> String {
    let totals = &conclusion.totals;
    let trials = value::count(totals.trials, "trial");
    if totals.trials == totals.valid {
        return match totals.trials {
            0 => "No trial was run.".to_owned(),
            1 => "The only trial is valid.".to_owned(),
            _ => format!("All {trials} are valid."),
        };
    }
    let part = |number: usize, word: &str| format!("{} {word}", number::count(number as u64));
    let mut parts =
        vec![part(totals.valid, "valid"), part(totals.suspect, "suspect"), part(totals.invalid, "invalid")];
    if totals.broken > 0 {
        parts.push(part(totals.broken, "without a service"));
    }
    let reason = frequent(conclusion).map_or_else(String::new, |(code, count)| {
        let cause = code::cause(code).map_or_else(String::new, |cause| format!(": {cause}"));
        format!(". Most frequent reason, in {}: [{code}]{cause}", number::count(count))
    });
    format!("⚠ {trials}: {}{reason}.", parts.join(", "))
}

/// The code that most trials have that are not valid.
fn frequent(conclusion: &Conclusion) -> Option<(&str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &conclusion.trials {
        let TrialResult::Measured(measured) = &entry.result else { continue };
        if measured.validity == Validity::Valid {
            continue;
        }
        for warning in measured.warnings.iter().filter(|warning| !warning.code.is_empty()) {
            *counts.entry(&warning.code).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}
