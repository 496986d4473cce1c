//! What a study says first: its decisive comparison, what else changed, what did not, its claims, and how far its data
//! can be trusted.
//!
//! Does not choose the comparisons; the conclusion has them in order.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::study::{ClaimVerdict, Conclusion, Effect, TrialResult};

use super::{value, words};
use crate::number;

/// Comparisons without a difference that are named.
const OTHERS_SHOWN: usize = 4;

/// The verdict of the study in a sentence.
pub(super) fn lead(conclusion: &Conclusion) -> String {
    let level = conclusion.confidence();
    let effect = |index: &usize| conclusion.effects.get(*index);
    if let Some(first) = conclusion.headline.decided.first().and_then(effect) {
        return format!("{}.", described(conclusion, first, level));
    }
    match conclusion.headline.others.first().and_then(effect) {
        Some(first) => {
            let open = words::not_ruled_out(first).map_or_else(String::new, |open| format!("; {open}"));
            format!("No difference shown. {}{open}.", words::sentence(first, level))
        }
        None if conclusion.growth.is_empty() => "Nothing was compared yet.".to_owned(),
        None => String::new(),
    }
}

/// An effect, with the description of its variant.
fn described(conclusion: &Conclusion, effect: &Effect, level: f64) -> String {
    let variant = conclusion.variants.iter().find(|variant| variant.name == effect.to.variant);
    let text = variant.map(|variant| variant.text.trim()).filter(|text| !text.is_empty());
    let text = text.map_or_else(String::new, |text| format!(" ({}: {text})", effect.to.variant));
    format!("{}{text}", words::sentence(effect, level))
}

/// What stands below the verdict.
pub(super) fn points(conclusion: &Conclusion) -> Vec<String> {
    let level = conclusion.confidence();
    let decided =
        conclusion.headline.decided.iter().skip(1).filter_map(|index| conclusion.effects.get(*index));
    let mut points: Vec<String> =
        decided.take(2).map(|effect| format!("Next: {}.", words::sentence(effect, level))).collect();
    points.extend(others(conclusion));
    points.extend(claims(conclusion, false));
    points.extend(claims(conclusion, true));
    points
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
            let ends = ends.map_or_else(String::new, |ends| format!(" ({ends})"));
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

/// How far the data can be trusted: the number of trials by validity, and the most frequent warning.
pub(super) fn trust(conclusion: &Conclusion) -> String {
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
    let code = frequent(conclusion).map_or_else(String::new, |(code, count)| {
        format!("; most frequent warning: {code} ({})", number::count(count))
    });
    format!("⚠ Data: {trials}: {}{code}.", parts.join(", "))
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
