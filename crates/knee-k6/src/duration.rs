//! Spans of time as k6's options write them: `1m30s`, `1d2h`, and bare numbers as milliseconds.
//!
//! Does not share a grammar with [`knee_core::unit::Nanos`], in which a bare number means seconds. Spans can be
//! negative, so that validation can report it.

use std::fmt;

use knee_core::unit::Nanos;

/// A span of time in nanoseconds, negative ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedDuration(pub i64);

/// Why a text is not a span. Reads as k6 says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Nothing that could be a duration.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number without its unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// An unknown unit.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// What stands where the unit should.
        unit: String,
        /// The whole text.
        text: String,
    },
}

const NANOS_PER_DAY: f64 = 86_400e9;

impl SignedDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A number of whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// A number of milliseconds, as bare numbers in options are; `None` when out of range or not finite.
    pub fn from_millis_f64(millis: f64) -> Option<Self> {
        from_nanos_f64(millis * 1e6)
    }

    /// Reads an option of a script, a variable or a configuration file: a bare number is milliseconds.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        match text.parse::<f64>() {
            Ok(millis) if looks_like_number(text) => {
                Self::from_millis_f64(millis).ok_or_else(|| DurationError::Invalid(text.to_owned()))
            }
            _ => Self::parse_with_days(text),
        }
    }

    /// Reads a flag such as `--duration`: every number needs a unit, `0` excepted; days are allowed.
    pub fn parse_flag(text: &str) -> Result<Self, DurationError> {
        Self::parse_with_days(text)
    }

    /// Reads a span as Go's own parser does: every number needs a unit, `0` excepted, and there are no days.
    pub fn parse_go(text: &str) -> Result<Self, DurationError> {
        parse_units(text, text)
    }

    /// As the unsigned time of a plan; negative becomes zero.
    pub fn to_nanos(self) -> Nanos {
        Nanos(u64::try_from(self.0).unwrap_or(0))
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    fn parse_with_days(text: &str) -> Result<Self, DurationError> {
        let Some((days, rest)) = text.split_once('d') else { return parse_units(text, text) };
        let days: f64 =
            days.parse::<u32>().map(f64::from).map_err(|_| DurationError::Invalid(text.to_owned()))?;
        let rest = if rest.is_empty() { Self::ZERO } else { parse_units(rest, text)? };
        from_nanos_f64(days * NANOS_PER_DAY + rest.0 as f64)
            .ok_or_else(|| DurationError::Invalid(text.to_owned()))
    }
}

/// `f64::from_str` also takes `inf` and `nan`, which are no numbers here.
fn looks_like_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        && !text.to_ascii_lowercase().contains("inf")
}

fn from_nanos_f64(nanos: f64) -> Option<SignedDuration> {
    (nanos.is_finite() && nanos.abs() < 9.2e18).then_some(SignedDuration(nanos.round() as i64))
}

/// Reads `[-+]` and then numbers with units, without a gap. `whole` is what messages quote.
fn parse_units(text: &str, whole: &str) -> Result<SignedDuration, DurationError> {
    let invalid = || DurationError::Invalid(whole.to_owned());
    let (sign, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().map_err(|_| invalid())?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        nanos += number * unit(&rest[..end], whole)?;
        rest = &rest[end..];
    }
    from_nanos_f64(sign * nanos).ok_or_else(invalid)
}

/// Nanoseconds in one `name`.
fn unit(name: &str, whole: &str) -> Result<f64, DurationError> {
    match name {
        "ns" => Ok(1.0),
        "us" | "µs" | "μs" => Ok(1e3),
        "ms" => Ok(1e6),
        "s" => Ok(1e9),
        "m" => Ok(60e9),
        "h" => Ok(3_600e9),
        "" => Err(DurationError::MissingUnit(whole.to_owned())),
        _ => Err(DurationError::UnknownUnit { unit: name.to_owned(), text: whole.to_owned() }),
    }
}

/// As k6 prints one: `1m30s`, `10m0s`, `31.5s`, `100ms`, `0s`.
impl fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            0 => f.write_str("0s"),
            n if n < 1_000 => write!(f, "{n}ns"),
            n if n < 1_000_000 => write!(f, "{}µs", decimal(n, 1_000)),
            n if n < 1_000_000_000 => write!(f, "{}ms", decimal(n, 1_000_000)),
            n => clock_face(n, f),
        }
    }
}

/// Hours and minutes only where they are not zero from the left, seconds always.
fn clock_face(nanos: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let minutes = nanos / 60_000_000_000;
    let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => write!(f, "{seconds}s"),
        (0, minutes) => write!(f, "{minutes}m{seconds}s"),
        (hours, minutes) => write!(f, "{hours}h{minutes}m{seconds}s"),
    }
}

/// `value / scale` in decimal, exact, without trailing zeros. `scale` is a power of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, part) = (value / scale, value % scale);
    if part == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    format!("{whole}.{}", format!("{part:0width$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn options_write_durations_as_k6_reads_them() {
        // Recorded from k6 v1.8.1 (`k6 inspect`).
        for (text, printed) in [
            ("10s", "10s"),
            ("1500", "1.5s"),
            ("1.5m", "1m30s"),
            ("1d2h", "26h0m0s"),
            ("0", "0s"),
            ("1m", "1m0s"),
            ("-3s", "-3s"),
            ("100ms", "100ms"),
        ] {
            assert_eq!(
                SignedDuration::parse(text).map(|span| span.to_string()).as_deref(),
                Ok(printed),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_in_k6s_words() {
        assert_eq!(SignedDuration::parse("").unwrap_err().to_string(), r#"time: invalid duration """#);
        assert_eq!(SignedDuration::parse("abc").unwrap_err().to_string(), r#"time: invalid duration "abc""#);
        assert_eq!(
            SignedDuration::parse("5s3").unwrap_err().to_string(),
            r#"time: missing unit in duration "5s3""#
        );
        assert_eq!(
            SignedDuration::parse("5x").unwrap_err().to_string(),
            r#"time: unknown unit "x" in duration "5x""#
        );
        for text in ["inf", "nan", "1e300", "-", "+", "d", "xd5s", "5 s", "1..5s", "99999999999999h"] {
            assert!(SignedDuration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_flag_needs_a_unit() {
        assert_eq!(
            SignedDuration::parse_flag("5").unwrap_err().to_string(),
            r#"time: missing unit in duration "5""#
        );
        assert_eq!(SignedDuration::parse_flag("1d"), Ok(SignedDuration::from_secs(86_400)));
        assert_eq!(SignedDuration::parse_flag("0"), Ok(SignedDuration::ZERO));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_the_same_span(nanos in -(1i64 << 50)..(1i64 << 50)) {
            let span = SignedDuration(nanos);
            prop_assert_eq!(SignedDuration::parse(&span.to_string()), Ok(span));
        }
    }
}
