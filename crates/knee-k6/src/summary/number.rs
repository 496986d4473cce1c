//! Numbers as k6's summary writes them: times cut off after two places, bytes by thousands, shares in
//! per cent.
//!
//! Times are milliseconds, as in all of k6's metrics. Checked against k6 v1.8.1 number by number.

use crate::metric::Contains;

/// The unit of times, if one was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// `s`
    Seconds,
    /// `ms`
    Millis,
    /// `us`
    Micros,
}

impl TimeUnit {
    /// The unit that the option names; `None` for an empty name.
    pub fn of(name: Option<&str>) -> Option<Self> {
        match name? {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" => Some(Self::Micros),
            _ => None,
        }
    }
}

/// A value of a metric.
pub fn value(value: f64, contains: Contains, unit: Option<TimeUnit>) -> String {
    match contains {
        Contains::Default => plain(value),
        Contains::Time => time(value, unit),
        Contains::Data => bytes(value),
    }
}

/// Up to six places, without zeros at the end.
pub fn plain(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value.abs() >= 1e21 {
        return exponential(value);
    }
    let text = fixed(value, 6);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// As JavaScript writes numbers of 22 digits and more: `1e+21`.
fn exponential(value: f64) -> String {
    format!("{value:e}").replace('e', "e+")
}

/// With this many places, halves away from zero, as JavaScript's `toFixed` rounds.
fn fixed(value: f64, places: usize) -> String {
    // Long enough that what is cut off cannot be mistaken for a half.
    let long = format!("{:.40}", value.abs());
    let (whole, part) = long.split_once('.').unwrap_or((&long, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(part.bytes().take(places)).collect();
    if part.as_bytes().get(places).is_some_and(|digit| *digit >= b'5') {
        carry(&mut digits);
    }
    let mut text: String = digits.iter().map(|digit| char::from(*digit)).collect();
    if places > 0 {
        text.insert(text.len() - places, '.');
    }
    if value.is_sign_negative() && value != 0.0 { format!("-{text}") } else { text }
}

/// Adds one to the last digit.
fn carry(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// Milliseconds: in the unit asked for, or in the one that fits.
pub fn time(millis: f64, unit: Option<TimeUnit>) -> String {
    match unit {
        Some(TimeUnit::Seconds) => format!("{}s", fixed(millis * 0.001, 2)),
        Some(TimeUnit::Millis) => format!("{}ms", fixed(millis, 2)),
        Some(TimeUnit::Micros) => format!("{}µs", fixed(millis * 1000.0, 2)),
        None => fitting(millis),
    }
}

fn fitting(millis: f64) -> String {
    if millis == 0.0 {
        return "0s".to_owned();
    }
    if millis < 0.001 {
        return format!("{}ns", plain((millis * 1e6).trunc()));
    }
    if millis < 1.0 {
        return format!("{}µs", cut(millis * 1000.0));
    }
    if millis < 1000.0 {
        return format!("{}ms", cut(millis));
    }
    if millis < 60_000.0 {
        return format!("{}s", cut(millis / 1000.0));
    }
    if millis.is_infinite() {
        return "Infinity".to_owned();
    }
    let (minutes, seconds) = ((millis / 60_000.0).floor(), ((millis % 60_000.0) / 1000.0).floor());
    if minutes < 60.0 {
        return format!("{}m{}s", plain(minutes), plain(seconds));
    }
    format!("{}h{}m{}s", plain((minutes / 60.0).floor()), plain(minutes % 60.0), plain(seconds))
}

/// Two places at the most, the rest cut off.
fn cut(value: f64) -> String {
    plain((value * 100.0).trunc() / 100.0)
}

/// Bytes, by thousands.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 9] = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
    if bytes < 10.0 {
        // Small rates are written out as they are.
        return format!("{bytes} B");
    }
    let power = (bytes.ln() / 1000f64.ln()).floor().clamp(0.0, 8.0);
    let scaled = (bytes / 1000f64.powf(power) * 10.0 + 0.5).floor() / 10.0;
    let places = usize::from(scaled < 10.0);
    format!("{} {}", fixed(scaled, places), UNITS[power as usize])
}

/// A share of one in per cent, two places, the rest cut off.
pub fn share(share: f64) -> String {
    format!("{}%", fixed((share * 100.0 * 100.0).trunc() / 100.0, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_off_in_the_unit_that_fits() {
        // Values and texts recorded from k6 v1.8.1.
        for (millis, text) in [
            (0.0, "0s"),
            (5e-7, "0ns"),
            (1e-6, "1ns"),
            (0.000_999, "999ns"),
            (0.001, "1µs"),
            (0.001_999_9, "1.99µs"),
            (0.9999, "999.9µs"),
            (1.239, "1.23ms"),
            (4.35, "4.34ms"),
            (0.29, "290µs"),
            (999.9999, "999.99ms"),
            (1005.0, "1s"),
            (59_999.9, "59.99s"),
            (60_000.0, "1m0s"),
            (61_999.9, "1m1s"),
            (3_599_999.0, "59m59s"),
            (3_661_999.0, "1h1m1s"),
            (90_000_000.0, "25h0m0s"),
            (-5.0, "-5000000ns"),
        ] {
            assert_eq!(time(millis, None), text, "{millis}");
        }
    }

    #[test]
    fn times_in_a_unit_are_rounded_to_two_places() {
        for (millis, seconds, milliseconds, micros) in [
            (1.239, "0.00s", "1.24ms", "1239.00µs"),
            (5.0, "0.01s", "5.00ms", "5000.00µs"),
            (59_999.9, "60.00s", "59999.90ms", "59999900.00µs"),
            (-0.0005, "-0.00s", "-0.00ms", "-0.50µs"),
            (123.456, "0.12s", "123.46ms", "123456.00µs"),
            (0.001_999_9, "0.00s", "0.00ms", "2.00µs"),
        ] {
            assert_eq!(time(millis, Some(TimeUnit::Seconds)), seconds);
            assert_eq!(time(millis, Some(TimeUnit::Millis)), milliseconds);
            assert_eq!(time(millis, Some(TimeUnit::Micros)), micros);
        }
    }

    #[test]
    fn numbers_have_six_places_at_the_most() {
        for (number, text) in [
            (0.0, "0"),
            (-1.0, "-1"),
            (0.123_456_7, "0.123457"),
            (1e-7, "0"),
            (-1e-7, "0"),
            (1e21, "1e+21"),
            (123_456_789.123_456_79, "123456789.123457"),
            (1e6, "1000000"),
            (100.1, "100.1"),
            (0.999_999_9, "1"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(plain(number), text);
        }
    }

    #[test]
    fn bytes_and_shares_are_those_of_k6() {
        for (count, text) in [
            (0.0, "0 B"),
            (942.0, "942 B"),
            (1377.0, "1.4 kB"),
            (2007.0, "2.0 kB"),
            (13_900.0, "14 kB"),
            (76e6, "76 MB"),
        ] {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(
            [share(1.0), share(2.0 / 3.0), share(5.0 / 1103.0), share(0.0)],
            ["100.00%", "66.66%", "0.45%", "0.00%"]
        );
    }
}
