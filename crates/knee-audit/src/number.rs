//! Printed numbers as intervals, and the units of load testing tools.
//!
//! A figure printed with two decimals stands for every value that rounds to it. Does not know what a figure measures.

/// Relative error of calculations with floating-point numbers.
const SLACK: f64 = 1e-9;

/// Longest number that is read, in characters.
const DIGITS_MAX: usize = 40;

/// Values from `low` to `high`, both included. Values of figures are not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// One value.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Values between two ends, in either order.
    pub const fn new(one: f64, other: f64) -> Self {
        Self { low: one.min(other), high: one.max(other) }
    }

    /// Every product of a value of each.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        Self { low: self.low * other.low, high: self.high * other.high }
    }

    /// Every quotient of a value of each; `None` if the divisor can be zero.
    pub fn over(self, other: Self) -> Option<Self> {
        (other.low > 0.0).then(|| Self { low: self.low / other.high, high: self.high / other.low })
    }

    /// Every sum of a value of each.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    /// Every difference of a value of each.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { low: self.low - other.high, high: self.high - other.low }
    }

    /// Every value times `factor`, which is not negative.
    #[must_use]
    pub const fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// The interval with a tolerance on both sides, as a share of its ends.
    #[must_use]
    pub fn widened(self, share: f64) -> Self {
        Self { low: self.low - self.low.abs() * share, high: self.high + self.high.abs() * share }
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub const fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether every value of this is less than every value of `other`.
    pub fn is_below(self, other: Self) -> bool {
        let slack = SLACK * self.high.abs().max(other.low.abs());
        self.high + slack < other.low
    }

    /// Whether the two have no value in common.
    pub fn excludes(self, other: Self) -> bool {
        self.is_below(other) || other.is_below(self)
    }

    /// The middle of the interval.
    pub const fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// A figure as it was printed, with the values that it can stand for. Times are in seconds, sizes in bytes, shares are
/// from 0 to 1, rates are per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As printed, with its unit.
    pub text: String,
    /// The printed value in the base unit.
    pub value: f64,
    /// Values that print like this.
    pub range: Range,
}

impl Figure {
    /// A figure that was not rounded.
    pub fn exact(value: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), value, range: Range::exact(value) }
    }

    /// A whole number of things.
    pub fn count(count: u64) -> Self {
        Self::exact(count as f64, group(count))
    }

    /// The figure in another unit: `factor` base units.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.value *= factor;
        self.range = self.range.scaled(factor);
        self
    }

    /// The figure with other words.
    #[must_use]
    pub fn named(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}

/// How a tool or an author shortens numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest value of the last digit.
    Nearest,
    /// Cut off after the last digit.
    Down,
    /// Either, or up: the last digit is within one.
    Any,
    /// By hand: like `Any`, and zeros at the end of a whole number can be rounded digits.
    Hand,
}

/// A number at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'a> {
    /// The value.
    pub value: f64,
    /// One unit of the last printed digit.
    pub step: f64,
    /// Whether the number has a sign for "about" before it.
    pub is_rough: bool,
    /// Whether it has no decimals.
    is_whole: bool,
    /// What follows the number.
    pub rest: &'a str,
}

impl Number<'_> {
    /// The values that print like this number.
    pub fn range(&self, rounding: Rounding) -> Range {
        let (below, above) = match rounding {
            Rounding::Nearest => (self.step / 2.0, self.step / 2.0),
            Rounding::Down => (0.0, self.step),
            Rounding::Any => (self.step, self.step),
            Rounding::Hand => (self.step.max(self.zeros() / 2.0), self.step.max(self.zeros() / 2.0)),
        };
        let rough = if self.is_rough { self.value * 0.1 } else { 0.0 };
        Range::new((self.value - below.max(rough)).max(0.0), self.value + above.max(rough))
    }

    /// The unit of the last digit that is not a zero, of a whole number.
    fn zeros(&self) -> f64 {
        if !self.is_whole {
            return 0.0;
        }
        let mut unit = 1.0;
        while self.value > 0.0 && (self.value / (unit * 10.0)).fract() == 0.0 {
            unit *= 10.0;
        }
        unit
    }
}

/// Reads a number that is not negative at the beginning of a text: `1,234.5`, `~20,000`, `0.1081`.
pub fn number(text: &str) -> Option<Number<'_>> {
    let trimmed = text.trim_start();
    let body = trimmed.trim_start_matches(['~', '≈']).trim_start();
    let is_rough = body.len() < trimmed.len();
    let bytes = body.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut digits = String::new();
    let mut decimals: Option<i32> = None;
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {
                digits.push(char::from(*byte));
                decimals = decimals.map(|count| count + 1);
            }
            b'.' if decimals.is_none() && digit(end + 1) && !digits.is_empty() => {
                digits.push('.');
                decimals = Some(0);
            }
            b',' | b'_' if decimals.is_none() && !digits.is_empty() && is_group(bytes, end + 1) => {}
            _ => break,
        }
        end += 1;
        if digits.len() > DIGITS_MAX {
            return None;
        }
    }
    let value: f64 = digits.parse().ok()?;
    let step = 10f64.powi(-decimals.unwrap_or(0));
    Some(Number { value, step, is_rough, is_whole: decimals.is_none(), rest: &body[end..] })
}

/// Whether exactly three digits begin at `at`.
fn is_group(bytes: &[u8], at: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    digit(at) && digit(at + 1) && digit(at + 2) && !digit(at + 3)
}

/// The letters at the beginning of a text, and what follows them.
pub fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// Seconds of a unit of time.
pub fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

/// Bytes of a unit of size. `kilo` is what `k` and `K` mean without an `i`.
fn bytes_of(unit: &str, kilo: f64) -> Option<f64> {
    Some(match unit {
        "B" | "byte" | "bytes" => 1.0,
        "kB" | "KB" | "Kbytes" => kilo,
        "MB" => kilo.powi(2),
        "GB" => kilo.powi(3),
        "TB" => kilo.powi(4),
        "KiB" => 1024.0,
        "MiB" => 1024f64.powi(2),
        "GiB" => 1024f64.powi(3),
        "TiB" => 1024f64.powi(4),
        _ => return None,
    })
}

/// The part of `text` before `rest`, which is its end.
fn consumed<'a>(text: &'a str, rest: &str) -> &'a str {
    text.get(..text.len() - rest.len()).unwrap_or(text).trim()
}

/// Reads a number without a unit, and returns what follows.
pub fn plain(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let figure = Figure {
        text: consumed(text, number.rest).to_owned(),
        value: number.value,
        range: number.range(rounding),
    };
    Some((figure, number.rest))
}

/// Reads a number followed by a unit that `factor_of` knows.
fn with_unit(
    text: &str,
    rounding: Rounding,
    factor_of: impl Fn(&str) -> Option<f64>,
) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let after = number.rest.strip_prefix([' ', '\u{a0}']).unwrap_or(number.rest);
    let (unit, rest) = word(after);
    let factor = factor_of(unit)?;
    let figure = Figure {
        text: consumed(text, rest).to_owned(),
        value: number.value * factor,
        range: number.range(rounding).scaled(factor),
    };
    Some((figure, rest))
}

/// Reads a time with its unit, as in `501.3ms`, `0.1081 secs` or `1m30s`, and returns what follows.
pub fn time(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let (mut sum, mut rest) = with_unit(text, rounding, seconds_of)?;
    // Of `1m30s`, only the last part is rounded.
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let Some((part, after)) = with_unit(rest, rounding, seconds_of) else { break };
        sum = Figure {
            text: consumed(text, after).to_owned(),
            value: sum.value + part.value,
            range: Range::exact(sum.value).plus(part.range),
        };
        rest = after;
    }
    Some((sum, rest))
}

/// Reads a size with its unit, as in `22.08 MiB`, and returns what follows.
pub fn size(text: &str, kilo: f64, rounding: Rounding) -> Option<(Figure, &str)> {
    with_unit(text, rounding, |unit| bytes_of(unit, kilo))
}

/// Reads a percentage as a share, and returns what follows the sign.
pub fn percent(text: &str, rounding: Rounding) -> Option<(Figure, &str)> {
    let number = number(text)?;
    let after = number.rest.trim_start_matches([' ', '\u{a0}']);
    let rest = after.strip_prefix('%').or_else(|| after.strip_prefix("percent"))?;
    let range = number.range(rounding).scaled(0.01);
    let figure = Figure { text: consumed(text, rest).to_owned(), value: number.value / 100.0, range };
    Some((figure, rest))
}

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

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
    }

    #[test]
    fn a_printed_number_stands_for_every_value_that_rounds_to_it() {
        let (figure, rest) = plain("0.1081 secs", Rounding::Nearest).unwrap();
        assert!(close(figure.range.low, 0.108_05) && close(figure.range.high, 0.108_15));
        assert_eq!((figure.text.as_str(), rest), ("0.1081", " secs"));
        let down = plain("12", Rounding::Down).unwrap().0.range;
        assert_eq!((down.low, down.high), (12.0, 13.0));
    }

    #[test]
    fn commas_group_digits_only_where_three_follow() {
        assert_eq!(number("3,957,982 x").unwrap().value, 3_957_982.0);
        assert_eq!(number("1,23").unwrap().value, 1.0);
        assert_eq!(number("1.5.2").unwrap().rest, ".2");
        assert!(number("x1").is_none());
        assert!(number(&"9".repeat(100)).is_none());
    }

    #[test]
    fn zeros_at_the_end_of_a_number_written_by_hand_can_be_rounded_digits() {
        let range = number("20,000").unwrap().range(Rounding::Hand);
        assert_eq!((range.low, range.high), (15_000.0, 25_000.0));
        let range = number("20,708").unwrap().range(Rounding::Hand);
        assert_eq!((range.low, range.high), (20_707.0, 20_709.0));
        let rough = number("~200").unwrap().range(Rounding::Nearest);
        assert_eq!((rough.low, rough.high), (180.0, 220.0));
    }

    #[test]
    fn times_are_read_in_every_unit_of_the_tools() {
        for (text, seconds) in [
            ("501.3ms", 0.5013),
            ("414.79µs", 0.000_414_79),
            ("12.92us", 0.000_012_92),
            ("1.27s", 1.27),
            ("1m30s", 90.0),
            ("0m53.7s", 53.7),
            ("1h2m3s", 3723.0),
            ("0.5 secs", 0.5),
            ("2 min", 120.0),
        ] {
            let figure = time(text, Rounding::Nearest).unwrap().0;
            assert!(close(figure.value, seconds), "{text}: {figure:?}");
            assert_eq!(figure.text, text);
        }
        assert!(time("12 apples", Rounding::Nearest).is_none());
    }

    #[test]
    fn sizes_and_percentages_are_read() {
        assert!(close(size("22.08 MiB", 1000.0, Rounding::Nearest).unwrap().0.value, 22.08 * 1_048_576.0));
        assert!(close(size("123 MB", 1000.0, Rounding::Nearest).unwrap().0.value, 123e6));
        assert!(close(percent("99.95% x", Rounding::Nearest).unwrap().0.value, 0.9995));
        assert!(percent("99.95", Rounding::Nearest).is_none());
    }

    #[test]
    fn intervals_exclude_one_another_only_without_a_common_value() {
        let (a, b) = (Range::new(1.0, 2.0), Range::new(2.0, 3.0));
        assert!(!a.excludes(b) && a.excludes(Range::new(2.1, 3.0)));
        assert!(!Range::exact(0.1 + 0.2).excludes(Range::exact(0.3)));
        assert_eq!(a.over(Range::new(0.0, 1.0)), None);
    }

    #[test]
    fn calculated_figures_have_three_digits() {
        assert_eq!(amount(131_920.6), "131,921");
        assert_eq!(amount(17.75), "17.8");
        assert_eq!(amount(0.0), "0");
        assert_eq!(show_time(0.001_516), "1.52 ms");
        assert_eq!(show_time(7.9), "7.90 s");
    }
}
