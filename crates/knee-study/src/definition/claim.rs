//! Claims and published figures, tied to measurements of this study.
//!
//! Does not judge a claim; see [`crate::study`].

use std::collections::BTreeMap;

use toml::Spanned;

use super::lookup::{Known, in_order, look_in, written};
use super::problem::Finder;
use super::raw::{self, Text};
use super::{Cell, Claim, Expectation, Published, Test, plan};
use crate::metric::{Metric, Unit};

/// All claims, in the order of the file. Claims without a valid test are noted and left out.
pub(super) fn claims(raw: BTreeMap<Text, raw::Claim>, known: &Known, finder: &mut Finder<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (id, raw) in in_order(raw) {
        if raw.text.get_ref().trim().is_empty() {
            finder.note(raw.text.span(), format!("claim `{}` has no text", id.get_ref()), "");
        }
        let text = raw.text.get_ref().clone();
        if let Some(test) = test(&id, raw, known, finder) {
            claims.push(Claim { id: id.into_inner(), text, test });
        }
    }
    claims
}

fn test(id: &Text, raw: raw::Claim, known: &Known, finder: &mut Finder<'_>) -> Option<Test> {
    if let Some(reason) = raw.untestable {
        let tested =
            raw.expect.is_some() || raw.below.is_some() || raw.above.is_some() || raw.workload.is_some();
        if tested || reason.trim().is_empty() {
            let what = format!("claim `{}` needs either a test or a reason in `untestable`", id.get_ref());
            finder.note(id.span(), what, "");
        }
        return Some(Test::Untestable(reason));
    }
    let (Some(variant), Some(workload), Some(metric)) = (raw.variant, raw.workload, raw.metric) else {
        let what = format!("claim `{}` needs `variant`, `workload` and `metric`", id.get_ref());
        finder.note(id.span(), what, "give all three, or `untestable = \"why\"`");
        return None;
    };
    let variant_known = look_in("variant", &variant, &known.variants, finder);
    let workload_known = look_in("workload", &workload, &known.workloads, finder);
    let metric = plan::metric(&metric, finder)?;
    if !variant_known || !workload_known {
        return None;
    }
    let cell = Cell { variant: variant.into_inner(), workload: workload.into_inner() };
    match (raw.expect, raw.below.is_some() || raw.above.is_some()) {
        (Some(expect), false) => {
            let from = other_side(id, &cell, raw.against, raw.against_workload, known, finder)?;
            let at_least = raw.at_least.and_then(|factor| self::factor(&factor, metric, expect, finder));
            Some(Test::Comparison { from, to: cell, metric, expect, at_least })
        }
        (None, true) => {
            if let Some(factor) = raw.at_least {
                finder.note(factor.span(), "`at_least` belongs to `expect`", "");
            }
            let below = raw.below.and_then(|bound| figure(metric, &bound, finder));
            let above = raw.above.and_then(|bound| figure(metric, &bound, finder));
            Some(Test::Bound { cell, metric, below, above })
        }
        _ => {
            let what = format!("claim `{}` needs either `expect` or a bound", id.get_ref());
            finder.note(id.span(), what, "`expect = \"faster\"` against another variant, or `below = \"…\"`");
            None
        }
    }
}

/// What the claim's side is compared with.
fn other_side(
    id: &Text,
    cell: &Cell,
    against: Option<Text>,
    against_workload: Option<Text>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Option<Cell> {
    if against.is_none() && against_workload.is_none() {
        let what = format!("claim `{}` does not say what it is compared with", id.get_ref());
        finder.note(id.span(), what, "write `against = \"VARIANT\"` or `against_workload = \"WORKLOAD\"`");
        return None;
    }
    let variant = against.filter(|name| look_in("variant", name, &known.variants, finder));
    let workload = against_workload.filter(|name| look_in("workload", name, &known.workloads, finder));
    let position = variant.as_ref().or(workload.as_ref()).map(Spanned::span)?;
    let other = Cell {
        variant: variant.map_or_else(|| cell.variant.clone(), Spanned::into_inner),
        workload: workload.map_or_else(|| cell.workload.clone(), Spanned::into_inner),
    };
    if other == *cell {
        finder.note(position, "this compares a variant with itself", "");
    }
    Some(other)
}

/// `2x`: a factor above 1.
fn factor(text: &Text, metric: Metric, expect: Expectation, finder: &mut Finder<'_>) -> Option<f64> {
    let number = text.get_ref().trim().strip_suffix('x').and_then(|number| number.trim().parse::<f64>().ok());
    let factor = number.filter(|factor| *factor > 1.0 && factor.is_finite());
    if factor.is_none() {
        finder.note(
            text.span(),
            format!("`{}` is not a factor above 1", text.get_ref()),
            "as in \"2x\" or \"1.25x\"",
        );
    } else if expect == Expectation::Same {
        finder.note(text.span(), "`at_least` belongs to `faster` and `slower`", "");
    } else if metric.unit() == Unit::Share {
        finder.note(
            text.span(),
            format!("{metric} have no factor"),
            "claim a bound instead, as `below = \"0.1%\"`",
        );
    }
    factor
}

fn figure(
    metric: Metric,
    value: &Spanned<knee_core::fixture::Setting>,
    finder: &mut Finder<'_>,
) -> Option<f64> {
    match metric.read(&written(value.get_ref())) {
        Ok(figure) => Some(figure),
        Err(error) => {
            finder.note(value.span(), error.to_string(), "");
            None
        }
    }
}

/// All published figures, in the order of the file.
pub(super) fn published(
    raw: Vec<raw::Published>,
    source: Option<&str>,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Vec<Published> {
    let mut published = Vec::new();
    for table in raw {
        let variant = look_in("variant", &table.variant, &known.variants, finder);
        let workload = look_in("workload", &table.workload, &known.workloads, finder);
        let cell = Cell { variant: table.variant.into_inner(), workload: table.workload.into_inner() };
        let source = table.source.as_deref().or(source).unwrap_or_default();
        for (name, value) in in_order(table.figures) {
            let Some(metric) = plan::metric(&name, finder) else { continue };
            let Some(value) = figure(metric, &value, finder) else { continue };
            if variant && workload {
                published.push(Published { cell: cell.clone(), metric, value, source: source.to_owned() });
            }
        }
    }
    published
}
