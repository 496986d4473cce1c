//! Timestamps as JSON strings: `2030-01-31T12:00:00.000Z`, in UTC with milliseconds.
//!
//! Does not read the clock.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};

/// A timestamp in this format, always 24 characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub Timestamp);

impl Stamp {
    /// The text.
    pub fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn bytes(self) -> [u8; 24] {
        let time = TimeZone::UTC.to_datetime(self.0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |from: usize, digits: usize, mut value: u32| {
            for place in (from..from + digits).rev() {
                text[place] = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, time.year().unsigned_abs().into());
        put(5, 2, time.month().unsigned_abs().into());
        put(8, 2, time.day().unsigned_abs().into());
        put(11, 2, time.hour().unsigned_abs().into());
        put(14, 2, time.minute().unsigned_abs().into());
        put(17, 2, time.second().unsigned_abs().into());
        put(20, 3, time.subsec_nanosecond().unsigned_abs() / 1_000_000);
        text
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.bytes()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_reads_back_as_the_same_millisecond(millis in 0_i64..253_402_207_200_000) {
            let time = Timestamp::from_millisecond(millis).unwrap();
            let text = Stamp(time).text();
            prop_assert_eq!(text.len(), 24);
            prop_assert_eq!(text.parse::<Timestamp>().unwrap(), time);
        }
    }
}
