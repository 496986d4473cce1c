//! Times of samples as outputs write them.
//!
//! The calendar is jiff's.

use jiff::Timestamp;
use knee_core::unit::Nanos;

/// Format of times in CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since the Unix epoch.
    #[default]
    Unix,
    /// Milliseconds since then.
    UnixMilli,
    /// Microseconds since then.
    UnixMicro,
    /// Nanoseconds since then.
    UnixNano,
    /// Date and time, to the second.
    Rfc3339,
    /// Date and time, to the nanosecond.
    Rfc3339Nano,
}

impl TimeForm {
    /// Reads a value of `K6_CSV_TIME_FORMAT`.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "" | "unix" => Ok(Self::Unix),
            "unix_milli" => Ok(Self::UnixMilli),
            "unix_micro" => Ok(Self::UnixMicro),
            "unix_nano" => Ok(Self::UnixNano),
            "rfc3339" => Ok(Self::Rfc3339),
            "rfc3339_nano" => Ok(Self::Rfc3339Nano),
            other => Err(format!("`{other}` is not a value of `K6_CSV_TIME_FORMAT`")),
        }
    }
}

/// Date and time of a moment since the Unix epoch, as RFC 3339 writes it, in UTC: with as many digits
/// of a second as it needs, or with none.
pub fn rfc3339(at: Nanos, with_part: bool) -> String {
    let nanos = i128::from(at.as_nanos());
    let shown = if with_part { nanos } else { nanos - nanos % 1_000_000_000 };
    // All times of 64 bits of nanoseconds lie before the year 2555, which jiff has.
    Timestamp::from_nanosecond(shown).unwrap_or_default().to_string()
}

/// Writes the times of samples one after the other, which mostly lie in the same second.
#[derive(Debug, Default)]
pub struct Stamp {
    /// The second that was written last, and how it is written, without the `Z`.
    last: Option<(u64, String)>,
}

impl Stamp {
    /// Writes what [`rfc3339`] writes, with as many digits of a second as the time needs.
    pub fn write(&mut self, out: &mut Vec<u8>, at: Nanos) {
        const DIGITS: usize = 9;
        let (second, mut part) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
        let last = match &mut self.last {
            Some(last) if last.0 == second => last,
            last => {
                let text = rfc3339(at, false);
                last.insert((second, text.trim_end_matches('Z').to_owned()))
            }
        };
        out.extend_from_slice(last.1.as_bytes());
        if part > 0 {
            let mut text = [b'0'; DIGITS];
            for digit in text.iter_mut().rev() {
                *digit = b'0' + (part % 10) as u8;
                part /= 10;
            }
            let used = text.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
            out.push(b'.');
            out.extend_from_slice(&text[..used]);
        }
        out.push(b'Z');
    }
}
