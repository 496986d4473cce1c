//! Figures and changes as a sentence has them.
//!
//! Does not lay out tables; a report formats the figures themselves.

use knee_core::unit::Nanos;

use crate::metric::{Metric, Unit};

/// A figure with its unit.
pub(super) fn figure(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Time => Nanos(value.max(0.0).round() as u64).to_string(),
        Unit::PerSecond => format!("{value:.1}/s"),
        Unit::Share => percent(value),
        Unit::Count => format!("{value:.2}"),
        Unit::Bytes => format!("{value:.0} bytes"),
    }
}

/// A share of 0 to 1.
pub(super) fn percent(share: f64) -> String {
    let decimals = if share.abs() < 0.01 { 2 } else { 1 };
    format!("{:.decimals$} %", share * 100.0)
}

/// A change: of shares in points, of everything else relative to what it was.
pub(super) fn change(metric: Metric, change: f64) -> String {
    match metric.unit() {
        Unit::Share => format!("{:+.2} points", change * 100.0),
        _ if change >= 1.0 => format!("{:.2} times", 1.0 + change),
        _ => format!("{:+.1} %", change * 100.0),
    }
}

/// A number of things.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
