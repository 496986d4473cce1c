//! Reads typed numbers: counts, rates, sizes, durations, each within a range.
//!
//! Does not know which flag means what; callers pass the flag's name for the error text.

use std::ops::RangeInclusive;

use knee_core::unit::Nanos;
use knee_report::number::count;

use crate::problem::Problem;

/// The longest span that any flag takes: a year. Longer is a typing error, and sums of spans stay
/// far from overflow.
pub const SPAN_MAX: Nanos = Nanos::from_secs(366 * 86_400);

/// A whole number within `range`, with k or m (or K, M) for thousands and millions: `200`, `1.5k`.
///
/// # Errors
///
/// If it is not a number, not whole, or out of range.
pub fn whole(flag: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    let expected = format!("give a whole number from {} to {}", count(*range.start()), count(*range.end()));
    let value = decimal(text).ok_or_else(|| not_a(flag, text, "whole number", &expected))?;
    if value.fract() != 0.0 {
        return Err(not_a(flag, text, "whole number", &expected));
    }
    // Above 2^53 not every whole number is exact; every range ends below.
    let whole = value as u64;
    match () {
        () if whole < *range.start() => Err(Problem::new(format!("`{flag} {text}` is too small"), expected)),
        () if whole > *range.end() => Err(Problem::new(format!("`{flag} {text}` is too large"), expected)),
        () => Ok(whole),
    }
}

/// A number from 0 to 10^9, whole or not, with k or m: `0.5`, `1.5k`.
///
/// # Errors
///
/// If it is not such a number.
pub fn rate(flag: &str, text: &str) -> Result<f64, Problem> {
    const EXPECTED: &str =
        "give requests per second, as in `0.5`, `200` or `1.5k`; the most is 1,000,000,000";
    match decimal(text) {
        None => Err(not_a(flag, text, "rate", EXPECTED)),
        Some(rate) if rate > 1e9 => Err(Problem::new(format!("`{flag} {text}` is too large"), EXPECTED)),
        Some(rate) => Ok(rate),
    }
}

/// A positive finite number, for weights.
pub fn weight(text: &str) -> Option<f64> {
    decimal(text).filter(|weight| *weight > 0.0 && *weight <= 1e9)
}

/// A span of time up to [`SPAN_MAX`].
///
/// # Errors
///
/// If it is not a duration, or too long.
pub fn span(flag: &str, text: &str) -> Result<Nanos, Problem> {
    const EXPECTED: &str = "write durations as `10s`, `1m30s` or `500ms`; a bare number is seconds";
    let span: Nanos = text.parse().map_err(|_| not_a(flag, text, "duration", EXPECTED))?;
    if span > SPAN_MAX {
        return Err(Problem::new(format!("`{flag} {text}` is longer than a year"), EXPECTED));
    }
    Ok(span)
}

/// A span of time above zero.
///
/// # Errors
///
/// As [`span`], and for zero.
pub fn span_above_zero(flag: &str, text: &str) -> Result<Nanos, Problem> {
    match span(flag, text)? {
        Nanos::ZERO => Err(Problem::new(
            format!("`{flag} {text}` is not above zero"),
            "give a duration above zero, or leave the flag out",
        )),
        span => Ok(span),
    }
}

/// A number of bytes: `65536`, `64k`, `64m`, `1g`, where k is 1,024; `KiB`, `MiB` and `GiB` too.
///
/// # Errors
///
/// If it is not a size, zero, or over 1 TiB.
pub fn size(flag: &str, text: &str) -> Result<u64, Problem> {
    const EXPECTED: &str = "write sizes as `65536`, `64k`, `64m` or `1g`, where k is 1,024 bytes";
    let lower = text.to_ascii_lowercase();
    let short = lower.trim_end_matches("ib");
    let (number, scale) = match short.char_indices().next_back() {
        Some((end, 'k')) => (&short[..end], 10),
        Some((end, 'm')) => (&short[..end], 20),
        Some((end, 'g')) => (&short[..end], 30),
        _ => (short, 0),
    };
    let number: u64 = number.parse().map_err(|_| not_a(flag, text, "size", EXPECTED))?;
    match number.checked_mul(1 << scale) {
        Some(bytes @ 1..=0x100_0000_0000) => Ok(bytes),
        _ => {
            Err(Problem::new(format!("`{flag} {text}` is out of range"), "give a size from 1 byte to 1024g"))
        }
    }
}

/// Digits with at most one point, then nothing, k or m. No sign, no exponent, no NaN.
fn decimal(text: &str) -> Option<f64> {
    let (number, scale) = match text.char_indices().next_back()? {
        (end, 'k' | 'K') => (&text[..end], 1e3),
        (end, 'm' | 'M') => (&text[..end], 1e6),
        _ => (text, 1.0),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = plain.then(|| number.parse().ok())??;
    // 1.1 x 1000 is not exact in binary; a millionth of one is below what anyone types.
    let scaled = value * scale;
    let nearest = scaled.round();
    Some(if (scaled - nearest).abs() < 1e-6 { nearest } else { scaled })
}

fn not_a(flag: &str, text: &str, kind: &str, expected: &str) -> Problem {
    Problem::new(format!("`{flag} {text}` is not a {kind}"), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_suffixes_and_decimals() {
        for (text, count) in [
            ("200", 200),
            ("1.5k", 1_500),
            ("1.1k", 1_100),
            ("2m", 2_000_000),
            ("0.5M", 500_000),
            ("3K", 3_000),
        ] {
            assert_eq!(whole("-n", text, 1..=10_000_000), Ok(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in [
            "",
            "k",
            "x",
            "-5",
            "+5",
            "1e3",
            "NaN",
            "inf",
            "1.5",
            "1..2",
            "0",
            "0.0001",
            "1 0",
            "99999999999999999999",
        ] {
            assert!(whole("-n", text, 1..=10_000_000).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_binary() {
        for (text, bytes) in [("1", 1), ("64k", 65_536), ("64KiB", 65_536), ("2m", 2 << 20), ("1G", 1 << 30)]
        {
            assert_eq!(size("--decoded-max", text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "m", "-1", "1.5m", "64mb", "99999g", "18446744073709551615g"] {
            assert!(size("--decoded-max", text).is_err(), "{text}");
        }
    }
}
