//! Times of cron expressions, in UTC.
//!
//! Does not read the clock, and does not know of tasks.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Most missed times reported; older ones are left out.
pub const MISSED_MAX: usize = 100;

/// A cron expression.
pub struct Recurrence(Cron);

impl Recurrence {
    /// Parses five fields: minute, hour, day of month, month, day of week.
    pub fn read(text: &str) -> Option<Self> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        parser.parse(text).ok().map(Self)
    }

    /// The first time after `time`; `None` if there is none for years.
    pub fn next(&self, time: Timestamp) -> Option<Timestamp> {
        let next = self.0.find_next_occurrence(&time.to_zoned(TimeZone::UTC), false).ok()?;
        Some(next.timestamp())
    }

    /// The times from `first` to before `now`, and the next one from `now` on. Of very many the oldest are left out.
    pub fn due(&self, first: Timestamp, now: Timestamp) -> (Vec<Timestamp>, Option<Timestamp>) {
        let mut due = Vec::new();
        let mut next = Some(first);
        while let Some(time) = next.filter(|time| *time <= now) {
            if due.len() == MISSED_MAX {
                due.remove(0);
            }
            due.push(time);
            next = self.next(time);
        }
        (due, next)
    }

    /// How late the execution of `time` can start: half the interval to the next one, 30 s to 1 h.
    pub fn grace(&self, time: Timestamp) -> SignedDuration {
        let shortest = SignedDuration::from_secs(30);
        let half = self.next(time).map_or(shortest, |next| time.duration_until(next) / 2);
        half.clamp(shortest, SignedDuration::from_hours(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        let rows = [
            ("* * * * *", "2030-01-31T12:00:00Z", "2030-01-31T12:01:00Z"),
            ("* * * * *", "2030-01-31T12:00:59.9Z", "2030-01-31T12:01:00Z"),
            ("0 3 * * *", "2030-01-31T12:00:00Z", "2030-02-01T03:00:00Z"),
            ("30 9 1 * *", "2030-01-31T12:00:00Z", "2030-02-01T09:30:00Z"),
            ("0 0 29 2 *", "2030-01-01T00:00:00Z", "2032-02-29T00:00:00Z"),
            ("0 12 * * 1", "2030-01-31T12:00:00Z", "2030-02-04T12:00:00Z"),
        ];
        for (text, from, next) in rows {
            assert_eq!(Recurrence::read(text).unwrap().next(time(from)), Some(time(next)), "{text} {from}");
        }
    }

    #[test]
    fn past_times_are_due_and_one_is_next() {
        let hourly = Recurrence::read("0 * * * *").unwrap();
        let (due, next) = hourly.due(time("2030-01-31T10:00:00Z"), time("2030-01-31T12:30:00Z"));
        assert_eq!(due, ["10", "11", "12"].map(|hour| time(&format!("2030-01-31T{hour}:00:00Z"))));
        assert_eq!(next, Some(time("2030-01-31T13:00:00Z")));
        let (due, _) = hourly.due(time("2020-01-31T10:00:00Z"), time("2030-01-31T12:30:00Z"));
        assert_eq!((due.len(), due.last()), (MISSED_MAX, Some(&time("2030-01-31T12:00:00Z"))));
    }

    #[test]
    fn a_late_execution_starts_within_half_the_interval_to_the_next() {
        let rows = [("* * * * *", 30), ("*/10 * * * *", 300), ("0 * * * *", 1800), ("0 0 * * *", 3600)];
        for (text, seconds) in rows {
            let grace = Recurrence::read(text).unwrap().grace(time("2030-01-31T12:00:00Z"));
            assert!(grace <= SignedDuration::from_secs(seconds), "{text}: {grace}");
            assert!(grace >= SignedDuration::from_secs(30), "{text}: {grace}");
        }
        let hourly = Recurrence::read("0 * * * *").unwrap();
        assert_eq!(hourly.grace(time("2030-01-31T12:00:00Z")), SignedDuration::from_secs(1800));
    }
}
