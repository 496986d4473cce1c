//! Formats figures and changes for sentences and table cells: three digits, a unit, a sign.
//!
//! The study's own sentences and all reports use it. Does not lay out tables.

use knee_core::unit::Nanos;

use super::estimate::Estimate;
use crate::metric::{Metric, Unit};
use crate::statistics::verdict::Verdict;

/// A figure with its unit.
pub fn figure(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Time => Nanos(value.max(0.0).round() as u64).to_string(),
        Unit::PerSecond => format!("{}/s", three_digits(value)),
        Unit::Share => percent(value),
        Unit::Count => three_digits(value),
        Unit::Bytes => bytes(value),
    }
}

/// Three significant digits, in groups of three; a dash for what is no number.
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = |value: f64| value.abs().log10().floor() as i32;
    let step = 10_f64.powi(magnitude(value) - 2);
    let rounded = (value / step).round() * step;
    let decimals = (2 - magnitude(rounded)).max(0) as usize;
    let text = format!("{rounded:.decimals$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, rest) = digits.find('.').map_or((digits, ""), |point| digits.split_at(point));
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{sign}{}{rest}", groups.join(","))
}

/// A share of 0 to 1. One above zero never reads "0", one below one never "100".
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => "–".to_owned(),
        p if p > 0.0 && p < 0.01 => "< 0.01 %".to_owned(),
        p if p < 100.0 && p > 99.99 => "> 99.99 %".to_owned(),
        p if p == 0.0 || (p - 100.0).abs() < f64::EPSILON => format!("{p:.0} %"),
        p if !(1.0..=99.0).contains(&p) => format!("{p:.2} %"),
        p => format!("{p:.1} %"),
    }
}

/// A size in binary units.
fn bytes(bytes: f64) -> String {
    let mut value = bytes;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        // 1023.5 would round to four digits.
        if value.abs() < 1023.5 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{} {unit}", three_digits(value))
}

/// A change: for shares in points, otherwise in per cent or, from a doubling on, as a factor.
pub fn change(metric: Metric, change: f64) -> String {
    match metric.unit() {
        Unit::Share => format!("{} points", signed(change * 100.0, 2)),
        _ if change >= 1.0 => factor(1.0 + change),
        _ => format!("{} %", signed(change * 100.0, 1)),
    }
}

/// A factor, as `20.3×`.
pub fn factor(factor: f64) -> String {
    format!("{}×", three_digits(factor))
}

/// With its sign, and without one if it rounds to zero.
fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|digit| matches!(digit, '0' | '.')) => rest.to_owned(),
        None if text.chars().any(|digit| matches!(digit, '1'..='9')) => format!("+{text}"),
        _ => text,
    }
}

/// Both ends of a confidence interval; `None` for a single block, which has none.
pub fn ends(metric: Metric, estimate: &Estimate) -> Option<String> {
    if (estimate.low, estimate.high) == (None, None) {
        return None;
    }
    let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| change(metric, end));
    Some(format!("{} to {}", end(estimate.low), end(estimate.high)))
}

/// A change with its confidence interval and its n: `-4.8 % (95 % CI -27.1 % to +24.4 %, 8 blocks)`. Omits the `level`
/// of the interval if it is not the same for all: in a quick study it depends on the number of measured metrics.
pub fn estimate(metric: Metric, estimate: &Estimate, level: Option<f64>, n_blocks: usize) -> String {
    let blocks = count(n_blocks, "block");
    let level = level.map_or_else(String::new, |level| format!("{:.0} % ", level * 100.0));
    let interval =
        ends(metric, estimate).map_or(blocks.clone(), |ends| format!("{level}CI {ends}, {blocks}"));
    format!("{} ({interval})", change(metric, estimate.estimate))
}

/// A verdict in a sentence. A quick study never calls two sides the same: it detects large changes only.
pub fn verdict(metric: Metric, verdict: Verdict, margin: f64, quick: bool) -> String {
    match verdict {
        Verdict::Same if quick => {
            format!("no change of {} or more", change(metric, margin).trim_start_matches('+'))
        }
        verdict => verdict.name().to_owned(),
    }
}

/// A number of things.
pub fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(number)) }
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_digits_and_a_unit() {
        for (value, text) in [
            (12_573.7, "12,600"),
            (999.6, "1,000"),
            (40.87, "40.9"),
            (0.012_34, "0.0123"),
            (-20.31, "-20.3"),
            (0.0, "0"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(three_digits(value), text);
        }
        assert_eq!(figure(Metric::Goodput, 1_234_567.0), "1,230,000/s");
        assert_eq!(figure(Metric::Memory, 12_900_000.0), "12.3 MiB");
        assert_eq!(figure(Metric::Errors, 1e-6), "< 0.01 %");
    }

    #[test]
    fn a_change_is_a_factor_from_twice_on_and_points_of_a_share() {
        assert_eq!(change(Metric::Goodput, 19.31), "20.3×");
        assert_eq!(change(Metric::Goodput, -0.048), "-4.8 %");
        assert_eq!(change(Metric::Goodput, 0.000_01), "0.0 %");
        assert_eq!(change(Metric::Errors, 0.001), "+0.10 points");
    }

    #[test]
    fn an_estimate_has_its_interval_and_its_blocks() {
        let found = Estimate { estimate: -0.048, low: Some(-0.271), high: Some(0.244) };
        assert_eq!(
            estimate(Metric::Goodput, &found, Some(0.95), 8),
            "-4.8 % (95 % CI -27.1 % to +24.4 %, 8 blocks)"
        );
        let one = Estimate { low: None, high: None, ..found };
        assert_eq!(estimate(Metric::Goodput, &one, Some(0.95), 1), "-4.8 % (1 block)");
    }
}
