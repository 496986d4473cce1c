//! What a study says first: what became of its published claims, the answer of its primary comparisons, what shows no
//! difference, and how far its data can be trusted.
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

/// Most characters of the description of a variant, alone and behind a sentence about claims.
const DESCRIPTION_MAX: usize = 120;
const DESCRIPTION_BEHIND_CLAIMS: usize = 60;

/// Refuted claims that the first sentence names, and most characters of each.
const REFUTED_SHOWN: usize = 2;
const REFUTED_MAX: usize = 90;

/// The answer: whether anything is proven, what became of the published claims, and the largest differences.
pub(super) fn lead(conclusion: &Conclusion) -> String {
    let sentences = [nothing_valid(conclusion), of_claims(conclusion), Some(answer(conclusion))];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What became of the published claims, with the refuted ones by name; `None` if no trial tested any.
fn of_claims(conclusion: &Conclusion) -> Option<String> {
    let published = || conclusion.claims.iter().filter(|claim| !claim.goal);
    let with = |verdict: ClaimVerdict| published().filter(move |claim| claim.verdict == verdict);
    let others = with(ClaimVerdict::Untestable).count();
    let tested = published().count().saturating_sub(others);
    if tested == 0 || conclusion.totals.trials == 0 {
        return None;
    }
    let order = [ClaimVerdict::Confirmed, ClaimVerdict::Undecided, ClaimVerdict::Open, ClaimVerdict::Refuted];
    let counts: Vec<String> = order
        .into_iter()
        .filter_map(|verdict| {
            let count = with(verdict).count();
            let are = if count == 1 { "is" } else { "are" };
            (count > 0).then(|| format!("{} {are} {}", number::count(count as u64), words::claim(verdict)))
        })
        .collect();
    let refuted: Vec<String> = with(ClaimVerdict::Refuted)
        .take(REFUTED_SHOWN)
        .map(|claim| shortened(claim.text.trim().trim_end_matches('.'), REFUTED_MAX))
        .collect();
    let more = with(ClaimVerdict::Refuted).count().saturating_sub(refuted.len());
    let more = if more > 0 { format!("; and {} more", number::count(more as u64)) } else { String::new() };
    let named = if refuted.is_empty() { String::new() } else { format!(": {}{more}", refuted.join("; ")) };
    let others = match others {
        0 => String::new(),
        1 => " (1 other cannot)".to_owned(),
        others => format!(" ({} others cannot)", number::count(others as u64)),
    };
    let of = value::count(tested, "published claim");
    Some(format!("Of {of} that can be tested here{others}, {}{named}.", listed(&counts)))
}

/// `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
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
    let behind_claims = of_claims(conclusion).is_some();
    let most = if behind_claims { DESCRIPTION_BEHIND_CLAIMS } else { DESCRIPTION_MAX };
    if let Some(first) = conclusion.headline.decided.first().and_then(effect) {
        let largest = largest(conclusion, first, most);
        let failing = failing(conclusion, first).unwrap_or_default();
        let next = next(conclusion).filter(|_| !behind_claims);
        return format!("{largest}{failing}.{}", next.map_or_else(String::new, |next| format!(" {next}")));
    }
    if let Some(first) = conclusion.headline.others.first().and_then(effect) {
        let open = words::not_ruled_out(first).map_or_else(String::new, |open| format!("; {open}"));
        return format!("No difference shown. {}{open}.", described(conclusion, first, most));
    }
    if let Some(first) = conclusion.headline.open.first().and_then(effect) {
        return format!("No verdict. {}.", described(conclusion, first, most));
    }
    growth::in_short(conclusion)
        .or_else(|| equal_sides(conclusion))
        .unwrap_or_else(|| "Nothing was compared yet.".to_owned())
}

/// The largest difference between other variants than those of the decisive comparison.
fn next(conclusion: &Conclusion) -> Option<String> {
    let mut decided = conclusion.headline.decided.iter().filter_map(|index| conclusion.effects.get(*index));
    let first = decided.next()?;
    let second = decided.find(|next| !contains(&next.relation) && !is_same_pair(first, next))?;
    let known = second.to.variant == first.to.variant;
    let second =
        if known { plain(conclusion, second) } else { described(conclusion, second, DESCRIPTION_MAX) };
    Some(format!("Next: {second}."))
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

/// The largest difference, by what the design asks. `most` is the length of a description.
fn largest(conclusion: &Conclusion, effect: &Effect, most: usize) -> String {
    let headline = &conclusion.headline;
    let several = headline.decided.len() + headline.others.len() + headline.open.len() > 1;
    let begin = match (conclusion.kind, &effect.relation) {
        (DesignKind::Ladder, Relation::Step) if several => "The largest step is ",
        (DesignKind::Ablation, Relation::Whole) => "All switches together: ",
        (DesignKind::Pairs, _) if several => "The largest difference is ",
        // Behind claims, a sentence cannot begin with a name.
        _ if most < DESCRIPTION_MAX => "Measured: ",
        _ => "",
    };
    format!("{begin}{}", described(conclusion, effect, most))
}

/// An effect, with the description of its variant: `seqscan (no sequential scans) vs index, units: 39.3× goodput (…)`.
fn described(conclusion: &Conclusion, effect: &Effect, most: usize) -> String {
    let (from, to) = (&effect.from, &effect.to);
    let variant = conclusion.variants.iter().find(|variant| variant.name == to.variant);
    let text = variant.map(|variant| variant.text.trim()).filter(|text| !text.is_empty());
    let text = text.map_or_else(String::new, |text| format!(" ({})", shortened(text, most)));
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
    let behind_claims = of_claims(conclusion).is_some();
    points.extend(next(conclusion).filter(|_| behind_claims));
    points.extend(other_workloads(conclusion));
    points.extend(whole_ladder(conclusion));
    points.extend(others(conclusion));
    points.extend(open(conclusion));
    // The first sentence has them otherwise.
    points.extend(claims(conclusion, false).filter(|_| !behind_claims));
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

/// Comparisons whose verdict is open, with the reason.
fn open(conclusion: &Conclusion) -> Option<String> {
    let open = &conclusion.headline.open;
    // Without another comparison, the first is the verdict.
    let headline = &conclusion.headline;
    let skip = usize::from(headline.decided.is_empty() && headline.others.is_empty());
    let shown: Vec<String> = open
        .iter()
        .skip(skip)
        .filter_map(|index| conclusion.effects.get(*index))
        .take(OTHERS_SHOWN)
        .map(|effect| {
            let why = words::open(effect).map_or_else(String::new, |why| format!(" ({why})"));
            format!("{}{why}", words::sides(&effect.from, &effect.to))
        })
        .collect();
    let more = open.len().saturating_sub(skip + shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let named = shown.join("; ");
    (!shown.is_empty()).then(|| format!("No verdict, because too few trials are valid: {named}{more}."))
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
