//! Numbers as people read them: grouped digits, sizes, shares, times in a chosen unit.
//!
//! The same number always gives the same text, whatever the locale. Does not choose which numbers to show.

use std::fmt;
use std::str::FromStr;

/// A unit of time for a whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    M,
    /// Hours.
    H,
}

impl Unit {
    /// Every unit, ascending.
    pub const ALL: [Self; 6] = [Self::Ns, Self::Us, Self::Ms, Self::S, Self::M, Self::H];

    /// The name used in tables and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
            Self::M => "m",
            Self::H => "h",
        }
    }

    /// How many nanoseconds it has.
    pub const fn nanos(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
            Self::M => 60e9,
            Self::H => 3_600e9,
        }
    }

    /// The unit that suits times around `typical` that reach up to `largest` (both nanoseconds):
    /// milliseconds, unless everything is much smaller or the typical time is a second or more.
    pub fn fitting(typical: f64, largest: f64) -> Self {
        match (typical, largest) {
            (typical, _) if typical >= 1e9 => Self::S,
            (typical, largest) if typical >= 1e5 || largest >= 1e7 => Self::Ms,
            (typical, largest) if typical >= 1e3 || largest >= 1e4 => Self::Us,
            (_, largest) if largest >= 1.0 => Self::Ns,
            _ => Self::Ms,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a unit could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a unit of time; ns, us, ms, s, m and h are", self.0)
    }
}

impl std::error::Error for UnitError {}

impl FromStr for Unit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let known = Self::ALL.into_iter().find(|unit| unit.name() == text);
        known.ok_or_else(|| UnitError(text.to_owned()))
    }
}

/// How a column of times is written: a unit and a number of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The unit.
    pub unit: Unit,
    /// Decimals, 0 to 6.
    pub decimals: usize,
}

impl Scale {
    /// Three significant digits for a time of `typical` nanoseconds in `unit`: one to four
    /// decimals, but none below a nanosecond.
    pub fn new(unit: Unit, typical: f64) -> Self {
        let magnitude = (typical / unit.nanos()).max(1e-9).log10().floor() as i32;
        Self { unit, decimals: (2 - magnitude).clamp(1, 4).min(finest(unit)) as usize }
    }

    /// Adds the decimals that are needed to distinguish times that differ by `step` nanoseconds.
    #[must_use]
    pub fn telling(self, step: f64) -> Self {
        let magnitude = (step / self.unit.nanos()).max(1e-9).log10().floor() as i32;
        let telling = (-magnitude).clamp(0, finest(self.unit)) as usize;
        Self { decimals: self.decimals.max(telling), ..self }
    }

    /// The number alone, without its unit.
    pub fn write(self, nanos: f64) -> String {
        fixed(nanos / self.unit.nanos(), self.decimals)
    }
}

/// Decimals that reach down to a nanosecond.
fn finest(unit: Unit) -> i32 {
    unit.nanos().log10().ceil() as i32
}

/// A whole number in groups of three digits.
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// A number of things: `1 request`, `2,000 requests`. `one` is the word for one of them.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A number with a fixed number of decimals, in groups of three digits. A number that is not
/// finite is a dash.
pub fn fixed(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{number:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", group(whole)),
        None => group(&text),
    }
}

/// Puts a comma after every third digit from the right. The text is an optional minus and digits.
fn group(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    grouped.push_str(sign);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A rate per second; one decimal below 100,000.
pub fn rate(per_second: f64) -> String {
    fixed(per_second, usize::from(per_second.abs() < 1e5))
}

/// A level or a rate in three to four digits.
pub fn level(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v.fract() == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    fixed(value, decimals)
}

/// A size in binary units, three significant digits.
pub fn bytes(bytes: f64) -> String {
    if bytes.abs() < 1024.0 {
        return format!("{} B", fixed(bytes, 0));
    }
    let mut value = bytes / 1024.0;
    let mut unit = "KiB";
    for next in ["MiB", "GiB", "TiB", "PiB"] {
        // 1023.5 would round to four digits.
        if value.abs() < 1023.5 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{} {unit}", fixed(value, decimals))
}

/// A share of 0 to 1 in per cent. A share above 0 never reads "0", and a share below 1 never reads "100".
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if !p.is_finite() => "–".to_owned(),
        p if p > 0.0 && p < 0.01 => "< 0.01 %".to_owned(),
        p if p < 100.0 && p > 99.99 => "> 99.99 %".to_owned(),
        p if p == 0.0 || (p - 100.0).abs() < f64::EPSILON => format!("{p:.0} %"),
        p if !(1.0..=99.0).contains(&p) => format!("{p:.2} %"),
        p => format!("{p:.1} %"),
    }
}

/// A share in per cent, with as many decimals as distinguish it from a limit that it missed.
pub fn percent_apart(share: f64, limit: f64) -> String {
    let usual = percent(share);
    if usual != percent(limit) {
        return usual;
    }
    let written = |share: f64, decimals: usize| format!("{} %", fixed(share * 100.0, decimals));
    let apart = (2..=6).find(|decimals| written(share, *decimals) != written(limit, *decimals));
    apart.map_or(usual, |decimals| written(share, decimals))
}

/// A time with as many decimals as distinguish it from a limit that it missed; both in nanoseconds.
pub fn time_apart(nanos: f64, limit: f64) -> String {
    let usual = time(nanos, None);
    if usual != time(limit, None) {
        return usual;
    }
    let unit = Unit::ALL.into_iter().take(4).rev().find(|unit| limit >= unit.nanos()).unwrap_or(Unit::Ns);
    let written = |nanos: f64, decimals: usize| format!("{} {unit}", fixed(nanos / unit.nanos(), decimals));
    let apart = (1..=finest(unit).unsigned_abs() as usize)
        .find(|decimals| written(nanos, *decimals) != written(limit, *decimals));
    apart.map_or(usual, |decimals| written(nanos, decimals))
}

/// A time with three significant digits, in the unit `given` or, without one, in the unit that fits.
pub fn time(nanos: f64, given: Option<Unit>) -> String {
    let Some(unit) = given else {
        return knee_core::unit::Nanos(nanos.max(0.0).round() as u64).to_string();
    };
    let value = nanos / unit.nanos();
    let decimals = match value {
        v if v == 0.0 || v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v => (2 - v.log10().floor() as i32).clamp(3, 6) as usize,
    };
    let decimals = if unit == Unit::Ns { 0 } else { decimals };
    format!("{} {unit}", fixed(value, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_a_word_without_an_s() {
        let words = [0, 1, 2, 2_000].map(|number| counted(number, "request"));
        assert_eq!(words, ["0 requests", "1 request", "2 requests", "2,000 requests"]);
    }

    #[test]
    fn digits_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(fixed(-1234.5, 2), "-1,234.50");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(fixed(f64::INFINITY, 2), "–");
    }

    #[test]
    fn sizes_have_three_digits() {
        for (size, text) in [
            (0.0, "0 B"),
            (1023.0, "1,023 B"),
            (1024.0, "1.00 KiB"),
            (12_900_000.0, "12.3 MiB"),
            (1_048_575.0, "1.00 MiB"),
            (1.2e18, "1,066 PiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn nearly_nothing_and_nearly_all_are_not_rounded_to_nothing_and_all() {
        for (share, text) in [
            (0.0, "0 %"),
            (1e-7, "< 0.01 %"),
            (0.0012, "0.12 %"),
            (0.4321, "43.2 %"),
            (0.999_95, "> 99.99 %"),
            (1.0, "100 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn a_figure_that_missed_a_limit_never_reads_like_the_limit() {
        for (share, limit, text) in [
            (0.989_6, 0.99, "98.96 %"),
            (0.93, 0.99, "93.0 %"),
            (0.010_04, 0.01, "1.004 %"),
            (0.001_000_5, 0.001, "0.1001 %"),
            (0.2, 0.01, "20.0 %"),
        ] {
            assert_eq!(percent_apart(share, limit), text);
        }
        for (nanos, limit, text) in [
            (100_300_000.0, 100e6, "100.3 ms"),
            (100_000_001.0, 100e6, "100.000001 ms"),
            (1_560_000_000.0, 50e6, "1.56 s"),
            (50_000_100.0, 50e6, "50.0001 ms"),
        ] {
            assert_eq!(time_apart(nanos, limit), text);
        }
    }

    #[test]
    fn a_table_uses_the_unit_of_its_typical_time() {
        assert_eq!(Unit::fitting(1.2e6, 2e9), Unit::Ms);
        assert_eq!(Unit::fitting(45_000.0, 900_000.0), Unit::Us);
        assert_eq!(Unit::fitting(45_000.0, 12e6), Unit::Ms);
        assert_eq!(Unit::fitting(5e9, 12e9), Unit::S);
        assert_eq!(Unit::fitting(120.0, 900.0), Unit::Ns);
        assert_eq!(Unit::fitting(0.0, 0.0), Unit::Ms);
    }

    #[test]
    fn a_small_time_keeps_three_digits_in_a_coarse_unit() {
        assert_eq!(Scale::new(Unit::Ms, 45_300.0).write(45_300.0), "0.0453");
        assert_eq!(Scale::new(Unit::Ms, 1.5e6).write(2e9), "2,000.00");
        assert_eq!(Scale::new(Unit::Ns, 150.0).write(151.0), "151");
        assert_eq!(Scale::new(Unit::Ms, 1e8).write(123_456_789.0), "123.5");
        assert_eq!(Scale::new(Unit::Ms, 1e6).telling(100.0).write(1_000_100.0), "1.0001");
        assert_eq!(time(1_234_567.0, Some(Unit::S)), "0.00123 s");
        assert_eq!(time(1_234_567.0, None), "1.23 ms");
    }

    #[test]
    fn units_are_read_by_their_names() {
        for unit in Unit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
        assert!("sec".parse::<Unit>().is_err());
    }
}
