//! What stops the service: the first findings for the first screen, and a section with all of them.
//!
//! Its sentences are those of the text report. Does not judge.

use knee_findings::{Finding, Report};
use maud::{Markup, html};

use crate::html::words as texts;
use crate::text::Style;
use crate::text::finding::{bound_words, figure_words, gain_words, headline_words};

/// Findings on the first screen; a section of its own has the rest.
const FIRST_MAX: usize = 3;

/// A sentence for each of the first findings, with its remedy; empty if nothing was found.
pub(super) fn first(report: &Report) -> Vec<String> {
    let said = |finding: &Finding| format!("{}. Remedy: {}.", headline_words(finding), finding.remedy);
    report.findings.iter().take(FIRST_MAX).map(said).collect()
}

/// All findings with their figures, and the bounds of resources; `None` if there is neither.
pub(super) fn section(report: &Report, style: &Style) -> Option<Markup> {
    (!report.findings.is_empty() || !report.bounds.is_empty()).then(|| of_level(report, &[], style))
}

/// The same for one level of a sweep. `notes` belong to the findings, in their order.
pub(super) fn of_level(report: &Report, notes: &[String], style: &Style) -> Markup {
    let note = |place: usize| notes.get(place).map_or("", String::as_str);
    html! {
        @for (place, finding) in report.findings.iter().enumerate() {
            (self::finding(finding, note(place), style))
        }
        @if !report.bounds.is_empty() {
            h3 { "Bounds of the observed resources" }
            ul { @for bound in &report.bounds { li { (texts::sentence(&bound_words(bound, style))) } } }
        }
        @if !report.could_not_run.is_empty() {
            details {
                summary { "Rules that could not run" }
                ul {
                    @for rule in &report.could_not_run {
                        li { code { (rule.code) } ": it needs " (texts::sentence(&rule.lacks)) }
                    }
                }
            }
        }
    }
}

fn finding(finding: &Finding, note: &str, style: &Style) -> Markup {
    html! {
        h3 { (texts::sentence(&headline_words(finding))) }
        @if !note.is_empty() { p.note { (texts::sentence(note)) } }
        p { (texts::name(&finding.subject.name)) @if let Some(source) = finding.subject.source.as_ref().filter(|source| **source != finding.subject.name) { " (" (texts::name(source)) ")" } }
        ul { @for signal in &finding.evidence { li { (texts::sentence(&figure_words(signal, style))) } } }
        p { "Remedy: " (texts::sentence(&finding.remedy.to_string())) "." }
        @if let Some(gain) = gain_words(finding, style) { p { "Predicted: " (texts::sentence(&gain)) "." } }
    }
}
