//! Figures and changes of a study in words.
//!
//! Does not calculate; a range is written as it comes.

use knee_study::metric::{Metric, Unit};
use knee_study::study::{Effect, Estimate, Spread};

use crate::number;

/// One figure with its unit.
pub(super) fn figure(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Time => number::time(value, None),
        Unit::PerSecond => format!("{}/s", number::rate(value)),
        Unit::Share => number::percent(value),
        Unit::Count => number::fixed(value, 2),
        Unit::Bytes => number::bytes(value),
    }
}

/// A number of things.
pub(super) fn counted(number: usize, one: &str) -> String {
    let many = if number == 1 { "" } else { "s" };
    format!("{} {one}{many}", number::count(number as u64))
}

/// The median of blocks and how far they reach.
pub(super) fn spread(metric: Metric, spread: &Spread) -> String {
    let least = if spread.at_least { "≥ " } else { "" };
    let median = figure(metric, spread.median);
    if spread.n_blocks < 2 {
        return format!("{least}{median}");
    }
    format!("{least}{median} ({} – {})", figure(metric, spread.low), figure(metric, spread.high))
}

/// A change: of shares in points, else in per cent or, from twice on, as a factor.
pub(super) fn change(metric: Metric, change: f64) -> String {
    match metric.unit() {
        Unit::Share => format!("{} points", signed(change * 100.0, 2)),
        _ if change >= 1.0 => format!("× {}", number::fixed(1.0 + change, 2)),
        _ => format!("{} %", signed(change * 100.0, 1)),
    }
}

/// With its sign, and without one if nothing is left of it.
fn signed(value: f64, decimals: usize) -> String {
    let text = number::fixed(value, decimals);
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|digit| matches!(digit, '0' | '.')) => rest.to_owned(),
        None if text.chars().any(|digit| matches!(digit, '1'..='9')) => format!("+{text}"),
        _ => text,
    }
}

/// The interval of a change; a single block has none.
pub(super) fn interval(metric: Metric, range: &Estimate) -> String {
    if (range.low, range.high) == (None, None) {
        return "–".to_owned();
    }
    let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| change(metric, end));
    format!("{} to {}", end(range.low), end(range.high))
}

/// The verdict with what an undecided one would take.
pub(super) fn verdict(effect: &Effect) -> String {
    match effect.blocks_needed {
        Some(blocks) => format!("{}: needs ~{blocks} blocks", effect.verdict.name()),
        None => effect.verdict.name().to_owned(),
    }
}
