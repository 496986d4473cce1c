//! The sentence in which a search ends: what stops the service, by which evidence, and what the remedy changes.

use knee_core::validity::Validity;
use knee_findings::{Finding, Remedy, is_only_errors};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Conclusion, Effect};

use super::{Proof, Search, Tried};
use crate::number::counted;
use crate::study::{figure, result, row_of, verdict};
use crate::text::answer;
use crate::{View, clean};

/// Most signals that the sentence names.
const SIGNALS_MAX: usize = 2;

/// The sentence; without a full stop.
pub fn sentence(search: &Search) -> String {
    let findings = &search.look.findings.findings;
    match &search.proof {
        _ if search.look.validity.validity == Validity::Invalid => {
            let why = search.look.validity.warnings.iter().find(|one| one.validity == Validity::Invalid);
            let why = why.map(|why| format!(": {} [{}]", clean::line(&why.message), clean::line(&why.code)));
            format!("no answer, because the load is invalid{}", why.unwrap_or_default())
        }
        Proof::NotTried { .. } if only_errors(&search.look) => {
            let (share, numbers) = answer::failed(&search.look);
            format!("no answer, because {share} of the requests failed: {numbers}")
        }
        Proof::Tried(tried) => match findings.get(tried.finding) {
            Some(finding) => format!("{}; {}", found(finding), shown(tried, &remedy(finding, tried))),
            None => shown(tried, "the remedy"),
        },
        Proof::NotTried { why, .. } => match findings.first() {
            Some(finding) if finding.is_hint() => {
                format!("only a hint: {}; {why}", clean::line(&finding.statement))
            }
            Some(finding) => format!("{}; not proven: {why}", found(finding)),
            None => {
                let report = &search.look.findings;
                let (ran, not) = (report.ran.len(), report.could_not_run.len());
                format!("nothing found that stops it: {} ran, {not} could not", counted(ran as u64, "rule"))
            }
        },
    }
}

/// Whether next to nothing was answered OK, so that no rule looked for more.
fn only_errors(view: &View) -> bool {
    let (not_ok, planned) = (view.total.not_ok(), view.total.books.planned);
    view.findings.findings.is_empty() && is_only_errors(planned.saturating_sub(not_ok), planned)
}

/// What is the matter, and by which figures it was found.
fn found(finding: &Finding) -> String {
    let by: Vec<_> =
        finding.evidence.iter().take(SIGNALS_MAX).map(|signal| clean::line(&signal.what)).collect();
    format!("{}: found by {}", cause(finding), by.join(" and "))
}

/// The cause in as few words as the remedy allows.
fn cause(finding: &Finding) -> String {
    let text = match &finding.remedy {
        Remedy::Index { table, columns } => format!("missing index on {table} ({})", columns.join(", ")),
        Remedy::Trigrams { table, column } => format!("missing index of trigrams on {table} ({column})"),
        Remedy::Analyze { table } => format!("stale statistics of {table}"),
        _ => finding.statement.clone(),
    };
    clean::line(&text).into_owned()
}

/// The remedy, with what was changed where the cause does not say it.
fn remedy(finding: &Finding, tried: &Tried) -> String {
    match &finding.remedy {
        Remedy::Index { .. } | Remedy::Trigrams { .. } | Remedy::Analyze { .. } => "the remedy".to_owned(),
        _ => format!("the remedy ({})", clean::line(&tried.change)),
    }
}

/// What the remedy changed, by the first metric that was measured.
fn shown(tried: &Tried, remedy: &str) -> String {
    let conclusion = &tried.conclusion;
    let Some(effect) = decisive(conclusion) else {
        return "not proven: no block has both sides".to_owned();
    };
    let Some(change) = &effect.change else {
        let result = result(effect, conclusion.confidence());
        return format!("not proven: {result}{}", unusable(conclusion));
    };
    let middle = |cell| row_of(conclusion, cell, effect.metric).map(|value| figure(effect.metric, value));
    let (from, to) = (middle(&effect.from), middle(&effect.to));
    let ends = match (from, to) {
        (Some(from), Some(to)) => format!(" from {from} to {to}"),
        _ => String::new(),
    };
    let result = result(effect, conclusion.confidence());
    match effect.verdict {
        Verdict::Same => format!("{remedy} changes nothing: {}{ends}, {result}", effect.metric),
        Verdict::Undecided | Verdict::Open => {
            format!("not proven: with {remedy}, {}{ends}, {result}", effect.metric)
        }
        _ if change.estimate < 0.0 => format!("with {remedy}, {} falls{ends}, {result}", effect.metric),
        _ => format!("with {remedy}, {} rises{ends}, {result}", effect.metric),
    }
}

/// Why trials of a comparison without an estimate did not count, by the first of them.
fn unusable(conclusion: &Conclusion) -> String {
    let Some(first) = conclusion.lost.first() else { return String::new() };
    let (name, why) = (clean::line(&first.cell.variant), clean::line(&first.why));
    format!(
        "; {} cannot be used, the first is one of `{name}`: {why}",
        counted(conclusion.lost.len() as u64, "trial")
    )
}

/// The first comparison with an estimate, or the first one; `None` without any.
pub(super) fn decisive(conclusion: &Conclusion) -> Option<&Effect> {
    let effects = &conclusion.effects;
    effects.iter().find(|effect| effect.change.is_some()).or_else(|| effects.first())
}

/// The word of the verdict by that comparison.
pub(super) fn word(conclusion: &Conclusion) -> Option<&'static str> {
    decisive(conclusion).map(|effect| verdict(effect.metric, effect.verdict))
}
