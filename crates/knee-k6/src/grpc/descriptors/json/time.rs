//! Timestamps and durations as texts: `2026-01-31T12:00:00.5Z` and `-1.5s`.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

/// Nanoseconds of a second, less one.
pub const NANOS_MAX: i32 = 999_999_999;
/// Most seconds of a duration, in both directions.
pub const DURATION_MAX: i64 = 315_576_000_000;
/// The first and the last second of a timestamp: years 1 and 9999.
pub const TIMESTAMPS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Seconds and nanoseconds.
pub type Parts = (i64, i32);

fn epoch() -> DateTime {
    date(1970, 1, 1).at(0, 0, 0, 0)
}

/// A timestamp in UTC; `None` outside of [`TIMESTAMPS`].
pub fn timestamp(seconds: i64, nanos: i32) -> Option<String> {
    let time = epoch().checked_add(SignedDuration::from_secs(seconds)).ok()?;
    let digits = fraction(nanos);
    Some(format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{digits}Z",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    ))
}

/// A duration; both parts have the same sign.
pub fn duration(seconds: i64, nanos: i32) -> String {
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanos.saturating_abs()))
}

/// Nothing, or a dot and three, six or nine digits.
fn fraction(nanos: i32) -> String {
    let digits = format!(".{nanos:09}");
    let digits = digits.strip_suffix("000").unwrap_or(&digits);
    let digits = digits.strip_suffix("000").unwrap_or(digits);
    digits.strip_suffix(".000").unwrap_or(digits).to_owned()
}

/// Reads a duration such as `1s`, `+1.5s` or `-.5s`.
pub fn read_duration(text: &str) -> Option<Parts> {
    let number = text.strip_suffix('s')?;
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if number.is_empty() || has_leading_zero || !is_digits(whole) {
        return None;
    }
    let seconds = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? };
    Some((sign * seconds, sign as i32 * nanos(part)?))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of at most nine digits behind a dot.
fn nanos(digits: &str) -> Option<i32> {
    let fits = digits.len() <= 9 && is_digits(digits);
    if fits { format!("{digits:0<9}").parse().ok() } else { None }
}

/// Reads a timestamp of RFC 3339. As in k6, its hour can have one digit, and its fraction any number of digits if a
/// comma is before it.
pub fn read_timestamp(text: &str) -> Option<Parts> {
    let (day, rest) = text.split_once('T')?;
    let zone_at = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, part) = match clock.split_once(['.', ',']) {
        Some((_, "")) => return None,
        Some((before, part)) if clock.contains(',') && is_digits(part) => {
            (before, &part[..part.len().min(9)])
        }
        Some((before, part)) => (before, part),
        None => (clock, ""),
    };
    let [year, month, day] = fields(day, '-', [4..=4, 2..=2, 2..=2])?;
    let [hour, minute, second] = fields(clock, ':', [1..=2, 2..=2, 2..=2])?;
    let local = DateTime::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        i8::try_from(hour).ok()?,
        i8::try_from(minute).ok()?,
        i8::try_from(second).ok()?,
        0,
    );
    let seconds = local.ok()?.duration_since(epoch()).as_secs();
    Some((seconds - offset(zone)?, nanos(part)?))
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, clock) = match zone.strip_prefix('-') {
        Some(clock) => (-1, clock),
        None => (1, zone.strip_prefix('+')?),
    };
    let [hours, minutes] = fields(clock, ':', [2..=2, 2..=2])?;
    let fits = hours <= 24 && minutes <= 60;
    fits.then_some(sign * (hours * 3600 + minutes * 60))
}

/// Numbers between separators, each with so many digits.
fn fields<const N: usize>(
    text: &str,
    separator: char,
    lengths: [std::ops::RangeInclusive<usize>; N],
) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next().filter(|part| length.contains(&part.len()) && is_digits(part))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read_in_any_zone_and_written_in_utc() {
        let times = [
            ("1970-01-01T00:00:00Z", (0, 0), "1970-01-01T00:00:00Z"),
            ("1972-01-01T10:00:20.021+05:30", (63_088_220, 21_000_000), "1972-01-01T04:30:20.021Z"),
            ("0001-01-01T00:00:00Z", (*TIMESTAMPS.start(), 0), "0001-01-01T00:00:00Z"),
            (
                "9999-12-31T23:59:59.999999999Z",
                (*TIMESTAMPS.end(), NANOS_MAX),
                "9999-12-31T23:59:59.999999999Z",
            ),
            ("1970-01-01T00:00:00,1234567899Z", (0, 123_456_789), "1970-01-01T00:00:00.123456789Z"),
            ("2024-02-29T7:00:00.1Z", (1_709_190_000, 100_000_000), "2024-02-29T07:00:00.100Z"),
        ];
        for (text, (seconds, nanos), written) in times {
            assert_eq!(read_timestamp(text), Some((seconds, nanos)), "{text}");
            assert_eq!(timestamp(seconds, nanos).as_deref(), Some(written));
        }
    }

    #[test]
    fn what_is_no_timestamp_is_refused() {
        for text in [
            "",
            "now",
            "2024-02-30T00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.1234567891Z",
            "2024-01-01T00:00:00+1:00",
            "2024-01-01T00:00:00Zé",
            "２024-01-01T00:00:00Z",
        ] {
            assert_eq!(read_timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_as_many_digits_as_they_need() {
        for (parts, text) in [
            ((0, 0), "0s"),
            ((1, 500_000_000), "1.500s"),
            ((-1, -1), "-1.000000001s"),
            ((0, -1_000), "-0.000001s"),
        ] {
            assert_eq!(duration(parts.0, parts.1), text);
            assert_eq!(read_duration(text), Some(parts));
        }
        assert_eq!(read_duration("+.5s"), Some((0, 500_000_000)));
        assert_eq!(read_duration("3.s"), Some((3, 0)));
        for text in
            ["", "s", "1", "-s", "01s", "1.0000000001s", "1 s", "--1s", "1e3s", "99999999999999999999s"]
        {
            assert_eq!(read_duration(text), None, "{text}");
        }
    }
}
