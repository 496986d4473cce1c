//! Figures as the live screen writes them: as short as a glance needs.
//!
//! Times, counts and sizes are written as in a report, by `knee_report::number`.

use knee_core::unit::Nanos;
use knee_report::number::{self, Unit};

/// A time that can be missing, in `unit` or in the one that fits it.
pub fn time_or_dash(nanos: Option<Nanos>, unit: Option<Unit>) -> String {
    nanos.map_or_else(|| "-".to_owned(), |nanos| number::time(nanos.0 as f64, unit))
}

/// A length of time as on a clock: `4.5 s`, `2:05`, `1:02:05`.
pub fn clock(span: Nanos) -> String {
    let seconds = span.0 / 1_000_000_000;
    match seconds {
        0..60 => format!("{:.1} s", (span.0 / 100_000_000) as f64 / 10.0),
        60..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

/// A number a second.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", short(per_second))
}

/// A share from 0 to 1.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Three significant digits, or all of a larger number's.
pub fn short(value: f64) -> String {
    match value {
        _ if value == 0.0 => "0".to_owned(),
        _ if value < 0.0995 => format!("{value:.4}"),
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => number::count(value.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_grow_with_their_time() {
        for (nanos, text) in [
            (0, "0.0 s"),
            (4_560_000_000, "4.5 s"),
            (59_990_000_000, "59.9 s"),
            (125_000_000_000, "2:05"),
            (3_725_000_000_000, "1:02:05"),
        ] {
            assert_eq!(clock(Nanos(nanos)), text);
        }
    }

    #[test]
    fn rates_and_shares_are_short() {
        assert_eq!(rate(1234.4), "1,234/s");
        assert_eq!(rate(99.97), "100/s");
        assert_eq!(percent(0.436), "44 %");
    }
}
