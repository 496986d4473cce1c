//! What a script limited, checked and counted: three tables.
//!
//! Does not calculate; see [`crate::view::script`].

use maud::{Markup, html};

use crate::View;
use crate::html::table::{Table, cell, number, words};
use crate::html::words as texts;
use crate::number::count;
use crate::view::script::Script;

/// Most rows of a table; the data of the page has all.
const ROWS_MAX: usize = 500;

/// The tables; `None` for the load of a URL.
pub(super) fn section(view: &View) -> Option<Markup> {
    let script = Script::of(&view.metrics);
    let tables = [thresholds(&script), checks(&script), metrics(&script)];
    (!script.is_empty()).then(|| {
        html! {
            @for (mut table, left_out) in tables.into_iter().map(shortened) {
                @if !table.rows.is_empty() { (std::mem::replace(&mut table, Table::new("", [])).markup()) }
                @if left_out > 0 { p.note { (count(left_out)) " more are in the data of this page." } }
            }
            @if let Some(words) = script.left_out_in_words() { p.note { (words) "." } }
        }
    })
}

/// As many rows as a page shows, and how many it does not.
fn shortened(mut table: Table) -> (Table, u64) {
    let left_out = table.rows.len().saturating_sub(ROWS_MAX) as u64;
    table.rows.truncate(ROWS_MAX);
    (table, left_out)
}

fn thresholds(script: &Script) -> Table {
    let columns = [words("Metric"), words("Limit"), number("Value"), words("Ended")];
    let mut table = Table::new("Thresholds of the script, over the whole load", columns);
    table.rows = script
        .thresholds
        .iter()
        .map(|limit| {
            let ending = if limit.holds {
                cell("held")
            } else {
                html! { strong.bad { "✕ crossed" } }
            };
            vec![texts::name(&limit.metric), texts::name(&limit.expression), cell(&limit.value), ending]
        })
        .collect();
    table
}

fn checks(script: &Script) -> Table {
    let mut table =
        Table::new("Checks", [words("Check"), number("Passed"), number("Failed"), number("Share passed")]);
    table.rows = script
        .checks
        .iter()
        .map(|check| {
            let failed = count(check.fails);
            let failed = if check.fails > 0 {
                html! { strong.bad { (failed) } }
            } else {
                cell(failed)
            };
            vec![texts::name(&check.name), cell(count(check.passes)), failed, cell(check.share())]
        })
        .collect();
    table
}

fn metrics(script: &Script) -> Table {
    let columns = [words("Metric"), number("Value or mean"), number("p50"), number("p95")];
    let mut table = Table::new("Metrics of the script", columns);
    table.rows = script
        .metrics
        .iter()
        .map(|metric| {
            std::iter::once(texts::name(&metric.name)).chain(metric.figures.iter().map(cell)).collect()
        })
        .collect();
    table
}
