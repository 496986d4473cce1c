//! The requests of a run: errors with who is to blame, status codes, endpoints.
//!
//! Counts are those of the view. Does not calculate.

use knee_core::outcome::Blame;
use maud::{Markup, html};

use super::over_time;
use crate::html::table::{Table, cell, number, words};
use crate::html::words as texts;
use crate::number::{Scale, count};
use crate::text::Style;
use crate::text::section::common_origin;
use crate::text::times::{scale, short};
use crate::view::column::Columns;
use crate::view::request_stats::Error;
use crate::view::{EndpointStats, View};

/// Most endpoints of a page; the JSON has all.
const ENDPOINTS_MAX: usize = 500;
/// Endpoints that are not folded.
const ENDPOINTS_OPEN: usize = 25;
/// Most examples of one kind of error.
const EXAMPLES_MAX: usize = 3;

/// What the section on errors is about.
pub(super) fn blame(view: &View) -> String {
    if view.total.errors.is_empty() { String::new() } else { "By who is to blame.".to_owned() }
}

/// Errors by kind, status codes, failed requests over time.
pub(super) fn errors(view: &View, columns: &Columns) -> Markup {
    let errors = &view.total.errors;
    let failed = (view.total.not_ok() > 0).then(|| over_time::outcomes(view, columns)).flatten();
    html! {
        @if errors.is_empty() {
            p { @if view.total.not_ok() == 0 { "All requests ended ok." } @else { "The status codes say why requests were not ok." } }
        } @else {
            (kinds(errors))
        }
        @if failed.is_some() { (over_time::figures(&[failed], view, columns)) }
        @if !view.total.status.is_empty() {
            h3 { "Status codes" }
            (statuses(view))
        }
    }
}

fn kinds(errors: &[Error]) -> Markup {
    let columns = [words("blame"), number("requests"), words("what happened")];
    let mut table = Table::new("Errors and who is to blame", columns);
    for error in errors {
        let what = html! {
            (texts::sentence(&error.sentence()))
            @if let Some(explanation) = error.explanation() { "; " (texts::sentence(explanation)) }
            @for example in error.examples.iter().take(EXAMPLES_MAX) { span.example { (texts::name(example)) } }
        };
        table.rows.push(vec![cell(error.blame().map_or("–", Blame::name)), cell(count(error.count)), what]);
    }
    table.markup()
}

fn statuses(view: &View) -> Markup {
    let mut table = Table::new("Complete responses by status code", [words("status"), number("responses")]);
    let rows =
        view.total.status.iter().map(|(code, number)| vec![cell(code.to_string()), cell(count(*number))]);
    table.rows.extend(rows);
    table.markup()
}

/// The endpoints with most requests, all but the first ones folded; nothing if there is only one.
pub(super) fn endpoints(view: &View, style: &Style) -> Option<Markup> {
    let mut busy: Vec<_> = view.endpoints.iter().filter(|one| one.stats.books.planned > 0).collect();
    if busy.len() < 2 {
        return None;
    }
    busy.sort_by_key(|endpoint| std::cmp::Reverse(endpoint.stats.books.planned));
    let scale = scale(&view.total.response, style);
    let names: Vec<&str> = busy.iter().map(|endpoint| endpoint.name.as_str()).collect();
    let common = common_origin(&names);
    let (first, rest) = busy.split_at(busy.len().min(ENDPOINTS_OPEN));
    let rest = &rest[..rest.len().min(ENDPOINTS_MAX - ENDPOINTS_OPEN)];
    let table = |caption: &str, endpoints: &[&EndpointStats]| {
        let columns =
            ["requests", "not ok", "mean", "p50", "p90", "p99", "max", "service p50", "service p99"];
        let mut table = Table::new(caption, std::iter::once(words("endpoint")).chain(columns.map(number)));
        table.rows.extend(endpoints.iter().map(|endpoint| row(endpoint, common, scale)));
        table.markup()
    };
    let more = busy.len().saturating_sub(ENDPOINTS_MAX);
    Some(html! {
        p.remark {
            "Response times in " (scale.unit.name())
            @if let Some(origin) = common { ", of " (texts::name(origin)) }
            "."
        }
        (table("Endpoints with their response times", first))
        @if !rest.is_empty() {
            details {
                summary { "Show " (rest.len()) " more endpoints" }
                (table("More endpoints with their response times", rest))
            }
        }
        @if more > 0 { p.note { (count(more as u64)) " more in the JSON: " code { "endpoints" } "." } }
    })
}

/// An endpoint, without the origin that all of them have.
fn row(endpoint: &EndpointStats, common: Option<&str>, scale: Scale) -> Vec<Markup> {
    let stats = &endpoint.stats;
    let (response, service) = (&stats.response, &stats.service);
    let name = common.map_or_else(|| endpoint.name.clone(), |origin| endpoint.name.replacen(origin, "", 1));
    let times = [
        response.mean,
        response.percentile("p50"),
        response.percentile("p90"),
        response.percentile("p99"),
        response.max,
        service.percentile("p50"),
        service.percentile("p99"),
    ];
    let mut row = vec![texts::name(&name), cell(count(stats.books.planned)), cell(count(stats.not_ok()))];
    row.extend(times.map(|time| cell(short(time, scale))));
    row
}
