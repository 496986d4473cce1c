//! Numbers, times, shares and intervals as reports print them.
//!
//! Does not read or round what tools printed.

use super::Range;

/// A whole number with commas between groups of three digits.
pub fn group(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value with at least three digits: `791`, `131,921`, `17.8`, `0.0468`.
pub fn amount(value: f64) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if size >= 100.0 {
        return format!("{sign}{}", group(size.round() as u64));
    }
    let decimals = if size == 0.0 { 0 } else { (2.0 - size.log10().floor()).clamp(0.0, 9.0) as usize };
    format!("{value:.decimals$}")
}

/// A time in the unit that suits it.
pub fn show_time(seconds: f64) -> String {
    let (factor, unit) = match seconds.abs() {
        size if size >= 1.0 || size == 0.0 => (1.0, "s"),
        size if size >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "us"),
    };
    format!("{} {unit}", amount(seconds * factor))
}

/// A share as a percentage.
pub fn show_share(share: f64) -> String {
    format!("{} %", amount(share * 100.0))
}

/// A range as `low to high`, or as one value if both print alike.
pub fn show_range(range: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(range.low), show(range.high));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculated_figures_have_three_digits() {
        assert_eq!(amount(131_920.6), "131,921");
        assert_eq!(amount(17.75), "17.8");
        assert_eq!(amount(0.0), "0");
        assert_eq!(show_time(0.001_516), "1.52 ms");
        assert_eq!(show_time(7.9), "7.90 s");
    }
}
