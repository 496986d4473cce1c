//! Numbers as Go's JSON encoder writes them.
//!
//! Does not read numbers.

use std::io::Write as _;

/// Below it, millionths are exact: a number with so many digits is the only one of its length that reads as its double.
const MILLIONTHS_MAX: f64 = 1e15;

/// A number as Go writes it. What JSON cannot say is zero, which k6 cannot write at all.
#[expect(clippy::float_cmp, reason = "only a number that reads back as the same double is written this way")]
pub fn number(out: &mut Vec<u8>, value: f64) {
    let millionths = value * 1e6;
    // Times are whole nanoseconds in milliseconds, and most other samples are small whole numbers: all of them are
    // whole millionths, which are written several times faster than a double.
    if (0.0..MILLIONTHS_MAX).contains(&millionths) && !is_negative_zero(value) {
        let whole = millionths.round();
        if whole / 1e6 == value && (value == 0.0 || value >= 1e-6) {
            decimal(out, whole as u64);
            return;
        }
    }
    exact(out, value);
}

/// Go writes the sign of a negative zero.
fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// So many millionths, without zeros at the end of the fraction.
fn decimal(out: &mut Vec<u8>, millionths: u64) {
    const FRACTION: usize = 6;
    let (whole, mut rest) = (millionths / 1_000_000, millionths % 1_000_000);
    digits(out, whole);
    if rest == 0 {
        return;
    }
    let mut text = [b'0'; FRACTION];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let used = text.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    out.push(b'.');
    out.extend_from_slice(&text[..used]);
}

/// A whole number.
pub fn digits(out: &mut Vec<u8>, mut value: u64) {
    /// Digits of the largest number.
    const MOST: usize = 20;
    let mut text = [0; MOST];
    let mut from = MOST;
    loop {
        from -= 1;
        text[from] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[from..]);
}

fn exact(out: &mut Vec<u8>, value: f64) {
    let size = value.abs();
    let written = if !value.is_finite() {
        write!(out, "0")
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Go writes two digits of the exponent at the least, and always its sign.
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.abs())
    } else {
        write!(out, "{value}")
    };
    // Writing into memory cannot fail.
    let _ = written;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: f64, write: fn(&mut Vec<u8>, f64)) -> String {
        let mut out = Vec::new();
        write(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_those_of_go() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-07"),
            (0.105_001, "0.105001"),
            (60_000.000_007, "60000.000007"),
            (0.1 + 0.2, "0.30000000000000004"),
            (999_999_999.999_999, "999999999.999999"),
            (123_456_789_012_345_680_000_000.0, "1.2345678901234569e+23"),
            (-2.25, "-2.25"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(text(value, number), expected);
        }
    }

    proptest! {
        #[test]
        fn the_short_way_writes_what_the_long_way_writes(nanos in 0..4_000_000_000_000_u64, other in 0.0..1e9_f64) {
            for value in [nanos as f64 / 1e6, (nanos / 1_000_000) as f64, other] {
                prop_assert_eq!(text(value, number), text(value, exact));
            }
        }
    }
}
