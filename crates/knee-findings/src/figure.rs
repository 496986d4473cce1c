//! Figures as they stand in sentences: three digits at most.
//!
//! Does not choose units for tables; `knee-report` does.

use knee_core::unit::Nanos;

/// `1,240`, `12.3`, `0.05`.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= 99.95 {
        return grouped(value.round());
    }
    let digits = if value.abs() >= 9.995 { 1 } else { 2 };
    let text = format!("{value:.digits$}");
    text.strip_suffix(".00").or_else(|| text.strip_suffix(".0")).map(str::to_owned).unwrap_or(text)
}

/// `61 %`, `0.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    let digits = usize::from(hundred.abs() < 9.95);
    format!("{hundred:.digits$} %")
}

/// `61.0 ms`.
pub(crate) fn seconds(seconds: f64) -> String {
    Nanos::from_secs_f64(seconds).to_string()
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    let mut text = String::from(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_at_most() {
        assert_eq!(
            [1_240.4, 99.96, 12.34, 9.996, 0.05, 2.0, 1e7].map(number),
            ["1,240", "100", "12.3", "10", "0.05", "2", "10,000,000"]
        );
        assert_eq!([0.613, 0.0052, 1.0].map(percent), ["61 %", "0.5 %", "100 %"]);
        assert_eq!(seconds(0.061), "61.0 ms");
    }
}
