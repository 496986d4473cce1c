//! Claims and published figures, tied to measurements of this study.
//!
//! Does not judge a claim; see [`crate::study`].

use std::collections::BTreeMap;

use toml::Spanned;

use super::lookup::{Known, in_order, look_in, written};
use super::problem::Finder;
use super::raw::{self, Text};
use super::{Cell, Claim, Expectation, Published, Test, plan};
use crate::metric::{Direction, Metric, Scale, Unit};

/// All claims, in the order of the file. Claims without a valid test are noted and left out.
pub(super) fn claims(raw: BTreeMap<Text, raw::Claim>, known: &Known, finder: &mut Finder<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (id, raw) in in_order(raw) {
        if raw.text.get_ref().trim().is_empty() {
            finder.note(raw.text.span(), format!("claim `{}` has no text", id.get_ref()), "");
        }
        let (text, goal) = (raw.text.get_ref().clone(), raw.goal.unwrap_or(false));
        let words = |text: &Option<Text>| text.as_ref().map(|text| text.get_ref().trim().to_owned());
        let (published, like_for_like) = (words(&raw.published), words(&raw.like_for_like));
        if let Some(test) = test(&id, raw, known, finder) {
            claims.push(Claim { id: id.into_inner(), text, goal, published, like_for_like, test });
        }
    }
    claims
}

fn test(id: &Text, raw: raw::Claim, known: &Known, finder: &mut Finder<'_>) -> Option<Test> {
    if let Some(untestable) = untestable(id, &raw, finder) {
        return Some(untestable);
    }
    let (Some(variant), Some(workload), Some(metric)) = (&raw.variant, &raw.workload, &raw.metric) else {
        let what = format!("claim `{}` needs `variant`, `workload` and `metric`", id.get_ref());
        finder.note(id.span(), what, "give all three, or `untestable = \"why\"`");
        return None;
    };
    let variant_known = look_in("variant", variant, &known.variants, finder);
    let workload_known = look_in("workload", workload, &known.workloads, finder);
    let metric = plan::metric(metric, known, finder)?;
    if !variant_known || !workload_known {
        return None;
    }
    let cell = Cell::new(variant.get_ref(), workload.get_ref());
    misplaced(&raw, finder);
    of_slowest(&raw, metric, finder);
    of_script(workload, metric, known, finder);
    of_stream(workload, metric, known, finder);
    let named = raw.endpoint.as_ref();
    let cell = cell.at(named.and_then(|name| endpoint(name, workload.get_ref(), metric, known, finder)));
    let cell =
        cell.of_statement(raw.statement.as_ref().and_then(|name| statement(name, metric, known, finder)));
    if metric.is_by_statement() && raw.statement.is_none() {
        let what = format!("claim `{}` does not say of which statement {metric} is", id.get_ref());
        finder.note(id.span(), what, "declare it as [statements.NAME], and write `statement = \"NAME\"`");
    }
    let against = Against {
        variant: raw.against,
        workload: raw.against_workload,
        endpoint: raw.against_endpoint,
        statement: raw.against_statement,
    };
    match (raw.expect, &raw.change, raw.below.is_some() || raw.above.is_some()) {
        (Some(expect), None, false) => {
            let from = other_side(id, &cell, metric, against, known, finder)?;
            has_direction(id, metric, expect, finder);
            let at_least = raw.at_least.and_then(|factor| self::factor(&factor, metric, expect, finder));
            Some(Test::Comparison { from, to: cell, metric, expect, at_least })
        }
        (None, Some(change), false) => {
            let change = self::change(change, metric, finder);
            let within = raw.within.and_then(|within| plan::share("within", &within, finder));
            let from = other_side(id, &cell, metric, against, known, finder)?;
            Some(Test::Change { from, to: cell, metric, change: change?, within })
        }
        (None, None, true) => {
            let below = raw.below.and_then(|bound| figure(metric, &bound, finder));
            let above = raw.above.and_then(|bound| figure(metric, &bound, finder));
            let testable = raw.testable.map(Spanned::into_inner);
            Some(Test::Bound { cell, metric, below, above, testable })
        }
        _ => {
            let what = format!("claim `{}` needs one of `expect`, `change` and a bound", id.get_ref());
            finder.note(id.span(), what, "`expect = \"faster\"` against another variant, or `below = \"…\"`");
            None
        }
    }
}

/// A claim that no measurement here can decide, if it is declared as one.
fn untestable(id: &Text, raw: &raw::Claim, finder: &mut Finder<'_>) -> Option<Test> {
    let reason = raw.untestable.as_ref()?;
    let tested = raw.expect.is_some()
        || raw.change.is_some()
        || raw.below.is_some()
        || raw.above.is_some()
        || raw.workload.is_some()
        || raw.endpoint.is_some()
        || raw.statement.is_some();
    if tested || reason.trim().is_empty() {
        let what = format!("claim `{}` needs either a test or a reason in `untestable`", id.get_ref());
        finder.note(id.span(), what, "");
    }
    Some(Test::Untestable(reason.clone()))
}

/// Refuses a claim about the iterations of a workload that is one request.
fn of_script(workload: &Text, metric: Metric, known: &Known, finder: &mut Finder<'_>) {
    let request = known.of_one_endpoint.contains(workload.get_ref());
    if metric == Metric::IterationTime && request {
        let what = format!("workload `{}` is no script: it has no {metric}", workload.get_ref());
        finder.note(workload.span(), what, "use a metric of response times");
    }
}

/// Refuses a claim about events of a workload whose responses have none.
fn of_stream(workload: &Text, metric: Metric, known: &Known, finder: &mut Finder<'_>) {
    if metric.is_of_events() && known.without_events.contains(workload.get_ref()) {
        let what = format!("workload `{}` has no events: it has no {metric}", workload.get_ref());
        finder.note(workload.span(), what, plan::STREAMS);
    }
}

/// Keys that do nothing in the test of a claim.
fn misplaced(raw: &raw::Claim, finder: &mut Finder<'_>) {
    if let Some(factor) = raw.at_least.as_ref().filter(|_| raw.expect.is_none()) {
        finder.note(factor.span(), "`at_least` belongs to `expect`", "");
    }
    if let Some(within) = raw.within.as_ref().filter(|_| raw.change.is_none()) {
        finder.note(within.span(), "`within` belongs to `change`", "");
    }
    if let Some(name) = raw.against_endpoint.as_ref().filter(|_| raw.endpoint.is_none()) {
        finder.note(name.span(), "`against_endpoint` belongs to `endpoint`", "");
    }
    if let Some(name) = raw.against_statement.as_ref().filter(|_| raw.statement.is_none()) {
        finder.note(name.span(), "`against_statement` belongs to `statement`", "");
    }
    let bound = raw.below.is_some() || raw.above.is_some();
    if let Some(reason) = raw.testable.as_ref().filter(|reason| !bound || reason.get_ref().trim().is_empty())
    {
        finder.note(
            reason.span(),
            "`testable` gives the reason why a published bound can be tested on this machine",
            "leave it out where there is no bound",
        );
    }
}

/// The name of an endpoint, if the metric is measured of it. Which endpoints there are is known after the first trial.
fn endpoint(
    name: &Text,
    workload: &str,
    metric: Metric,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Option<String> {
    let written = name.get_ref().trim();
    let (what, hint) = if written.is_empty() {
        ("the name of an endpoint is missing".to_owned(), "as in \"GET /todos\"".to_owned())
    } else if written.split_once(' ').is_some_and(|(_, url)| url.contains("://")) {
        (format!("`{written}` has a host"), "write the method and the path, as in \"GET /todos\"".to_owned())
    } else if !metric.is_by_endpoint() {
        let of = Metric::ALL.iter().filter(|metric| metric.is_by_endpoint()).map(|metric| metric.name());
        let hint = format!("metrics of an endpoint: {}", of.collect::<Vec<_>>().join(", "));
        (format!("knee measures {metric} of all requests together, not of an endpoint"), hint)
    } else if known.of_one_endpoint.iter().any(|one| one == workload) {
        (format!("workload `{workload}` has one endpoint"), "leave out `endpoint`".to_owned())
    } else {
        return Some(written.to_owned());
    };
    finder.note(name.span(), what, hint);
    None
}

/// The name of a statement, if the metric is measured of it.
fn statement(name: &Text, metric: Metric, known: &Known, finder: &mut Finder<'_>) -> Option<String> {
    if !metric.is_by_statement() {
        let of = Metric::ALL.iter().filter(|metric| metric.is_by_statement()).map(|metric| metric.name());
        let hint = format!("metrics of a statement: {}", of.collect::<Vec<_>>().join(", "));
        finder.note(name.span(), format!("knee does not measure {metric} of a statement"), hint);
        return None;
    }
    look_in("statement", name, &known.statements, finder).then(|| name.get_ref().clone())
}

/// A metric without a better side cannot be faster.
fn has_direction(id: &Text, metric: Metric, expect: Expectation, finder: &mut Finder<'_>) {
    let judged = !matches!(expect, Expectation::More | Expectation::Less | Expectation::Same);
    if judged && metric.direction() == Direction::None {
        let what = format!("more {metric} is neither better nor worse");
        finder.note(id.span(), what, "write `expect = \"more\"` or `expect = \"less\"`");
    }
}

/// The slowest of a trial is one request. The size of its change would be one of geometric means of maxima, which
/// nothing published is, and so would a figure between two bounds.
fn of_slowest(raw: &raw::Claim, metric: Metric, finder: &mut Finder<'_>) {
    if metric != Metric::Max {
        return;
    }
    if let Some(size) = raw.change.as_ref().or(raw.at_least.as_ref()) {
        finder.note(
            size.span(),
            "the slowest request of a trial has no change whose size can be tested",
            "claim a bound: `below` is one of every request, `above` asks whether one is slower",
        );
    }
    if let (Some(_), Some(above)) = (&raw.below, &raw.above) {
        let what = "a claim about the slowest request has one bound";
        finder.note(above.span(), what, "make two claims: one with `below`, one with `above`");
    }
}

/// `2x`, `+34%`, or for shares `-2.5 points`.
fn change(text: &Text, metric: Metric, finder: &mut Finder<'_>) -> Option<f64> {
    let trimmed = text.get_ref().trim();
    let number = |suffix: &str| {
        let number = trimmed.strip_suffix(suffix)?.trim().trim_start_matches('+');
        number.parse::<f64>().ok().filter(|number| number.is_finite())
    };
    let change = match metric.scale() {
        Scale::Difference => {
            number("points").map(|points| points / 100.0).filter(|change| change.abs() <= 1.0)
        }
        Scale::Ratio => number("x")
            .filter(|factor| *factor > 0.0)
            .map(|factor| factor - 1.0)
            .or_else(|| number("%").map(|percent| percent / 100.0))
            .filter(|change| *change > -1.0),
    };
    if change.is_none() {
        let hint = match metric.scale() {
            Scale::Difference => "as in \"-2.5 points\"",
            Scale::Ratio => "as in \"2x\" or \"-34%\"",
        };
        finder.note(text.span(), format!("`{trimmed}` is not a change of {metric}"), hint);
    }
    change
}

/// What is written about the side that a claim compares with.
struct Against {
    variant: Option<Text>,
    workload: Option<Text>,
    endpoint: Option<Text>,
    statement: Option<Text>,
}

/// What the claim's side is compared with.
fn other_side(
    id: &Text,
    cell: &Cell,
    metric: Metric,
    against: Against,
    known: &Known,
    finder: &mut Finder<'_>,
) -> Option<Cell> {
    let written = [&against.variant, &against.workload, &against.endpoint, &against.statement];
    let Some(position) = written.into_iter().flatten().map(Spanned::span).next() else {
        let what = format!("claim `{}` does not say what it is compared with", id.get_ref());
        finder.note(id.span(), what, "write `against = \"VARIANT\"` or `against_workload = \"WORKLOAD\"`");
        return None;
    };
    let variant = against.variant.map(|name| {
        look_in("variant", &name, &known.variants, finder);
        name.into_inner()
    });
    let workload = against.workload.map(|name| {
        look_in("workload", &name, &known.workloads, finder);
        name.into_inner()
    });
    let workload = workload.unwrap_or_else(|| cell.workload.clone());
    let named = against.endpoint.as_ref().and_then(|name| endpoint(name, &workload, metric, known, finder));
    let other = Cell::new(variant.unwrap_or_else(|| cell.variant.clone()), workload)
        .at(named.or_else(|| cell.endpoint.clone()));
    let asked = against.statement.as_ref().and_then(|name| statement(name, metric, known, finder));
    let other = other.of_statement(asked.or_else(|| cell.statement.clone()));
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
    } else if matches!(expect, Expectation::Same | Expectation::NotFaster | Expectation::NotSlower) {
        finder.note(
            text.span(),
            "`at_least` belongs to a difference, not to `same`, `not-faster` or `not-slower`",
            "",
        );
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
        let cell = Cell::new(table.variant.get_ref(), table.workload.get_ref());
        let source = table.source.as_deref().or(source).unwrap_or_default();
        for (name, value) in in_order(table.figures) {
            let Some(metric) = plan::metric_of_trial(&name, known, finder) else { continue };
            let Some(value) = figure(metric, &value, finder) else { continue };
            if variant && workload {
                published.push(Published { cell: cell.clone(), metric, value, source: source.to_owned() });
            }
        }
    }
    published
}
