//! The section "Script": thresholds, checks and metrics of a script, without those of requests, which have other sections.
//!
//! Not below k6's summary, which has all of it. Does not calculate.

use super::ink::Tone;
use super::style::{Style, heading};
use super::table::{Cell, Side, Table};
use crate::number::count;
use crate::view::script::Script;
use crate::{View, clean};

/// Most rows of each kind that are listed; the JSON has all.
const ROWS_MAX: usize = 30;

/// The section; empty for the load of a URL.
pub fn lines(view: &View, style: &Style) -> Vec<String> {
    let script = Script::of(&view.metrics);
    if script.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Script", "what it limited, checked and counted", style)];
    let (thresholds, checks, metrics) = (thresholds(&script), checks(&script), metrics(&script));
    let more: usize =
        [&thresholds, &checks, &metrics].map(|rows| rows.len().saturating_sub(ROWS_MAX)).iter().sum();
    lines.extend(listed(["threshold", "limit", "value", ""], thresholds, style));
    lines.extend(listed(["check", "passed", "failed", ""], checks, style));
    lines.extend(listed(["metric", "value or mean", "p50", "p95"], metrics, style));
    if more > 0 {
        lines.push(format!("  {} more in the JSON: thresholds, checks, metrics", count(more as u64)));
    }
    lines.extend(script.left_out_in_words().map(|words| format!("  {words}")));
    lines
}

fn listed(names: [&'static str; 4], rows: Vec<Vec<Cell>>, style: &Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let sides = [Side::Flexible, Side::Right, Side::Right, Side::Right];
    let mut table = Table::new(std::array::from_fn::<_, 4, _>(|place| (names[place], sides[place])));
    rows.into_iter().take(ROWS_MAX).for_each(|row| table.row(row));
    table.lines(style.width, style.palette)
}

fn name(text: &str) -> Cell {
    clean::line(text).into_owned().into()
}

fn thresholds(script: &Script) -> Vec<Vec<Cell>> {
    let row = |limit: &crate::view::script::Limit| {
        let ending = if limit.holds { "held".into() } else { Cell::toned("crossed".to_owned(), Tone::Bad) };
        vec![name(&limit.metric), name(&limit.expression), limit.value.clone().into(), ending]
    };
    script.thresholds.iter().map(row).collect()
}

fn checks(script: &Script) -> Vec<Vec<Cell>> {
    let row = |check: &crate::view::script::Checked| {
        let tone = if check.fails > 0 { Tone::Bad } else { Tone::Plain };
        vec![
            name(&check.name),
            count(check.passes).into(),
            Cell::toned(count(check.fails), tone),
            check.share().into(),
        ]
    };
    script.checks.iter().map(row).collect()
}

fn metrics(script: &Script) -> Vec<Vec<Cell>> {
    let row = |metric: &crate::view::script::Counted| {
        let [first, second, third] = metric.figures.clone();
        vec![name(&metric.name), first.into(), second.into(), third.into()]
    };
    script.metrics.iter().map(row).collect()
}
