//! Formats figures, changes and intervals of metrics: three digits, a unit, a sign.
//!
//! Does not know verdicts; see [`super::words`].

use knee_core::unit::Nanos;
use knee_study::definition::Cell;
use knee_study::metric::{Metric, Unit};
use knee_study::study::{Conclusion, Estimate, Row, Spread};

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
        _ => format!("{} %", signed(change * 100.0, decimals(change))),
    }
}

/// Decimals of a percentage. One is enough, except for large falls: of what remains, two digits are to be seen, so that
/// a figure that is 2,600 times as low does not read as one that is gone.
fn decimals(change: f64) -> usize {
    let remains = (1.0 + change) * 100.0;
    if change > -0.99 || remains <= 0.0 {
        return 1;
    }
    (1 - remains.log10().floor() as i32).clamp(2, 6) as usize
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

/// A change with its confidence interval and its n: `-4.8 % (95 % CI -27.1 % to +24.4 %, 8 blocks)`.
pub fn estimate(metric: Metric, estimate: &Estimate, level: f64, n_blocks: usize) -> String {
    let blocks = count(n_blocks, "block");
    let interval = ends(metric, estimate)
        .map_or_else(|| blocks.clone(), |ends| format!("{:.0} % CI {ends}, {blocks}", level * 100.0));
    format!("{} ({interval})", change(metric, estimate.estimate))
}

/// The interval of a change as a cell.
pub fn interval(metric: Metric, estimate: Option<&Estimate>) -> String {
    estimate.and_then(|estimate| ends(metric, estimate)).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// About how many blocks an undecided effect needs, as a cell.
pub fn needed(blocks: Option<usize>) -> String {
    blocks.map_or_else(|| UNKNOWN.to_owned(), |blocks| format!("~{blocks}"))
}

/// A change without its sign, for what has both signs.
pub fn either_way(metric: Metric, change: f64) -> String {
    format!("± {}", unsigned(metric, change))
}

/// A change without its sign, as in "a change of 5.0 % or more".
pub fn unsigned(metric: Metric, change: f64) -> String {
    self::change(metric, change).trim_start_matches(['+', '-']).to_owned()
}

/// The heading of a column of confidence intervals.
pub fn interval_heading(level: f64) -> String {
    format!("{:.0} % CI", level * 100.0)
}

/// What a cell shows for something unknown.
pub const UNKNOWN: &str = "–";

/// The figure of a cell with the lowest and the highest block: of percentiles that of all blocks together, otherwise the
/// median of the blocks. Where requests failed, the percentile of the successful ones is beside it.
pub fn row(row: &Row) -> String {
    let figure = |value: f64, at_least: bool| {
        format!("{}{}", if at_least { "≥ " } else { "" }, figure(row.metric, value))
    };
    let middle = row.merged.map_or_else(
        || figure(row.spread.median, row.spread.at_least),
        |merged| figure(merged.value, merged.at_least),
    );
    let range = range(row.metric, &row.spread);
    let alone = row.successes.map(|value| format!("; ok only: {}", figure(value, false))).unwrap_or_default();
    format!("{middle}{range}{alone}")
}

/// The one figure that stands for a metric of a cell: of percentiles that of all blocks together, otherwise the median of
/// the blocks. `None` if it was not measured.
pub fn middle(conclusion: &Conclusion, cell: &Cell, metric: Metric) -> Option<f64> {
    let row = conclusion.timeline.iter().find(|row| row.cell == *cell && row.metric == metric)?;
    Some(row.merged.map_or(row.spread.median, |merged| merged.value))
}

/// The median of blocks, with the lowest and the highest.
pub fn spread(metric: Metric, spread: &Spread) -> String {
    let least = if spread.at_least { "≥ " } else { "" };
    format!("{least}{}{}", figure(metric, spread.median), range(metric, spread))
}

fn range(metric: Metric, spread: &Spread) -> String {
    if spread.n_blocks < 2 || spread.low >= spread.high {
        return String::new();
    }
    format!(" ({} – {})", figure(metric, spread.low), figure(metric, spread.high))
}

/// A number of things.
pub fn count(number: usize, one: &str) -> String {
    crate::number::counted(number as u64, one)
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
    fn what_remains_after_a_large_fall_can_be_read() {
        assert_eq!(change(Metric::Mean, -0.985), "-98.5 %");
        assert_eq!(change(Metric::Mean, -0.995), "-99.50 %");
        assert_eq!(change(Metric::Mean, -0.999_61), "-99.961 %");
        assert_eq!(change(Metric::Mean, -1.0), "-100.0 %");
    }

    #[test]
    fn an_estimate_has_its_interval_and_its_blocks() {
        let found = Estimate { estimate: -0.048, low: Some(-0.271), high: Some(0.244) };
        assert_eq!(
            estimate(Metric::Goodput, &found, 0.95, 8),
            "-4.8 % (95 % CI -27.1 % to +24.4 %, 8 blocks)"
        );
        let one = Estimate { low: None, high: None, ..found };
        assert_eq!(estimate(Metric::Goodput, &one, 0.95, 1), "-4.8 % (1 block)");
    }
}
