//! Whether a run can be believed: every warning with what it means, the notes; what the load generator measured of
//! itself.
//!
//! Does not judge: the validity is part of the run.

use knee_core::validity::Warning;
use knee_core::validity::rule::{RULES, Rule};
use maud::{Markup, html};

use super::over_time;
use crate::View;
use crate::html::words;
use crate::text::Style;
use crate::text::validity::{count, figures as written, meaning, said};
use crate::view::column::Columns;

/// The section on the validity.
pub(super) fn section(view: &View) -> Markup {
    let report = &view.validity;
    html! {
        p {
            strong { (report.validity.name()) }
            ", " (count(report.warnings.len())) (meaning(report.validity)) "."
        }
        @for warning in &report.warnings { (self::warning(warning)) }
        @if !report.notes.is_empty() {
            h3 { "Notes" }
            ul { @for note in &report.notes { li { (words::sentence(note)) } } }
        }
    }
}

/// A warning, and what its rule says about it.
fn warning(warning: &Warning) -> Markup {
    let rule = RULES.iter().find(|rule| rule.code == warning.code);
    html! {
        h3 { (warning.validity.name()) ": " (words::sentence(&said(warning))) }
        dl.facts {
            @if !warning.hint.is_empty() { (fact("Hint", &warning.hint)) }
            @if let Some(rule) = rule { (explained(rule)) }
        }
    }
}

fn explained(rule: &Rule) -> Markup {
    let limit = |limit: &str| if limit.is_empty() { "never".to_owned() } else { limit.to_owned() };
    html! {
        (fact("Looks at", rule.looks_at))
        (fact("Suspect", &limit(rule.suspect)))
        (fact("Invalid", &limit(rule.invalid)))
        (fact("Cause", rule.cause))
        (fact("Remedy", rule.remedy))
    }
}

fn fact(name: &str, text: &str) -> Markup {
    html! { dt { (name) } dd { (words::sentence(text)) } }
}

/// What the load generator measured of itself.
pub(super) fn generator(view: &View, columns: &Columns, style: &Style) -> Markup {
    let charts = [over_time::generator_lag(view, columns), over_time::cpus(view, columns)];
    let measured = written(&view.validity.diagnostics, style.unit);
    html! {
        @if measured.is_empty() { p { "Nothing was measured." } }
        @else { ul { @for figure in &measured { li { (words::sentence(figure)) } } } }
        (over_time::figures(&charts, view, columns))
    }
}
