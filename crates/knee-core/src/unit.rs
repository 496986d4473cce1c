//! Units: a point or span of time in nanoseconds, and how people write them.
//!
//! Does not read a clock (see [`crate::clock`]) and does not choose a unit for a whole table; `knee-report` does.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A span of time, or a point on a run's own clock (zero is the start of the
/// run), in whole nanoseconds. Range 0 to about 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of a run, or no time at all.
    pub const ZERO: Self = Self(0);
    /// Later than anything a run can contain; stands for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// A number of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A number of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A number of seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The nearest nanosecond to `secs`; negative and NaN become zero, too large becomes `MAX`.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    /// The count of nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// As seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self - earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, or `MAX` instead of wrapping.
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

/// The largest unit that keeps the number at or above one, to three significant digits.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => return f.pad("0 s"),
            n if n < 1_000 => return f.pad(&format!("{n} ns")),
            n if n < 1_000_000 => (n as f64 / 1e3, "us"),
            n if n < 1_000_000_000 => (n as f64 / 1e6, "ms"),
            n if n < 120_000_000_000 => (n as f64 / 1e9, "s"),
            n => (n as f64 / 6e10, "min"),
        };
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

/// Why a duration could not be read. The message quotes the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration")]
pub struct DurationError(String);

/// Reads `10s`, `1m30s`, `500ms`, `250us`, `2h`, `1d`, fractions (`1.5s`), and a
/// bare number as seconds.
impl FromStr for Nanos {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let error = || DurationError(text.to_owned());
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(error());
        }
        let mut total = 0.0;
        while !rest.is_empty() {
            let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number: f64 = rest[..number_len].parse().map_err(|_| error())?;
            rest = rest[number_len..].trim_start();
            let unit_len = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
            let scale = match rest[..unit_len].trim() {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "" | "s" | "sec" | "secs" => 1.0,
                "m" | "min" | "mins" => 60.0,
                "h" | "hr" | "hrs" => 3_600.0,
                "d" => 86_400.0,
                _ => return Err(error()),
            };
            total += number * scale;
            rest = rest[unit_len..].trim_start();
        }
        // A century is more than anyone means, and keeps later sums far from overflow.
        if !total.is_finite() || total > 3.2e9 {
            return Err(error());
        }
        Ok(Self::from_secs_f64(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("10s", 10_000_000_000),
            ("1m30s", 90_000_000_000),
            ("500ms", 500_000_000),
            ("1.5s", 1_500_000_000),
            ("250us", 250_000),
            ("3", 3_000_000_000),
            ("1h 5m", 3_900_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in ["", " ", "s", "10x", "-1s", "1..2s", "NaN", "1e9", "inf", "99999999999h", "10 s x"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_span_prints_in_the_unit_that_fits_it() {
        for (nanos, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (1_500, "1.50 us"),
            (12_340_000, "12.3 ms"),
            (60_000_000_000, "60.0 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }
}
