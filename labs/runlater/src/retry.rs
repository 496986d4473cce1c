//! Retry times of failed calls.
//!
//! Does not read the clock: the time is a parameter.

use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

/// Longest wait that a target can request.
pub const RETRY_AFTER_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The wait after attempt number `attempt` (from 1): (attempt + 1)^2 units.
pub fn wait(attempt: i32, unit: Duration) -> Duration {
    let factor = attempt.saturating_add(1).unsigned_abs();
    unit.saturating_mul(factor.saturating_mul(factor))
}

/// Time of the next attempt, if any. `retry_after`: the header of a response with status 429.
pub fn next(
    attempt: i32,
    most: i32,
    unit: Duration,
    retry_after: Option<&str>,
    now: Timestamp,
) -> Option<Timestamp> {
    if attempt >= most {
        return None;
    }
    let by_rule = SignedDuration::try_from(wait(attempt, unit)).unwrap_or(SignedDuration::MAX);
    let wait = retry_after.and_then(|text| asked(text, now)).unwrap_or(by_rule);
    now.saturating_add(wait).ok()
}

/// `Retry-After`: seconds, or a date.
fn asked(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let text = text.trim();
    let wait = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is too long anyway.
        SignedDuration::from_secs(text.parse().or(if text.is_empty() { Err(()) } else { Ok(i64::MAX) }).ok()?)
    } else {
        let date: SystemTime = httpdate::parse_http_date(text).ok()?;
        now.duration_until(Timestamp::try_from(date).ok()?)
    };
    Some(wait.clamp(SignedDuration::ZERO, RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_secs(30);

    fn after(attempt: i32, retry_after: Option<&str>) -> Option<i64> {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        next(attempt, 5, UNIT, retry_after, now).map(|time| now.duration_until(time).as_secs())
    }

    #[test]
    fn waits_grow_with_the_square_and_end_with_the_last_attempt() {
        // (1+1)^2 * 30 = 120, (2+1)^2 * 30 = 270, (4+1)^2 * 30 = 750
        assert_eq!([1, 2, 4].map(|attempt| after(attempt, None)), [Some(120), Some(270), Some(750)]);
        assert_eq!([5, 6].map(|attempt| after(attempt, None)), [None, None]);
        assert_eq!(next(0, 0, UNIT, None, Timestamp::UNIX_EPOCH), None, "no attempt is allowed");
    }

    #[test]
    fn a_target_can_ask_for_another_wait_in_seconds_or_by_date_up_to_an_hour() {
        let rows = [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("3601", Some(3600)),
            ("99999999999999999999", Some(3600)),
            ("Tue, 14 Nov 2023 22:14:20 GMT", Some(60)),
            ("Tue, 14 Nov 2023 22:00:00 GMT", Some(0)),
            ("soon", Some(120)),
            ("-5", Some(120)),
            ("", Some(120)),
        ];
        for (text, seconds) in rows {
            assert_eq!(after(1, Some(text)), seconds, "{text:?}");
        }
        assert_eq!(after(5, Some("7")), None, "nobody can ask for more attempts");
    }
}
